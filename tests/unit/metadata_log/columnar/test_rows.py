"""The rows of a file are the same however it is divided, and no row is lost or seen twice at a division."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from metadata_log.columnar.rows import Part, batch_table, record_table
from metadata_log.columnar.tables import LogIdentity, all_records, table_names, table_schema
from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import build_batch, build_control_batch
from metadata_log.ids import NodeId, TopicId
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import (
    ConfigRecord,
    LeaderChangeMessage,
    NoOpRecord,
    PartitionRecord,
    TopicRecord,
    encode_control,
    encode_record,
)

SEEDS = 60 if os.environ.get("LONG") else 12
LOG = LogIdentity(cluster_id="c", node_id=1, directory_id="d")
NO_OP = encode_record(NoOpRecord(), 0)
START_MS = 1_700_000_000_000
RECORDS_OF_TEST = (
    TopicRecord(name="t", topic_id=TopicId(bytes(range(16)))),
    ConfigRecord(resource_type=2, resource_name="t", name="n", value="v"),
    PartitionRecord(
        partition_id=0, topic_id=TopicId(bytes(range(16))), replicas=(NodeId(1), NodeId(2)), isr=(NodeId(1),),
        removing_replicas=(), adding_replicas=(), leader=NodeId(1), leader_epoch=0, partition_epoch=0,
    ),
)  # fmt: skip


def log_of(seed: int) -> bytes:
    """Return a log of NoOps, other batches, elections and damage."""
    draw, parts = random.Random(seed), list[bytes]()
    offset, time_ms, epoch = 0, START_MS, 1
    for _ in range(150):
        kind, count = draw.random(), 1
        if kind < 0.1:
            epoch += 1
            change = LeaderChangeMessage(version=0, leader_id=NodeId(1), voters=(), granting_voters=())
            parts.append(
                build_control_batch(
                    base_offset=Offset(offset), epoch=Epoch(epoch), timestamp_ms=time_ms,
                    records=[encode_control(change)],
                )
            )  # fmt: skip
        elif kind < 0.5:
            count = draw.randrange(1, 40)
            values = [encode_record(draw.choice(RECORDS_OF_TEST), 0) for _ in range(count)]
            parts.append(_batch(offset, epoch, time_ms, values))
        else:
            count = draw.choice([1, 1, 5, 5, 100] if draw.random() < 0.98 else [3000])
            parts += [_batch(offset + index, epoch, time_ms + 500 * index, [NO_OP]) for index in range(count)]
        offset, time_ms = offset + count, time_ms + 500 * count
    data = bytearray(b"".join(parts))
    for _ in range(draw.choice([0, 1, 3])):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return bytes(data)


def _batch(offset: int, epoch: int, time_ms: int, values: Sequence[bytes]) -> bytes:
    return build_batch(base_offset=Offset(offset), epoch=Epoch(epoch), timestamp_ms=time_ms, values=values)


def rows_of(path: Path, cuts: Sequence[int], table: str) -> list[dict[str, object]]:
    handle = OsFiles().open(str(path), read_only=True)
    try:
        bounds = [0, *cuts, path.stat().st_size]
        found = [list(_rows(handle, Part(name="f", start=a, end=b), table)) for a, b in itertools.pairwise(bounds)]
    finally:
        handle.close()
    rows = [row for batches in found for batch in batches for row in batch.to_pylist()]
    return sorted(rows, key=lambda row: (row["position"], row.get("offset") or 0))


def _rows(handle: object, part: Part, table: str) -> Iterator[pa.RecordBatch]:
    if table == "batches":
        return batch_table(handle, part, LOG)  # type: ignore[arg-type]
    return record_table(handle, part, LOG, types=all_records() if table == "all" else None)  # type: ignore[arg-type]


@pytest.mark.parametrize("table", ["batches", "records", "all"])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_any_division_gives_the_same_rows(tmp_path: Path, seed: int, table: str) -> None:
    path, data = tmp_path / "log", log_of(seed)
    path.write_bytes(data)
    whole = rows_of(path, (), table)
    assert len(whole) > 10
    draw = random.Random(seed)
    for count in (1, 7, 60):
        cuts = sorted(draw.sample(range(1, len(data)), count))
        assert rows_of(path, cuts, table) == whole, cuts
    at_batches = sorted({int(row["position"]) for row in whole if row["position"]})  # type: ignore[call-overload]
    assert rows_of(path, at_batches[: len(at_batches) // 2], table) == whole


def test_every_batch_and_record_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"".join(_batch(offset, 1, START_MS + offset, [NO_OP]) for offset in range(9000)))
    rows = rows_of(path, (), "batches")
    assert [(row["kind"], row["offset"], row["last_offset"], row["batches"]) for row in rows] == [
        ("no_op", 0, 4095, 4096),
        ("no_op", 4096, 8191, 4096),
        ("no_op", 8192, 8999, 808),
    ]
    assert rows_of(path, (), "records") == []
    assert len(rows_of(path, (5000, 5072, 5073), "all")) == 9000


def test_every_table_has_columns_with_names_of_their_own() -> None:
    assert len(table_names()) > 30
    for table in table_names():
        names = table_schema(table).names
        assert len(names) == len(set(names)), table
