"""Cuts what a connection sends into requests: four bytes of length, then as many bytes.

Decides: how long a request may be. Must not know: what is in it.
"""

from __future__ import annotations

from typing import Final

from quorum.node.config.door_limits import DEFAULT_FRAME_BYTES

_LENGTH_BYTES: Final = 4
_SMALLEST: Final = 8
"""Key, version and correlation id."""


class BadLengthError(Exception):
    """A length that no request has: what follows cannot be understood."""


class Frames:
    """What came and was not taken yet."""

    def __init__(self, max_bytes: int = DEFAULT_FRAME_BYTES) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()

    def __len__(self) -> int:
        return len(self._buffer)

    def feed(self, data: bytes) -> None:
        """More bytes."""
        self._buffer += data

    def take_all(self) -> bytes:
        """Everything, when it is not for us."""
        data = bytes(self._buffer)
        self._buffer.clear()
        return data

    def next(self) -> bytes | None:
        """The next whole request, without its length; None when it is not whole yet.

        Raises:
            BadLengthError: the length is none that a request may have.
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
