"""The setup of gRPC connections on both ends, and the text form of an address.

Decides: message limits, keepalive, reconnect backoff, proxies (none). Must not know: which messages a connection
carries.
"""

from __future__ import annotations

import asyncio
import os
from typing import Final

import grpc

from metadata_log.voters import GRPC_LISTENER, Endpoint

# gRPC's core logs to standard error, for example whenever a peer stops. The statuses of calls say all that matters.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

LARGEST_BATCH_BYTES: Final = 8 * 1024 * 1024
MESSAGE_LIMIT_BYTES: Final = LARGEST_BATCH_BYTES + 1024 * 1024
"""The largest batch, plus room for the fields around it."""

SESSION_HEADER: Final = ("kraft-session", "1")
"""Metadata that a controller sends first in a Session. Without it, no controller has accepted the stream."""

REQUEST_LIMIT_BYTES: Final = 4 * 1024 * 1024 + 64 * 1024
"""The largest message that a server accepts: responses are large, requests are not."""
_WINDOW_BYTES: Final = 4 * 1024 * 1024
_SERVERS_WINDOW_BYTES: Final = 1024 * 1024
"""The bytes of a message that a server accepts before a handler reads the message."""

_NO_CONNECTION: Final = (grpc.ChannelConnectivity.TRANSIENT_FAILURE, grpc.ChannelConnectivity.SHUTDOWN)

Options = tuple[tuple[str, int], ...]

_COMMON: Final[Options] = (
    ("grpc.max_send_message_length", MESSAGE_LIMIT_BYTES),
    # A peer whose host is gone sends nothing, not even a reset: its streams end after 10 + 5 s.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    # No bandwidth probing with pings: with one small message at a time, the pings cost a fifth of the rate. The fixed
    # stream window (lookahead_bytes) takes its place.
    ("grpc.http2.bdp_probe", 0),
)
CHANNEL_OPTIONS: Final[Options] = (
    *_COMMON,
    ("grpc.max_receive_message_length", MESSAGE_LIMIT_BYTES),
    ("grpc.http2.lookahead_bytes", _WINDOW_BYTES),
    ("grpc.enable_http_proxy", 0),
    # The code that sends a request decides whether it may be sent twice, never the channel.
    ("grpc.enable_retries", 0),
    # Reconnect to a restarted controller within 20 ms; gRPC's default is a second.
    ("grpc.initial_reconnect_backoff_ms", 20),
    ("grpc.min_reconnect_backoff_ms", 500),
    ("grpc.max_reconnect_backoff_ms", 200),
    # A controller may come back at another address, as a pod does. By default gRPC resolves its name only every 30 s.
    ("grpc.dns_min_time_between_resolutions_ms", 200),
    # Each channel has its own connection and backoff, so closing the channel closes the connection.
    ("grpc.use_local_subchannel_pool", 1),
)


def server_options(most_connections: int, max_idle_ms: int) -> Options:
    """Return the options of a server that accepts `most_connections`, and closes any further connection at once.

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
    """Return `host:port`, with an IPv6 host in brackets."""
    return f"[{endpoint.host}]:{endpoint.port}" if ":" in endpoint.host else f"{endpoint.host}:{endpoint.port}"


def grpc_address(endpoints: tuple[Endpoint, ...]) -> str | None:
    """Return the address of the GRPC listener, else of an endpoint without a name (a bootstrap server), or None."""
    for name in (GRPC_LISTENER, ""):
        for endpoint in endpoints:
            if endpoint.name == name:
                return address_of(endpoint)
    return None


def open_channel(address: str) -> grpc.aio.Channel:
    """Return a channel to `host:port`; it connects with its first call."""
    return grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS)


async def connects(channel: grpc.aio.Channel, timeout_s: float) -> bool:
    """Return True if a connection is established within `timeout_s`; return False at once if it is refused.

    Nothing is sent before this returns. If a call fails before that, the request has certainly not arrived.
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
    """Return True if a call ended because the connection was refused or broke: the process there is gone."""
    return code is grpc.StatusCode.UNAVAILABLE
