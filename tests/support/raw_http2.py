"""HTTP/2 by hand: connections that are silent, and gRPC calls whose messages never end.

Decides: the bytes of the few frames that a hostile client of gRPC needs. Header fields are plain literals.
"""

from __future__ import annotations

import socket
import struct
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _SETTINGS, _WINDOW_UPDATE = 0, 1, 4, 8
_END_HEADERS: Final = 4
SESSION: Final = "/kraft.v1.Controller/Session"
CREATE_TOPICS: Final = "/kraft.v1.Controller/CreateTopics"


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """Return one frame."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def _field(name: str, value: str) -> bytes:
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def greeting() -> bytes:
    """Return what a client sends first; it takes any amount of data."""
    settings = struct.pack(">HI", 4, (1 << 31) - 1)
    return PREFACE + frame(_SETTINGS, 0, 0, settings) + frame(_WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 30))


def call(stream: int, path: str) -> bytes:
    """Return the frame that begins a gRPC call; streams have odd numbers."""
    fields = (
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "x"),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
    )
    return frame(_HEADERS, _END_HEADERS, stream, b"".join(_field(*field) for field in fields))


def part_of_message(stream: int, announced: int, sent: int) -> bytes:
    """Return frames with the head of a message of `announced` bytes and `sent` bytes of it."""
    data = b"\0" + struct.pack(">I", announced) + bytes(sent)
    return more(stream, data)


def more(stream: int, data: bytes) -> bytes:
    """Return frames with data of a stream."""
    return b"".join(frame(_DATA, 0, stream, data[at : at + 16384]) for at in range(0, len(data), 16384))


def connect(host: str, port: int, source: str = "127.0.0.1") -> socket.socket:
    """Return a connection from `source`, an address of loopback."""
    return socket.create_connection((host, port), timeout=20, source_address=(source, 0))


def is_closed(connection: socket.socket, within_s: float = 20.0) -> bool:
    """Return True if the other side closes the connection; what it sends before is dropped."""
    connection.settimeout(within_s)
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True
