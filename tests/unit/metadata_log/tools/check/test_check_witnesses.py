"""One bad witness accuses no sound node: every finding of each fault."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from metadata_log.format.batch import parse_header
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.replicas.diff_paths import diff_paths
from tests.support.damage import Cluster, copy_cluster, other_bytes, split, write
from tests.support.one_fault import (
    FAULTS,
    add_leader_change,
    flipped_at,
    forged_checkpoint,
    metadata_of,
    put_foreign_log,
    repeated_topic,
    segments_of,
)

_ANOTHER_LEADER = [("two_leaders", 0), ("two_leaders", 126), ("log_mismatch", 0), ("log_mismatch", 126)]


def _found(cluster: Cluster) -> list[tuple[str, int | None]]:
    return [(found.kind, found.node_id) for found in check_paths([cluster.root]).findings]


@pytest.fixture
def basic(clusters: Path, tmp_path: Path) -> Cluster:
    return copy_cluster(clusters / "basic", tmp_path / "basic")


@pytest.fixture
def failovers(clusters: Path, tmp_path: Path) -> Cluster:
    return copy_cluster(clusters / "failovers", tmp_path / "failovers")


def test_a_forged_checkpoint_accuses_no_voter(failovers: Cluster) -> None:
    assert forged_checkpoint(failovers.metadata(1), random.Random(1))

    assert _found(failovers) == [("checkpoint_disagrees", 1)]


def test_a_brokers_lone_leader_change_accuses_no_voter(basic: Cluster) -> None:
    add_leader_change(basic.segment(11), 1, (1, 2), (1, 2, 3), 0)
    found = check_paths([basic.root]).findings

    assert [(one.kind, one.node_id) for one in found] == [("two_leaders", 11), ("log_mismatch", 11)]
    assert found[0].position == found[1].position  # of the LeaderChange that was added, not of the epoch's first


def test_two_leaders_in_one_log_are_listed_once_by_diff(basic: Cluster) -> None:
    add_leader_change(basic.segment(11), 1, (1, 2), (1, 2, 3), 0)

    found = diff_paths([basic.root]).findings

    assert [(one.kind, one.node_id) for one in found] == [("two_leaders", 11), ("log_mismatch", 11)]


def test_a_lone_leader_change_that_the_files_beside_it_deny_accuses_no_other_leader(
    clusters: Path, tmp_path: Path
) -> None:
    """Node 3 alone has the LeaderChange of epoch 3 at the offset where node 2's log has another one."""
    cluster = copy_cluster(clusters / "basic-4.4", tmp_path / "basic-4.4")
    add_leader_change(segments_of(cluster.metadata(2))[-1], 2, (1, 2, 3), (1, 2, 3), 1)

    assert _found(cluster) == [
        ("epoch_file_wrong", 2),
        ("two_leaders", 2),
        ("two_leaders", 2),
        ("log_mismatch", 2),
    ]


@pytest.mark.parametrize("voter", [1, 3])
def test_a_leader_change_within_an_epoch_proves_no_votes(clusters: Path, tmp_path: Path, voter: int) -> None:
    """Node 2 leads epoch 9, which began at offset 311 with other votes; the record is at the log's end."""
    cluster = copy_cluster(clusters / "failovers-4.4", tmp_path / "failovers-4.4")
    add_leader_change(segments_of(cluster.metadata(3))[-1], 2, (voter, 2), (1, 2, 3), 0)

    assert _found(cluster) == [("foreign_batch", 3)]


def test_a_flipped_epoch_accuses_no_other_copy(failovers: Cluster) -> None:
    flipped_at(segments_of(failovers.metadata(11))[-1], 5, 15, 4)

    assert _found(failovers) == [("log_mismatch", 11)]


def test_a_flipped_offset_proves_no_commit(basic: Cluster) -> None:
    flipped_at(basic.segment(11), 0, 0, 2)

    assert _found(basic) == [("offset_gap", 11)]


def test_another_clusters_log_is_called_that(basic: Cluster, clusters: Path) -> None:
    put_foreign_log(basic.metadata(2), metadata_of(clusters / "failovers")[1])

    assert _found(basic) == [("foreign_cluster", 2)]


def test_what_follows_from_a_repeated_topic_is_below_it(basic: Cluster) -> None:
    assert repeated_topic(basic.segment(11)) is not None

    assert _found(basic) == [("topic_name_reused", 11), ("log_mismatch", 11)]


def test_the_older_of_two_logs_judges_nothing(failovers: Cluster, clusters: Path) -> None:
    old = clusters / "failovers/lagging-follower/node-2/data"
    shutil.copytree(old, failovers.node(2) / "data2", copy_function=shutil.copyfile)

    assert _found(failovers) == [("duplicate_directory_id", 2)] * 2 + [("two_metadata_logs", 2)] * 2


@pytest.mark.parametrize(
    ("scenario", "node_id", "fault", "expected"),
    [
        ("basic-4.4", 3, "impossible record", [("unknown_broker", 128)]),
        ("basic-4.4", 3, "repeated topic", [("topic_name_reused", 128)]),
        ("static-3.9", 3, "impossible record", [("unknown_broker", 115)]),
        ("every-record", 1, "impossible record", [("unknown_broker", 381), ("log_mismatch", 381)]),
        ("every-record", 1, "repeated topic", [("topic_name_reused", 381), ("log_mismatch", 381)]),
        ("basic-4.4", 2, "another leader", _ANOTHER_LEADER),
        (
            "basic-4.4",
            3,
            "another leader",
            [
                *_ANOTHER_LEADER[:2],
                ("two_leaders", 127),
                *_ANOTHER_LEADER[2:],
                ("leader_change_denied", 127),
            ],
        ),
    ],
)
def test_a_fault_at_the_end_of_one_log_is_that_logs(
    scenario: str, node_id: int, fault: str, expected: list[tuple[str, int]], clusters: Path, tmp_path: Path
) -> None:
    """Node 3 of basic-4.4 and of static-3.9 led last, and alone has the LeaderChange of its epoch."""
    cluster = copy_cluster(clusters / scenario, tmp_path / scenario)
    assert FAULTS[fault](cluster.metadata(node_id), random.Random(0))

    found = check_paths([cluster.root]).findings

    assert [(one.kind, one.node_id, one.offset) for one in found] == [(kind, node_id, at) for kind, at in expected]


def test_who_lags_behind_did_not_lose_what_another_lost(basic: Cluster) -> None:
    """Node 1 ends at offset 95, and nodes 2 and 3 at 96; node 2 is cut to before that."""
    path = basic.segment(2)
    write(path, split(path)[:-5])

    found = check_paths([basic.root]).findings

    assert [(one.kind, one.node_id) for one in found] == [("log_cut", 2), ("committed_lost", 2)]
    assert "node 1 and node 2 lack it, 2 of 3 voters" in found[-1].meaning


@pytest.mark.parametrize("node_id", [11, 12])
def test_of_two_copies_that_differ_neither_is_accused(failovers: Cluster, node_id: int) -> None:
    """The two brokers alone have the records before the controllers' checkpoints."""
    path = segments_of(failovers.metadata(node_id))[0]
    batches = split(path)
    number = next(number for number, batch in enumerate(batches) if parse_header(batch).base_offset == 104)
    batches[number] = other_bytes(batches[number])
    write(path, batches)

    (found,) = check_paths([failovers.root]).findings

    assert (found.kind, found.severity, found.node_id, found.file) == ("log_mismatch", "error", None, None)
    assert "on node 11 than on node 12, and nothing says which is right" in found.meaning
    assert found.advice.startswith("wipe neither")


def test_a_displaced_batch_is_not_committed(failovers: Cluster) -> None:
    """The checkpoints of all nodes end past offset 284, to which a flipped bit moves a batch of one broker."""
    segments = segments_of(failovers.metadata(12))
    path, number = next(
        (path, number)
        for path in segments
        for number, batch in enumerate(split(path))
        if parse_header(batch).base_offset == 276
    )
    flipped_at(path, number, 7, 3)

    (found,) = check_paths([failovers.root]).findings

    assert (found.kind, found.node_id, found.offset) == ("offset_gap", 12, 276)
    assert isinstance(found.consequences, tuple)
    assert [text.split(": ")[0] for text in found.consequences] == ["committed_prefix_differs, offset 284"]


def test_the_epoch_that_begins_in_a_gap_is_no_fault_of_its_own(failovers: Cluster) -> None:
    """The LeaderChange of epoch 9 is at offset 309."""
    path = segments_of(failovers.metadata(3))[-1]
    write(path, [batch for batch in split(path) if parse_header(batch).base_offset != 309])

    assert _found(failovers) == [("offset_gap", 3)]


def test_what_a_lost_first_segment_held_no_checkpoint_lacks(failovers: Cluster) -> None:
    """Node 1 has a checkpoint that ends at 244, and segments from 207 and 294 on."""
    segments_of(failovers.metadata(1))[0].unlink()

    assert _found(failovers) == [("missing_segment", 1)]


def test_the_epoch_that_begins_in_a_lost_segment_is_no_fault_of_its_own(failovers: Cluster) -> None:
    """Epoch 3 begins at offset 253, and the batch at 294 is given its own from within."""
    middle, last = segments_of(failovers.metadata(11))[1:]
    write(last, [batch for batch in split(last) if parse_header(batch).base_offset > 294])
    last.rename(last.with_name(f"{295:020}.log"))
    middle.unlink()

    assert _found(failovers) == [("missing_segment", 11)]


@pytest.mark.parametrize(
    ("scenario", "forger", "gone"), [("static-3.9", 1, 3), ("static-3.9", 2, 3), ("basic-4.4", 2, 3)]
)
def test_a_leader_change_that_its_own_quorum_state_denies_accuses_no_voter(
    clusters: Path, tmp_path: Path, scenario: str, forger: int, gone: int
) -> None:
    """With one of three controllers gone, no majority denies the record. But its node never reached that epoch."""
    cluster = copy_cluster(clusters / scenario, tmp_path / scenario)
    add_leader_change(segments_of(metadata_of(cluster.root)[forger])[-1], forger, (1, 2, 3), (1, 2, 3), 1)
    shutil.rmtree(cluster.node(gone))

    accused = {one.node_id for one in check_paths([cluster.root]).findings if one.counts}

    assert accused == {forger}
