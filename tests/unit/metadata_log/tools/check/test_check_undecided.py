"""Only the leader knows of a voter's removal. By the voters before it, a follower that lagged has lost nothing."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from metadata_log.directory import METADATA_DIRECTORY, QUORUM_STATE_FILE, format_quorum_state, parse_quorum_state
from metadata_log.format.batch import build_control_batch, iter_batches
from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.offsets import Epoch
from metadata_log.records import ControlRecord, LeaderChangeMessage, LeaderChangeVoter, encode_control
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.read.history import open_history
from metadata_log.tools.read.sources import find_sources
from metadata_log.tools.verify.verify_log import verify_log
from metadata_log.voters import VoterSet
from tests.support.damage import Cluster, copy_cluster
from tests.support.damage_reach import bare, cut_at


def _append(cluster: Cluster, node: int, record: ControlRecord, epochs: int = 0) -> None:
    """At the end of a node's log, so many epochs later."""
    segment = max((cluster.root / f"node-{node}" / "data" / METADATA_DIRECTORY).glob("*.log"))
    _, last = max(iter_batches(segment.read_bytes()), key=lambda one: one[1].base_offset)
    batch = build_control_batch(
        base_offset=last.next_offset,
        epoch=Epoch(last.partition_leader_epoch + epochs),
        timestamp_ms=last.max_timestamp,
        records=[encode_control(record)],
    )
    with segment.open("ab") as file:
        file.write(batch)


def _remove(cluster: Cluster, leader: int, removed: int) -> None:
    """Append the removal to the leader's log alone."""
    directory = cluster.root / f"node-{leader}" / "data" / METADATA_DIRECTORY
    record = open_history(directory).state_at().quorum.voters
    assert record is not None
    _append(cluster, leader, VoterSet.from_record(record).without(NodeId(removed)).to_record())


def test_a_sound_laggard_is_not_said_to_have_lost_commits(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    cut_at(cluster, 2, 60)
    bare(cluster, 2, ".index", ".timeindex", ".snapshot", ".checkpoint")
    before = {one.kind for one in check_paths([cluster.root]).findings if one.counts}
    _remove(cluster, leader=3, removed=1)
    after = {one.kind for one in check_paths([cluster.root]).findings if one.counts}
    assert "committed_lost" not in after
    assert after <= before


def test_by_a_removal_that_is_committed_a_majority_of_two_is_asked(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    for node in (1, 2):
        cut_at(cluster, node, 60)
        bare(cluster, node, ".index", ".timeindex", ".snapshot", ".checkpoint")
    _remove(cluster, leader=3, removed=1)
    kinds = [(one.kind, one.node_id) for one in check_paths([cluster.root]).findings if one.kind == "committed_lost"]
    assert ("committed_lost", 2) in kinds


def test_a_leader_that_has_removed_itself_may_lead_once_more(clusters: Path, tmp_path: Path) -> None:
    """Until its removal commits, only this node holds the record. The others still vote for it as a voter."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    election = LeaderChangeMessage(
        version=1,
        leader_id=NodeId(3),
        voters=tuple(LeaderChangeVoter(voter_id=NodeId(voter)) for voter in (1, 2)),
        granting_voters=tuple(LeaderChangeVoter(voter_id=NodeId(voter)) for voter in (1, 2)),
    )
    _remove(cluster, leader=3, removed=3)
    _append(cluster, 3, election, epochs=1)
    assert "leader_not_voter" not in {one.kind for one in check_paths([cluster.root]).findings}
    _append(cluster, 3, msgspec.structs.replace(election, leader_id=NodeId(11)), epochs=2)
    assert "leader_not_voter" in {one.kind for one in check_paths([cluster.root]).findings}


@pytest.mark.parametrize("is_before_the_logs", [True, False])
def test_who_voted_before_the_logs_begin_may_be_removed_by_now(
    is_before_the_logs: bool, clusters: Path, tmp_path: Path
) -> None:
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    spans = [verify_log(node).epochs for node in find_sources([cluster.root]).nodes]
    epoch = min(each[0].epoch for each in spans) if is_before_the_logs else min(each[-1].epoch for each in spans)
    path = cluster.root / "node-1" / "data" / METADATA_DIRECTORY / QUORUM_STATE_FILE
    state = parse_quorum_state(path.read_bytes(), str(path))
    gone = ReplicaKey(node_id=NodeId(99), directory_id=DirectoryId(b"\x51" * 16))
    path.write_bytes(format_quorum_state(msgspec.structs.replace(state, leader_epoch=epoch, voted_key=gone)))
    kinds = {one.kind for one in check_paths([cluster.root]).findings}
    assert ("vote_for_stranger" in kinds) is not is_before_the_logs
