"""How gRPC connections are set up, on both ends, and how an address is written.

Decides: message limits, keepalive, reconnect backoff, proxies (none). Must not know: what is said over a connection.
"""

from __future__ import annotations

import asyncio
import os
from typing import Final

import grpc

from metadata_log.voters import GRPC_LISTENER, Endpoint

# gRPC's core writes notes of its own to standard error, as of every peer that stops; what matters is in the statuses.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

LARGEST_BATCH_BYTES: Final = 8 * 1024 * 1024
MESSAGE_LIMIT_BYTES: Final = LARGEST_BATCH_BYTES + 1024 * 1024
"""The largest batch and room for what stands around it."""

SESSION_HEADER: Final = ("kraft-session", "1")
"""Metadata by which a controller greets a Session: without it, nobody has taken the stream."""

REQUEST_LIMIT_BYTES: Final = 4 * 1024 * 1024 + 64 * 1024
"""The largest message that a server reads: answers are large, requests are not."""
_WINDOW_BYTES: Final = 4 * 1024 * 1024
_SERVERS_WINDOW_BYTES: Final = 1024 * 1024
"""So much of a message may arrive before a handler asks for the message."""

_NO_CONNECTION: Final = (grpc.ChannelConnectivity.TRANSIENT_FAILURE, grpc.ChannelConnectivity.SHUTDOWN)

Options = tuple[tuple[str, int], ...]

_COMMON: Final[Options] = (
    ("grpc.max_send_message_length", MESSAGE_LIMIT_BYTES),
    # A peer whose host is gone sends nothing, not even a reset: its streams end after 10 + 5 s.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    # No probing of the line with pings beside the data: with one small message at a time they cost a fifth of the rate.
    # Instead of what they would find out, so many bytes may be under way on a stream.
    ("grpc.http2.bdp_probe", 0),
)
CHANNEL_OPTIONS: Final[Options] = (
    *_COMMON,
    ("grpc.max_receive_message_length", MESSAGE_LIMIT_BYTES),
    ("grpc.http2.lookahead_bytes", _WINDOW_BYTES),
    ("grpc.enable_http_proxy", 0),
    # Whether a request may be sent twice is decided by the caller, never by the channel.
    ("grpc.enable_retries", 0),
    # A restarted controller is found at once, not after gRPC's usual second.
    ("grpc.initial_reconnect_backoff_ms", 20),
    ("grpc.min_reconnect_backoff_ms", 500),
    ("grpc.max_reconnect_backoff_ms", 200),
    # A controller may come back under another address, as a pod does. gRPC would look its name up after 30 s only.
    ("grpc.dns_min_time_between_resolutions_ms", 200),
    # Each channel has its own connection, so that closing it closes that, and its backoff is its own.
    ("grpc.use_local_subchannel_pool", 1),
)


def server_options(most_connections: int, max_idle_ms: int) -> Options:
    """Return how a server is set up that accepts so many connections; one more is closed at once.

    A connection without an open call is closed after `max_idle_ms`.
    """
    return (
        *_COMMON,
        ("grpc.max_receive_message_length", REQUEST_LIMIT_BYTES),
        ("grpc.http2.lookahead_bytes", _SERVERS_WINDOW_BYTES),
        ("grpc.max_allowed_incoming_connections", most_connections),
        ("grpc.max_connection_idle_ms", max_idle_ms),
        ("grpc.max_concurrent_streams", 100),
        ("grpc.server_handshake_timeout_ms", 10_000),
        # Otherwise a second process could bind the same port and take half of the connections.
        ("grpc.so_reuseport", 0),
        ("grpc.http2.min_ping_interval_without_data_ms", 1_000),
        ("grpc.http2.max_ping_strikes", 0),
    )


def address_of(endpoint: Endpoint) -> str:
    """`host:port`, an IPv6 host in brackets."""
    return f"[{endpoint.host}]:{endpoint.port}" if ":" in endpoint.host else f"{endpoint.host}:{endpoint.port}"


def grpc_address(endpoints: tuple[Endpoint, ...]) -> str | None:
    """The address of the GRPC listener; of an endpoint without a name (a bootstrap server's) else; or None."""
    for name in (GRPC_LISTENER, ""):
        for endpoint in endpoints:
            if endpoint.name == name:
                return address_of(endpoint)
    return None


def open_channel(address: str) -> grpc.aio.Channel:
    """A channel to `host:port`; it connects with its first call."""
    return grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS)


async def connects(channel: grpc.aio.Channel, timeout_s: float) -> bool:
    """Whether a connection comes to stand within that time; False at once where it is refused.

    Before it does, nothing was sent: so who calls after this alone knows of a failed call whether it may have arrived.
    """
    try:
        async with asyncio.timeout(timeout_s):
            state = channel.get_state(try_to_connect=True)
            while state not in (*_NO_CONNECTION, grpc.ChannelConnectivity.READY):
                await channel.wait_for_state_change(state)
                state = channel.get_state(try_to_connect=True)
    except TimeoutError:
        return False
    return state is grpc.ChannelConnectivity.READY


def is_disconnect(code: grpc.StatusCode | None) -> bool:
    """Whether a call ended because the connection was refused or broke, which says that the process there is gone."""
    return code is grpc.StatusCode.UNAVAILABLE
