"""Faults on several nodes, or several on one: every error of each, and the node that it names."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from metadata_log.directory import QUORUM_STATE_FILE
from metadata_log.format.batch import build_batch, parse_header
from metadata_log.format.epoch_file import EPOCH_FILE
from metadata_log.ids import DirectoryId, NodeId, id_text
from metadata_log.records import FenceBrokerRecord, encode_record
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Finding, Severity
from tests.support.damage import Cluster, copy_cluster, split, with_base, with_epoch, write
from tests.support.one_fault import add_leader_change, forged_checkpoint, metadata_of, segments_of


def _errors(cluster: Cluster) -> list[Finding]:
    return [found for found in check_paths([cluster.root]).findings if found.severity is Severity.ERROR]


def _named(found: list[Finding]) -> list[tuple[str, int | None]]:
    return [(one.kind, one.node_id) for one in found]


def _fence_stranger(path: Path, offset: int) -> None:
    """Put a record that cannot be in the place of the batch at an offset."""
    batches = split(path)
    (number,) = (at for at, batch in enumerate(batches) if parse_header(batch).base_offset == offset)
    header = parse_header(batches[number])
    batches[number] = build_batch(
        base_offset=header.base_offset,
        epoch=header.partition_leader_epoch,
        timestamp_ms=header.max_timestamp,
        values=[encode_record(FenceBrokerRecord(id=NodeId(99), epoch=5), 0)],
    )
    write(path, batches)


def test_an_impossible_record_explains_no_forged_voters(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "every-record", tmp_path / "every-record")
    nodes = metadata_of(cluster.root)
    for metadata in nodes.values():
        _fence_stranger(segments_of(metadata)[0], 20)
    assert forged_checkpoint(nodes[1], random.Random(1))

    found = _errors(cluster)

    assert _named(found) == [*(("unknown_broker", node_id) for node_id in sorted(nodes)), ("checkpoint_disagrees", 1)]
    assert found[-1].meaning.startswith("of the quorum at its end, offset 300, ")


def _of_failovers(clusters: Path, target: Path) -> Cluster:
    """Return the three controllers alone, without the brokers' copies of the log."""
    cluster = copy_cluster(clusters / "failovers", target / "failovers")
    for node_id in (11, 12):
        shutil.rmtree(cluster.node(node_id))
    return cluster


def test_only_batches_of_equal_checksums_are_called_one(clusters: Path, tmp_path: Path) -> None:
    """Node 1 has the batch at 300 under a later epoch, and so another one at 303, where a record was committed."""
    cluster = _of_failovers(clusters, tmp_path)
    path = segments_of(cluster.metadata(1))[-1]
    batches = split(path)
    assert [parse_header(batches[number]).base_offset for number in (3, 6)] == [300, 303]
    batches[3] = with_epoch(batches[3], 9)
    batches[6] = with_epoch(with_base(batches[4], 303), 9)
    write(path, batches)

    found = _errors(cluster)

    assert [(one.kind, one.node_id, one.offset) for one in found] == [
        ("epoch_without_leader", 1, 303),
        ("log_mismatch", 1, 300),
        ("committed_prefix_differs", 1, 303),
    ]
    assert all("batches in all" not in one.meaning for one in found)


def _elect_two(cluster: Cluster, of_second: tuple[int, ...]) -> None:
    """Elect node 1 and node 3 in epoch 2, each with node 2's vote; `of_second`: the nodes that follow node 3."""
    for node_id in sorted({1, *of_second}):
        leader_id = 3 if node_id in of_second else 1
        offset = add_leader_change(cluster.segment(node_id), leader_id, tuple(sorted({2, leader_id})), (1, 2, 3), 1)
        metadata = cluster.metadata(node_id)
        (metadata / EPOCH_FILE).write_text(f"0\n2\n1 0\n2 {offset}\n")
        voted = DirectoryId(f"directory-id-{leader_id:03}".encode())
        (metadata / QUORUM_STATE_FILE).write_text(
            f'{{"leaderId":{leader_id},"leaderEpoch":2,"votedId":{leader_id},'
            f'"votedDirectoryId":"{id_text(voted)}","data_version":1}}'
        )


def test_two_votes_of_one_voter_are_found_in_the_leaders_own_logs(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    shutil.copyfile(cluster.segment(3), cluster.segment(1))
    _elect_two(cluster, (2, 3))

    assert _named(_errors(cluster)) == [("two_leaders", 1), ("two_votes", 2), ("log_mismatch", 1)]


def test_two_votes_are_found_without_the_second_leaders_log(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    for node_id in (3, 11, 12):
        shutil.rmtree(cluster.node(node_id))
    shutil.copyfile(cluster.segment(2), cluster.segment(1))
    _elect_two(cluster, (2,))

    assert _named(_errors(cluster)) == [
        ("two_leaders", None),
        ("two_leaders", 2),
        ("two_votes", 2),
        ("log_mismatch", None),
    ]


@pytest.mark.parametrize(
    ("offsets", "epoch", "kinds"),
    [
        (range(300, 301), 12, ["epoch_without_leader"]),
        (range(300, 301), 3, ["epoch_went_back"]),
        (range(309, 310), 12, ["epoch_went_back"]),
        (range(309, 400), 12, ["epoch_file_wrong", "quorum_state_behind"]),
    ],
)
def test_a_header_changed_alike_on_two_voters_accuses_these(
    offsets: range, epoch: int, kinds: list[str], clusters: Path, tmp_path: Path
) -> None:
    """The LeaderChange of the last epoch, 9, is at 309: the log bears out a later one, and the files deny it."""
    cluster = _of_failovers(clusters, tmp_path)
    for node_id in (2, 3):
        for path in segments_of(cluster.metadata(node_id)):
            batches = split(path)
            write(
                path, [with_epoch(one, epoch) if parse_header(one).base_offset in offsets else one for one in batches]
            )

    errors = _errors(cluster)
    assert _named(errors) == [("log_mismatch", 2), ("log_mismatch", 3)]
    assert all([text.split(",")[0] for text in one.consequences or ()] == kinds for one in errors)
