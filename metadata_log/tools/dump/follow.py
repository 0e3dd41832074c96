"""The batches that are added to a log that another process writes, read without its lock.

Decides: which file grows, when a batch is whole, and how to continue after a truncation. Must not know: time (the
caller polls when it likes), or the use of the batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from metadata_log.errors import CorruptBatchError, UnsupportedBatchError
from metadata_log.files.port import FileHandle, Files
from metadata_log.format.batch import HEADER_SIZE, computed_checksum, parse_header
from metadata_log.storage.segment import segment_bases, segment_file
from metadata_log.tools.dump.dump import batches_of
from metadata_log.tools.dump.pieces import Piece, pieces


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """The log continues in this file."""

    path: str


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """This file was listed, and its node removed it before it could be opened."""

    path: str


class CutBack(msgspec.Struct, frozen=True, kw_only=True):
    """The file was truncated, and grows again from byte `position`: a follower dropped records that were never
    committed."""

    path: str
    position: int


class Added(msgspec.Struct, frozen=True, kw_only=True):
    """Whole batches that were added to the file."""

    path: str
    piece: Piece


class Follower:
    """A reader's position in the segments of one directory."""

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self._directory = directory
        self._base: int | None = None
        self._handle: FileHandle | None = None
        self._position = 0
        self._last: tuple[int, bytes] = (0, b"")
        """The position of the last batch shown, and its header."""
        self._unfinished: tuple[int, int] | None = None
        """The position of a last batch with a wrong checksum, and the file's size then. It is shown only once the
        file stops changing."""

    @property
    def path(self) -> str:
        return f"{self._directory}/{segment_file(self._base or 0)}"

    def poll(self) -> Iterator[Opened | Removed | CutBack | Added]:
        """Yield the changes since the last call.

        Raises:
            CorruptBatchError: the file has a length that no batch has.
            FileNotFoundError: the directory is gone.
        """
        while True:
            bases = segment_bases(self._files.listdir(self._directory))
            later = [base for base in bases if self._base is None or base > self._base]
            if self._handle is not None:
                yield from self._grown(self._handle)
            if not later:
                return
            try:
                self._open(later[0])
            except FileNotFoundError:
                if later[0] in segment_bases(self._files.listdir(self._directory)):
                    raise
                yield Removed(path=self.path)
                continue
            yield Opened(path=self.path)

    def close(self) -> None:
        """Close the file."""
        if self._handle is not None:
            self._handle.close()
            self._handle = None

    def _open(self, base: int) -> None:
        self.close()
        self._base = base
        self._handle = self._files.open(self.path, read_only=True)
        self._position, self._last, self._unfinished = 0, (0, b""), None

    def _grown(self, handle: FileHandle) -> Iterator[CutBack | Added]:
        size = handle.size()
        start, header = self._last
        if size < self._position or handle.pread(len(header), start) != header:
            self._position = _sound_end(handle, min(start, size))
            self._last = (0, b"")
            yield CutBack(path=self.path, position=self._position)
        for whole in pieces(handle, size, self._position):
            piece = self._finished(whole, size)
            if not piece.size:
                return
            self._position = piece.end
            yield Added(path=self.path, piece=piece)

    def _finished(self, piece: Piece, size: int) -> Piece:
        """Return the piece without its last batch while that may still be written: a writer claims space, then fills
        it."""
        last = 0
        try:
            for at, _ in batches_of(piece):
                last = at
            header = parse_header(piece.buffer, last)
        except (CorruptBatchError, UnsupportedBatchError):
            return piece
        seen = (piece.position + last, size)
        if computed_checksum(piece.buffer, header, last) != header.crc and self._unfinished != seen:
            self._unfinished = seen
            return msgspec.structs.replace(piece, size=last)
        self._last = (piece.position + last, piece.buffer[last : last + HEADER_SIZE])
        return piece


_START: Final = 0


def _sound_end(handle: FileHandle, limit: int) -> int:
    """Return the end of the last whole batch that ends at or before `limit`."""
    end = _START
    for piece in pieces(handle, limit):
        end = piece.end
    return end
