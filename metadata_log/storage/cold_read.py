"""A read of older batches from a segment's file: a plan made by the log's owner, run wherever it may block.

Decides: which bytes are no longer what was written; they are never handed on. Must not know: the log's memory;
everything it needs is in the plan.
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.errors import CorruptBatchError
from metadata_log.files.port import FileHandle, Files
from metadata_log.format.batch import HEADER_SIZE, BatchHeader, check_batch, parse_header
from metadata_log.format.epochs import EpochHistory
from metadata_log.offsets import Offset
from metadata_log.storage.tail_cache import Place

_SEARCH_BYTES: Final = 8192
"""A little more than the distance of two index entries: the batch looked for is mostly in the first read."""


class ColdRead(msgspec.Struct, frozen=True, kw_only=True):
    """Whole batches of one segment from the one that holds `offset`, up to whichever bound comes first."""

    files: Files
    path: str
    offset: Offset
    end_offset: Offset
    position: int
    end_position: int
    max_bytes: int
    epochs: EpochHistory

    def run(self) -> bytes:
        """The batches; at least one, however large.

        Raises:
            CorruptBatchError: the file does not hold what the log's memory says.
            OSError: it cannot be read.
        """
        handle = self.files.open(self.path, read_only=True)
        try:
            position, header = self._find(handle)
            wanted = max(header.size_in_bytes, min(self.max_bytes, self.end_position - position))
            data = handle.pread(wanted, position)
        finally:
            handle.close()
        if header.base_offset > self.offset:
            raise CorruptBatchError("it begins too late", position=position, base_offset=self.offset, file=self.path)
        end = self._whole(data, position, header.base_offset)
        if end == 0:
            raise CorruptBatchError("it is cut short", position=position, base_offset=self.offset, file=self.path)
        return data if end == len(data) else data[:end]

    def locate(self, segment_base: Offset) -> Place:
        """Where the batch stands that holds `offset`.

        Raises:
            CorruptBatchError, OSError: as `run`.
        """
        handle = self.files.open(self.path, read_only=True)
        try:
            position, header = self._find(handle)
        finally:
            handle.close()
        return Place(base_offset=header.base_offset, segment_base=segment_base, position=position)

    def _find(self, handle: FileHandle) -> tuple[int, BatchHeader]:
        position, begin, buffer = self.position, self.position, b""
        while position < self.end_position:
            if position + HEADER_SIZE > begin + len(buffer):
                begin, buffer = position, handle.pread(_SEARCH_BYTES, position)
            try:
                header = parse_header(buffer, position - begin)
            except CorruptBatchError as error:
                raise error.in_file(self.path, shift=begin) from error
            if header.next_offset > self.offset:
                return position, header
            position += header.size_in_bytes
        raise CorruptBatchError("the batch is not there", position=position, base_offset=self.offset, file=self.path)

    def _whole(self, data: bytes, start: int, first: Offset) -> int:
        """How many of the bytes, read from position `start` on, are whole batches below `end_offset`, each sound.

        What stands outside the checksum, offset and epoch, is compared with what the log knows.
        """
        position, due = 0, first
        while position + HEADER_SIZE <= len(data):
            header = parse_header(data, position)
            after = position + header.size_in_bytes
            if after > len(data) or header.base_offset >= self.end_offset:
                break
            try:
                check_batch(data, position)
                if header.base_offset != due or header.partition_leader_epoch != self.epochs.epoch_at(due):
                    found = f"offset {header.base_offset} of epoch {header.partition_leader_epoch}"
                    what = f"{found} stands where {due} is due"
                    raise CorruptBatchError(what, position=position)
            except CorruptBatchError as error:
                raise error.in_file(self.path, shift=start, base_offset=due) from error
            position, due = after, header.next_offset
        return position
