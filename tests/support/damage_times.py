"""Checkpoints under other names, and times that go back."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

from metadata_log.format.batch import batch_records, parse_header
from metadata_log.records import SnapshotHeaderRecord, decode_control
from tests.support.damage import Cluster, Damage, Planted, place_of, quiet_batch, sealed, split, with_bytes, write
from tests.support.damage import with_controls as controls_of

_MISSING = frozenset({"missing_checkpoint"})
"""Findings that follow where the log begins with the renamed checkpoint."""
_FIRST_TIME, _GREATEST_TIME = 27, 35


def _renamed(
    node_id: int, old: tuple[int, int], new: tuple[int, int], also: frozenset[str] = frozenset()
) -> Callable[[Cluster], Planted]:
    """Rename a checkpoint to another end offset and epoch."""

    def plant(cluster: Cluster) -> Planted:
        path, renamed = (
            cluster.metadata(node_id) / f"{offset:020d}-{epoch:010d}.checkpoint" for offset, epoch in (old, new)
        )
        path.rename(renamed)
        offset = 0 if old[0] == new[0] else new[0]  # all its batches differ from the name: found at the first
        return Planted("checkpoint_misnamed", node_id, renamed, offset, also=also)

    return plant


def header_of_other_time(cluster: Cluster) -> Planted:
    """A checkpoint whose header has a time at which nothing in the log was written."""
    path = next(iter(cluster.metadata(11).glob("*0255-*.checkpoint")))
    shift_header_time(path, 1)
    return Planted("checkpoint_disagrees", 11, path, 255)


def shift_header_time(path: Path, by_ms: int) -> None:
    """Change the time of the last batch in a checkpoint's header."""
    batches = split(path)
    records = [
        decode_control(raw.key or b"", raw.value or b"") for raw in batch_records(batches[0], parse_header(batches[0]))
    ]
    changed = [
        SnapshotHeaderRecord(last_contained_log_timestamp=record.last_contained_log_timestamp + by_ms)
        if isinstance(record, SnapshotHeaderRecord)
        else record
        for record in records
    ]
    batches[0] = controls_of(batches[0], changed)
    write(path, batches)


def _set_back(number: Callable[[Path], int]) -> Callable[[Cluster], Planted]:
    """A batch that is an hour older than the batches before it, on all replicas alike."""

    def plant(cluster: Cluster) -> Planted:
        planted = None
        for node_id in (1, 2, 3, 11, 12):
            path = cluster.segment(node_id)
            batches = split(path)
            chosen = number(path)
            position, header = place_of(path, chosen)
            time = struct.pack(">q", header.max_timestamp - 3_600_000)
            batch = with_bytes(with_bytes(batches[chosen], _FIRST_TIME, time), _GREATEST_TIME, time)
            batches[chosen] = sealed(batch)
            write(path, batches)
            planted = planted or Planted(
                "time_went_back", node_id, path, int(header.base_offset), position, counts=False
            )
        assert planted is not None
        return planted

    return plant


TIME_DAMAGE = [
    Damage("checkpoint_named_later", "failovers", _renamed(11, (255, 3), (256, 3))),
    Damage("checkpoint_named_earlier", "failovers", _renamed(11, (255, 3), (254, 3))),
    Damage("checkpoint_named_far_later", "failovers", _renamed(11, (310, 9), (900, 9))),
    Damage("checkpoint_of_other_epoch", "failovers", _renamed(11, (310, 9), (310, 8))),
    Damage("first_checkpoint_named_later", "failovers", _renamed(11, (173, 1), (174, 1))),
    Damage("only_checkpoint_named_later", "failovers", _renamed(1, (244, 1), (250, 1))),
    Damage("only_checkpoint_named_before_log", "failovers", _renamed(1, (244, 1), (200, 1), _MISSING)),
    Damage("log_without_its_checkpoint_named_later", "failovers", _renamed(2, (244, 1), (250, 1))),
    Damage("log_without_its_checkpoint_named_earlier", "failovers", _renamed(2, (244, 1), (240, 1), _MISSING)),
    Damage("log_without_its_checkpoint_past_end", "failovers", _renamed(2, (244, 1), (500, 1))),
    Damage("header_of_other_time", "failovers", header_of_other_time),
    Damage("clock_set_back_while_idle", "basic", _set_back(quiet_batch)),
    Damage("clock_set_back_at_work", "basic", _set_back(lambda path: 4)),
]
