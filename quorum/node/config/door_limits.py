"""The limits of all listeners, with the names that Kafka has for them.

Decides: how many descriptors the connections of each listener may take. The log must never lack one because of them.
"""

from __future__ import annotations

import resource
from typing import Final

import msgspec

LARGEST_INT32: Final = (1 << 31) - 1
LARGEST_FRAME_BYTES: Final = 64 << 20
DEFAULT_FRAME_BYTES: Final = 4 << 20
"""The limit of one request. The largest useful one, 10,000 topics with the longest names, has 2.7 MB."""
HTTP_PLACES: Final = 64
_FILES_KEPT: Final = 1_000
"""Descriptors that stay free for the log, the checkpoints and outgoing connections."""
_MOST_OF_ONE_LISTENER: Final = 12_000
DOOR_KEYS: Final = (
    ("max.connections", "max_connections", 1, LARGEST_INT32, LARGEST_INT32),
    ("max.connections.per.ip", "max_connections_per_ip", 1, LARGEST_INT32, LARGEST_INT32),
    ("connections.max.idle.ms", "max_idle_ms", 1_000, LARGEST_INT32, 600_000),
    ("socket.request.max.bytes", "max_frame_bytes", 64 << 10, LARGEST_FRAME_BYTES, DEFAULT_FRAME_BYTES),
)
"""Each key, its field in `DoorLimits`, its least and largest value, and its default."""
DOOR_FIELDS: Final = tuple(field for _, field, *_ in DOOR_KEYS)


class DoorLimits(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The configured limits of a node's listeners."""

    max_connections: int = LARGEST_INT32
    """The limit of all listeners together; lower if the process may have fewer descriptors."""
    max_connections_per_ip: int = LARGEST_INT32
    """The limit of connections from one address at each listener."""
    max_idle_ms: int = 600_000
    max_frame_bytes: int = DEFAULT_FRAME_BYTES
    """The limit of one request at the listener of Kafka's protocol."""


class Shares(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The connections that each listener may have open, out of one count."""

    kafka: int
    grpc: int
    first_kept: int
    """An accepted connection with this descriptor or a higher one is closed at once.

    The system assigns the lowest free number: all lower ones are in use, by files and connections together.
    """


def shares_of(descriptors: int, max_connections: int = LARGEST_INT32) -> Shares:
    """Divide the descriptors of a process among listeners; the rest is for the log and outgoing connections."""
    kept = min(_FILES_KEPT, descriptors // 2)
    places = max(min(descriptors - kept - HTTP_PLACES, max_connections), 2)
    grpc = max(min(places // 3, _MOST_OF_ONE_LISTENER), 1)
    return Shares(
        kafka=max(min(places - grpc, _MOST_OF_ONE_LISTENER), 1), grpc=grpc, first_kept=descriptors - kept // 2
    )


def shares_of_this_process(max_connections: int = LARGEST_INT32) -> Shares:
    """Return the shares of this process; raises its soft limit of descriptors to the hard one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return shares_of(LARGEST_INT32 if soft == resource.RLIM_INFINITY else soft, max_connections)
