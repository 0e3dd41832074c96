"""HTTP/2 by hand: connections that are silent, and gRPC calls whose messages never end.

Decides: the bytes of the few frames that a hostile client of gRPC needs. Header fields are plain literals.
"""

from __future__ import annotations

import socket
import struct
import time
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING, _WINDOW_UPDATE = 0, 1, 3, 4, 6, 8
_INITIAL_WINDOW = 4
_HEAD = 9
"""Bytes before a frame's payload."""
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


class Peer:
    """One connection that answers settings and pings, so that the server keeps it."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.is_answered = False
        """A call has an answer, or has ended."""
        self._buffer = b""
        connection.sendall(greeting())

    def receive(self, within_s: float = 0.0) -> bool:
        """Take what has come; returns False once the server has ended the connection."""
        self.connection.settimeout(max(within_s, 0.001))
        try:
            data = self.connection.recv(1 << 16)
        except TimeoutError:
            return True
        finally:
            self.connection.settimeout(20)
        self._buffer += data
        while len(self._buffer) >= _HEAD and len(self._buffer) >= _HEAD + self._size():
            end = _HEAD + self._size()
            kind, flags, stream = struct.unpack_from(">BBI", self._buffer, 3)
            payload, self._buffer = self._buffer[_HEAD:end], self._buffer[end:]
            self.take(kind, flags, stream, payload)
        return bool(data)

    def _size(self) -> int:
        return int.from_bytes(self._buffer[:3], "big")

    def take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        """Take one frame."""
        self.is_answered |= kind in (_HEADERS, _RST_STREAM)
        if kind in (_SETTINGS, _PING) and not flags & 1:
            self.connection.sendall(frame(kind, 1, 0, payload if kind == _PING else b""))


class Flood(Peer):
    """One connection that sends as much of its endless messages as the server's windows allow."""

    def __init__(self, connection: socket.socket, streams: int, path: str, announced: int) -> None:
        super().__init__(connection)
        self._initial = self._window = 65_535
        self._left = {1 + 2 * number: self._initial for number in range(streams)}
        self._unsent = dict.fromkeys(self._left, announced - 1)
        self.sent = 0
        for stream in self._left:
            head = b"\0" + struct.pack(">I", announced)
            connection.sendall(call(stream, path) + frame(_DATA, 0, stream, head))
            self._left[stream] -= len(head)
            self._window -= len(head)

    def run(self, seconds: float) -> None:
        """Send for so long, or until the server ends the connection."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                self._send_some()
                if not self.receive(0.05):
                    return
            except OSError:
                return

    def _send_some(self) -> None:
        for stream, left in self._left.items():
            size = min(left, self._window, self._unsent[stream], 1 << 20)
            if size > 0:
                self.connection.sendall(more(stream, bytes(size)))
                self._left[stream] -= size
                self._unsent[stream] -= size
                self._window -= size
                self.sent += size

    def take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        """See `Peer`; windows grow, and streams that the server ends send no more."""
        if kind == _WINDOW_UPDATE and not stream:
            self._window += int.from_bytes(payload, "big")
        elif kind == _WINDOW_UPDATE and stream in self._left:
            self._left[stream] += int.from_bytes(payload, "big")
        elif kind == _RST_STREAM or (kind == _HEADERS and flags & 1):
            self._unsent[stream] = 0
        elif kind == _SETTINGS and not flags & 1:
            for at in range(0, len(payload), 6):
                name, value = struct.unpack_from(">HI", payload, at)
                if name == _INITIAL_WINDOW:
                    self._left = {each: left + value - self._initial for each, left in self._left.items()}
                    self._initial = value
        super().take(kind, flags, stream, payload)


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
