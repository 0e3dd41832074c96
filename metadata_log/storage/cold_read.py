"""A read of older batches from a segment's file: a plan that the log's owner makes and a blocking thread runs.

Decides: which bytes are corrupt; it never returns these. Must not know: the log's memory; the plan has all that it
needs.
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
"""A little more than the distance of two index entries: the first read mostly has the wanted batch."""


class ColdRead(msgspec.Struct, frozen=True, kw_only=True):
    """Reads whole batches of one segment, from the batch with `offset` up to the first bound that is reached."""

    files: Files
    path: str
    offset: Offset
    end_offset: Offset
    position: int
    end_position: int
    max_bytes: int
    epochs: EpochHistory

    def run(self) -> bytes:
        """Return the batches: at least one, however large.

        Raises:
            CorruptBatchError: the file differs from the log's memory.
            OSError: the file cannot be read.
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
        """Return the place of the batch with `offset`.

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
        """Return the size of the whole, sound batches below `end_offset` among the bytes read from `start` on.

        Offset and epoch, which the checksum leaves out, are compared with the log's memory.
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
                    what = f"{found} is where {due} is due"
                    raise CorruptBatchError(what, position=position)
            except CorruptBatchError as error:
                raise error.in_file(self.path, shift=start, base_offset=due) from error
            position, due = after, header.next_offset
        return position
