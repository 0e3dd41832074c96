"""How much of the log and of older snapshots is kept."""

from __future__ import annotations

import pytest

from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.storage.loaded_checkpoint import HeldCheckpoint
from quorum.node.core.retention import SnapshotConfig, bytes_between, choose_start


def _held(*offsets: int, size: int = 100) -> list[HeldCheckpoint]:
    """Each is of the time of its offset, in ms."""
    return [
        HeldCheckpoint(end=OffsetAndEpoch(offset=Offset(offset), epoch=Epoch(1)), size=size, last_contained_ms=offset)
        for offset in offsets
    ]


@pytest.mark.parametrize(
    ("offsets", "retention_bytes", "retention_ms", "expected"),
    [
        ((), 0, 0, None),
        ((10,), 0, 0, None),
        ((10, 20, 30), -1, -1, None),
        ((10, 20, 30), 10_000, 10_000, None),
        ((10, 20, 30), 0, -1, 30),
        ((10, 20, 30), 1290, -1, None),  # 990 of the log and three snapshots: just as much as may be
        ((10, 20, 30), 1289, -1, 20),
        ((10, 20, 30), 1179, -1, 30),
        ((10, 20, 30), -1, 985, 20),
        ((10, 20, 30), -1, 990, None),
        ((10, 20, 30), -1, 0, 30),
        ((10, 20, 30), 1289, 975, 30),
    ],
)
def test_where_the_log_begins(
    offsets: tuple[int, ...], retention_bytes: int, retention_ms: int, expected: int | None
) -> None:
    config = SnapshotConfig(retention_bytes=retention_bytes, retention_ms=retention_ms)
    begin = choose_start(
        _held(*offsets), lambda start: 1000 - max(10, start), config, start_offset=Offset(0), now_ms=1000
    )
    assert (None if begin is None else begin.end.offset) == expected


@pytest.mark.parametrize(
    ("size", "or_as_the_newest", "expected"),
    [(None, True, 1000), (999, True, 1000), (1001, True, 1001), (1001, False, 1000)],
)
def test_how_much_of_the_log_is_replayed_between_two_snapshots(
    size: int | None, or_as_the_newest: bool, expected: int
) -> None:
    config = SnapshotConfig(max_new_record_bytes=1000, or_as_the_newest=or_as_the_newest)
    held = [] if size is None else [*_held(10, size=5000), *_held(20, size=size)]
    assert bytes_between(config, held) == expected
