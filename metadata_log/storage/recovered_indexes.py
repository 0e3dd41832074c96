"""The comparison of the index files with the log: closed indexes of the last segment, torn ones of other segments.

Decides: whether the log was cut since the last stop, and which indexes of closed segments are torn.

A node that stops closes the active segment's indexes, whose last entries then show the log's end. A node that opens the
log removes them before any write, and so does a truncation (`log_writer`); Kafka gives them their full size again. So
no crash leaves closed indexes beside a log that ends before their last entry. Such indexes prove that durable records
are lost. A replica that starts without these might help to elect a leader that lacks committed ones.

A closed segment's index with a torn last entry is the result of a power cut during a roll, if the index was not synced.
Kafka syncs it later, and earlier releases here did not. It proves nothing, and is rebuilt.

One flipped bit of an index is no proof either. An entry past the log's end must also point past the log's last byte, or
have a later time than all batches.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from metadata_log.errors import CorruptBatchError
from metadata_log.files.port import READ_WHOLE_LIMIT, Files
from metadata_log.offsets import Offset
from metadata_log.storage.recovered_epochs import REFUSED, FoundLog
from metadata_log.storage.segment import Segment, segment_file

_INDEX_ENTRY: Final = struct.Struct(">ii")
_TIME_ENTRY: Final = struct.Struct(">qi")


def check_indexes(files: Files, directory: str, log: FoundLog, last: Segment) -> None:
    """Check that the log reaches the last entries of its closed indexes.

    Raises:
        CorruptBatchError: it ends before that.
        OSError: an index cannot be read.
    """
    base = last.base_offset
    name = segment_file(base, ".index")
    for relative, position in _entries(files, f"{directory}/{name}", _INDEX_ENTRY)[-1:]:
        if base + relative >= log.end and position >= log.position:
            raise _cut(log, name, Offset(base + relative + 1))
    name = segment_file(base, ".timeindex")
    for time_ms, relative in _entries(files, f"{directory}/{name}", _TIME_ENTRY)[-1:]:
        if base + relative >= log.end and time_ms > last.index.greatest_timestamp:
            raise _cut(log, name, Offset(base + relative + 1))


def torn_indexes(files: Files, directory: str, closed: Sequence[Segment]) -> Iterator[tuple[str, bytes]]:
    """Yield name and right content of each index that does not consist of whole entries. `closed`: all but the last."""
    for segment in closed:
        index = segment.index
        for suffix, entry, made in (
            (".index", _INDEX_ENTRY, index.index_bytes),
            (".timeindex", _TIME_ENTRY, index.time_index_bytes),
        ):
            name = segment_file(segment.base_offset, suffix)
            if _is_torn(files, f"{directory}/{name}", entry):
                yield name, made()


def _is_torn(files: Files, path: str, entry: struct.Struct) -> bool:
    if not files.exists(path):
        return False
    handle = files.open(path, read_only=True)
    try:
        return handle.size() % entry.size != 0
    finally:
        handle.close()


def _entries(files: Files, path: str, entry: struct.Struct) -> list[tuple[int, int]]:
    """Return the entries of a closed index; none if it is missing, open (of a killed Kafka), or corrupt."""
    if not files.exists(path):
        return []
    handle = files.open(path, read_only=True)
    try:
        size = handle.size()
        data = handle.pread(size, 0) if 0 < size <= READ_WHOLE_LIMIT and size % entry.size == 0 else b""
    finally:
        handle.close()
    found: list[tuple[int, int]] = list(entry.iter_unpack(data))
    rises = all(one[0] < two[0] and one[1] <= two[1] for one, two in pairwise(found))
    return found if rises and any(data[-entry.size :]) else []


def _cut(log: FoundLog, name: str, reach: Offset) -> CorruptBatchError:
    what = (
        f"the log ends here, but {name}, which its node wrote when it stopped, says that it reached {reach}: it was "
        f"cut since; {REFUSED}. `kraft check` over all controllers says whether what is missing was committed, "
        "`kraft recover inspect` what can be kept"
    )
    return CorruptBatchError(what, position=log.position, base_offset=log.end, file=segment_file(log.last_base))
