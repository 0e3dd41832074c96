"""The records of many batches as one chunk: where each is, beside its encoded value.

Decides: how many batches are decoded at once. Must not know: record types, and where tables are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from metadata_log.columnar.spans import Ints
from metadata_log.format.batch import Record, batch_records
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.dump.lines import common_values

MOST_RECORDS: Final = 20_000
"""A chunk is closed by the batch that reaches this many records."""
MOST_BATCHES: Final = 8_192


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """The metadata records of consecutive batches of one file, in order, and its control records.

    Attributes:
        file: the name of the file.
        batches: the batches, control batches too.
        positions: the file position, in bytes, of each record's batch.
        offsets: the offset of each record.
        epochs: the leader epoch of each record's batch.
        times_ms: the timestamp of each record, in ms since 1970.
        values: the encoded value of each record.
        control: the control records, each with its batch.
    """

    file: str
    batches: list[LocatedBatch]
    positions: Ints
    offsets: Ints
    epochs: npt.NDArray[np.int32]
    times_ms: Ints
    values: list[bytes]
    control: list[tuple[LocatedBatch, Record]]


def chunks(batches: Iterable[tuple[str, LocatedBatch]]) -> Iterator[Chunk]:
    """Yield the chunks of intact batches, each with the name of its file.

    Raises:
        CorruptBatchError: a record's inner framing is wrong.
    """
    held: list[LocatedBatch] = []
    name, count = "", 0
    for file, batch in batches:
        if held and (file != name or count >= MOST_RECORDS or len(held) >= MOST_BATCHES):
            yield _chunk(name, held)
            held, count = [], 0
        name = file
        held.append(batch)
        count += batch.header.count
    if held:
        yield _chunk(name, held)


def _chunk(file: str, batches: list[LocatedBatch]) -> Chunk:
    values: list[bytes] = []
    control: list[tuple[LocatedBatch, Record]] = []
    data: list[LocatedBatch] = []
    rare: list[tuple[int, list[Record]]] = []
    for batch in batches:
        if batch.header.is_control:
            control += [(batch, record) for record in batch_records(batch.buffer, batch.header, batch.at)]
            continue
        found = common_values(batch.buffer, batch.header, batch.at)
        if found is None:
            records = batch_records(batch.buffer, batch.header, batch.at)
            rare.append((len(values), records))
            found = [record.value or b"" for record in records]
        data.append(batch)
        values += found
    counts = np.array([batch.header.count for batch in data], np.int64)
    firsts = np.cumsum(counts) - counts
    bases = np.array([batch.header.base_offset for batch in data], np.int64)
    times = np.array([batch.header.base_timestamp for batch in data], np.int64)
    chunk = Chunk(
        file=file,
        batches=batches,
        positions=np.repeat(np.array([batch.position for batch in data], np.int64), counts),
        offsets=np.repeat(bases - firsts, counts) + np.arange(len(values)),
        epochs=np.repeat(np.array([batch.header.partition_leader_epoch for batch in data], np.int32), counts),
        times_ms=np.repeat(times, counts),
        values=values,
        control=control,
    )
    for first, records in rare:  # each record of such a batch says its own offset and time
        chunk.offsets[first : first + len(records)] = [record.offset for record in records]
        chunk.times_ms[first : first + len(records)] = [record.timestamp_ms for record in records]
    return chunk
