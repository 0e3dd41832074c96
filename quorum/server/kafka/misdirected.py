"""A gRPC client that connects to the CONTROLLER listener by mistake gets the right address, and is disconnected.

Decides: whether the first bytes are HTTP/2's, and the bytes that answer them. Those are a GOAWAY (RFC 9113, 6.8); gRPC
shows its debug data in the status of the failed call. Must not know: sockets.
"""

from __future__ import annotations

import struct
from typing import Final

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_FRAME_HEAD_BYTES: Final = 9
_HEADERS: Final = 1
_SETTINGS: Final = 4
_GOAWAY: Final = 7
_NO_ERROR: Final = 0
_LARGEST_STREAM: Final = (1 << 31) - 1
_MAX_BUFFERED: Final = 64 * 1024


def may_be_http2(first: bytes) -> bool:
    """Return True if a connection that begins with these bytes may be HTTP/2.

    A Kafka request never does: as its length, the bytes would mean 1.3 GB.
    """
    return _PREFACE.startswith(first[: len(_PREFACE)])


class GrpcVisitor:
    """One HTTP/2 connection. The GOAWAY is sent after the first request: upon an earlier one, gRPC would retry.

    Attributes:
        is_over: nothing more is read, and the last bytes of `on_bytes` are the last to be written.
    """

    def __init__(self, text: str) -> None:
        self._text = text.encode()
        self._received = b""
        self._has_begun = False
        self.is_over = False

    def on_bytes(self, data: bytes) -> bytes:
        """Take received bytes. Return the bytes to write now."""
        self._received += data
        answer = b""
        if not self._has_begun:
            if not may_be_http2(self._received):
                self.is_over = True
                return b""
            if len(self._received) < len(_PREFACE):
                return b""
            self._has_begun = True
            self._received = self._received[len(_PREFACE) :]
            answer = _frame(_SETTINGS, b"")
        if self._has_request():
            answer += _frame(_GOAWAY, struct.pack(">II", _LARGEST_STREAM, _NO_ERROR) + self._text)
            self.is_over = True
        elif len(self._received) > _MAX_BUFFERED:
            self.is_over = True
        return answer

    def _has_request(self) -> bool:
        while len(self._received) >= _FRAME_HEAD_BYTES:
            size = int.from_bytes(self._received[:3], "big")
            if self._received[3] == _HEADERS:
                return True
            if len(self._received) < _FRAME_HEAD_BYTES + size:
                return False
            self._received = self._received[_FRAME_HEAD_BYTES + size :]
        return False


def _frame(kind: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, 0)) + b"\0\0\0\0" + payload
