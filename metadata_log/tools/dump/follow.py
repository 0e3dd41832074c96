"""The batches that are added to a log that somebody else writes, read without its lock.

Decides: which file is the one that grows, when a batch is whole, and what a log that was cut back means. Must not know:
time (the caller asks again when it likes), nor what is done with the batches.
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
    """The log goes on in this file."""

    path: str


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """This file was listed, and its node removed it before it could be opened."""

    path: str


class CutBack(msgspec.Struct, frozen=True, kw_only=True):
    """The file was truncated, and grows anew from byte `position`: a follower dropped what was never committed."""

    path: str
    position: int


class Added(msgspec.Struct, frozen=True, kw_only=True):
    """Whole batches that were added to the file."""

    path: str
    piece: Piece


class Follower:
    """Where somebody who reads along stands in the segments of one directory."""

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self._directory = directory
        self._base: int | None = None
        self._handle: FileHandle | None = None
        self._position = 0
        self._last: tuple[int, bytes] = (0, b"")
        """Where the last batch shown began, and its header."""
        self._unfinished: tuple[int, int] | None = None
        """A last batch with a wrong checksum, and the file's size then: shown only once it is no longer being written.
        """

    @property
    def path(self) -> str:
        return f"{self._directory}/{segment_file(self._base or 0)}"

    def poll(self) -> Iterator[Opened | Removed | CutBack | Added]:
        """What has happened since the last call.

        Raises:
            CorruptBatchError: a length in the file is none.
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
        """Without its last batch while that may still be written: space claimed ahead is filled after its header."""
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
    """The end of the last whole batch that ends at `limit` or before."""
    end = _START
    for piece in pieces(handle, limit):
        end = piece.end
    return end
