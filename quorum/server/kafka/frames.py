"""Divides the bytes of a connection into requests: four bytes of length, then as many bytes.

Decides: how long a request may be.
"""

from __future__ import annotations

from typing import Final

from quorum.node.config.door_limits import DEFAULT_FRAME_BYTES

_LENGTH_BYTES: Final = 4
_SMALLEST: Final = 8
"""The bytes of API key, version and correlation id."""


class BadLengthError(Exception):
    """The length of a request is impossible, so the bytes that follow cannot be divided."""


class Frames:
    """The received bytes that are not taken yet."""

    def __init__(self, max_bytes: int = DEFAULT_FRAME_BYTES) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()

    def __len__(self) -> int:
        return len(self._buffer)

    def feed(self, data: bytes) -> None:
        """Append received bytes."""
        self._buffer += data

    def take_all(self) -> bytes:
        """Return and remove all bytes, of a connection that does not speak Kafka's protocol."""
        data = bytes(self._buffer)
        self._buffer.clear()
        return data

    def next(self) -> bytes | None:
        """Return the next complete request without its length, or None if it is incomplete.

        Raises:
            BadLengthError: the length is too small or too large for a request.
        """
        if len(self._buffer) < _LENGTH_BYTES:
            return None
        size = int.from_bytes(self._buffer[:_LENGTH_BYTES], "big", signed=True)
        if not _SMALLEST <= size <= self._max_bytes:
            raise BadLengthError(f"a request of {size} bytes: it may have {_SMALLEST} to {self._max_bytes}")
        end = _LENGTH_BYTES + size
        if len(self._buffer) < end:
            return None
        frame = bytes(self._buffer[_LENGTH_BYTES:end])
        del self._buffer[:end]
        return frame
