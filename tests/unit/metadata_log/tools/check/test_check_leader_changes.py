"""A LeaderChange that its own log shows to be impossible accuses no other node: every finding of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.format.batch import build_control_batch, parse_header
from metadata_log.ids import NodeId
from metadata_log.records import LeaderChangeMessage, LeaderChangeVoter, encode_control
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.replicas.diff_paths import diff_paths
from tests.support.damage import copy_cluster, sealed, split, with_bytes, write
from tests.support.one_fault import metadata_of, segments_of

_PRODUCER_ID = 43


def put_leader_change(path: Path, leader_id: int, granting: tuple[int, ...], *, is_foreign: bool = False) -> None:
    """Put another LeaderChange in the place of a segment's last, perhaps in a batch with a producer."""
    batches = split(path)
    headers = [parse_header(batch) for batch in batches]
    number = max(number for number, header in enumerate(headers) if header.is_control)
    record = LeaderChangeMessage(
        leader_id=NodeId(leader_id),
        voters=tuple(LeaderChangeVoter(voter_id=NodeId(voter)) for voter in (1, 2, 3)),
        granting_voters=tuple(LeaderChangeVoter(voter_id=NodeId(voter)) for voter in granting),
    )
    batch = build_control_batch(
        base_offset=headers[number].base_offset,
        epoch=headers[number].partition_leader_epoch,
        timestamp_ms=headers[number].max_timestamp,
        records=[encode_control(record)],
    )
    batches[number] = sealed(with_bytes(batch, _PRODUCER_ID, bytes(7) + b"\7")) if is_foreign else batch
    write(path, batches)


@pytest.mark.parametrize(
    ("leader_id", "granting", "is_foreign", "kind"),
    [
        (9, (1, 2), False, "leader_not_voter"),
        (1, (2,), False, "leader_without_majority"),
        (3, (1,), False, "leader_without_majority"),
        (1, (1, 3), True, "foreign_batch"),
        (3, (1, 3), True, "foreign_batch"),
    ],
)
def test_of_two_leaders_the_impossible_one_is_wrong(
    leader_id: int, granting: tuple[int, ...], is_foreign: bool, kind: str, clusters: Path, tmp_path: Path
) -> None:
    """Node 1 lacks the record, so that node 3's log alone, of node 2's leadership, is held against node 2's."""
    cluster = copy_cluster(clusters / "basic-4.4", tmp_path / "basic-4.4")
    path = segments_of(metadata_of(cluster.root)[2])[-1]
    put_leader_change(path, leader_id, granting, is_foreign=is_foreign)

    found = check_paths([cluster.root]).findings

    assert sorted((one.kind, one.node_id, one.offset) for one in found) == sorted(
        [(kind, 2, 126), ("two_leaders", 2, 126), ("log_mismatch", 2, 126)]
    )
    compared = diff_paths([cluster.root]).findings
    assert sorted((one.kind, one.node_id) for one in compared) == sorted((one.kind, one.node_id) for one in found)
