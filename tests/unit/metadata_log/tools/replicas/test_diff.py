"""The offset at which replicas diverge, the majority's content, and the meaning of the difference."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Severity
from metadata_log.tools.read.sources import find_sources
from metadata_log.tools.replicas.diff import DiffReport, diff_logs
from metadata_log.tools.replicas.replica import read_replica
from metadata_log.tools.replicas.replica_set import ReplicaSet
from metadata_log.tools.verify.depth import Depth
from quorum.cli.main import run
from tests.support.clusters import SCENARIOS
from tests.support.damage import copy_cluster, number_at, other_bytes, quiet_batch, split, with_epoch, write


def _diff(*paths: Path) -> DiffReport:
    nodes = find_sources(paths).nodes
    return diff_logs(ReplicaSet([read_replica(node, depth=Depth.BYTES) for node in nodes]))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_replicas_of_real_clusters_agree(scenario: str, clusters: Path) -> None:
    report = _diff(clusters / scenario)

    assert report.partings == ()
    assert report.findings == ()
    assert report.common_end == min(line.end_offset for line in report.replicas)


def test_an_uncommitted_tail_is_told_in_records(clusters: Path) -> None:
    failovers = clusters / "failovers"

    report = _diff(failovers / "node-1", failovers / "divergent-before/node-2", failovers / "node-3")

    assert report.common_end == 309
    (parting,) = report.partings
    lost, kept = parting.sides
    assert (lost.replicas, lost.epoch, lost.is_majority, lost.record_count) == (("node 2",), 8, False, 8)
    assert [text.split('"')[3] for text in lost.records if "TopicRecord" in text] == ["lost-1", "lost-2"]
    assert re.fullmatch(
        r'offset 309: TopicRecord \{"name":"lost-1".*\} of epoch 8 on node 2, '
        r"LeaderChangeMessage \{.* of epoch 9 on node 1 and node 3",
        parting.differences[0],
    )
    # Each side holds these in another batch than offset 309, of several records or of one.
    assert parting.differences[1].startswith("offset 310: PartitionRecord {")
    assert "partitionId 1 on node 2, 0 on node 1 and node 3" in parting.differences[2]
    assert not [text for text in parting.differences if "nothing" in text]
    assert (kept.replicas, kept.epoch, kept.is_majority) == (("node 1", "node 3"), 9, True)
    assert [(found.kind, found.severity.value) for found in report.findings] == [("uncommitted_tail", "note")]


def test_logs_that_share_no_offset_are_not_said_to_agree(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    later = _diff(cluster.node(2)).replicas[0].start_offset
    for path in sorted(cluster.metadata(11).glob("0*")):
        if int(path.name[:20]) >= later - 40:
            path.unlink()
    earlier = _diff(cluster.node(11)).replicas[0]
    assert earlier.start_offset < earlier.end_offset <= later

    (found,) = _diff(cluster.node(11), cluster.node(2)).findings

    assert (found.kind, found.node_id, found.offset) == ("nothing_in_common", 11, earlier.end_offset)
    assert found.severity is Severity.NOTE
    assert f"node 2 (from {later} on)" in found.meaning
    assert run(["log", "diff", str(cluster.node(11)), str(cluster.node(2))]) == 1, "its epochs show that it was cut"
    printed = capsys.readouterr().out
    assert "No two of them overlap: nothing could be compared." in printed
    assert "They hold the same" not in printed
    assert _diff(cluster.node(11), cluster.node(2), cluster.node(12)).findings == (found,)
    assert found in check_paths([cluster.node(11), cluster.node(2)]).findings


def test_one_that_overlaps_with_no_other_is_not_said_to_agree(
    clusters: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two clusters may have one cluster id; their logs need not overlap."""
    failovers = clusters / "failovers"

    run(["log", "diff", *map(str, (failovers / "node-1", clusters / "basic" / "node-2", failovers / "node-3"))])

    said = capsys.readouterr().out
    assert "node 2 overlaps with no other: nothing of its log could be compared." in said
    assert "The others hold the same records " in said
    assert "all of them reach offset 326" in said
    assert "reach offset 96" not in said


def test_other_bytes_are_charged_to_the_minority(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.segment(1)
    number = quiet_batch(path)
    batches = split(path)
    batches[number] = other_bytes(batches[number])
    write(path, batches)

    report = _diff(cluster.root)

    (parting,) = report.partings
    assert [side.record_count for side in parting.sides] == [1, 1]
    assert parting.differences[0].startswith(f"offset {parting.offset}, ")
    assert 'batch time "2026-' in parting.differences[0]
    assert "on node 1" in parting.differences[0]
    assert "on node 2, node 3" in parting.differences[0]
    assert report.findings[0].meaning.endswith(parting.differences[0])
    assert report.findings[0] in check_paths([cluster.root]).findings
    assert [(found.kind, found.node_id, found.offset) for found in report.findings] == [
        ("log_mismatch", 1, parting.offset)
    ]


@pytest.mark.parametrize("node", [1, 2, 3])
@pytest.mark.parametrize("is_shorter", [True, False])
def test_the_side_of_the_fewest_replicas_is_first(clusters: Path, tmp_path: Path, node: int, is_shorter: bool) -> None:
    """Neither the number of the node nor the length of its log decides about the order."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.segment(node)
    number = quiet_batch(path)
    batches = split(path)
    batches[number] = other_bytes(batches[number])
    write(path, batches[:-1] if is_shorter else batches)

    (parting,) = _diff(cluster.root).partings

    assert parting.sides[0].replicas == (f"node {node}",)
    assert f" on node {node}, " in parting.differences[0]


def test_in_a_tie_one_finding_accuses_neither_side(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.segment(1)
    number = quiet_batch(path)
    batches = split(path)
    batches[number] = other_bytes(batches[number])
    write(path, batches)

    report = _diff(cluster.node(1), cluster.node(2))

    (found,) = report.findings
    assert (found.kind, found.severity, found.node_id, found.file) == ("log_mismatch", "error", None, None)
    assert "other bytes on node 1 than on node 2, and nothing says which is right" in found.meaning
    assert found.advice.startswith("wipe neither")
    (parting,) = report.partings
    assert report.bounds.lower == parting.offset, "no log shows what was committed from there on"
    assert "cannot be known" in report.bounds.because


def test_what_a_majority_holds_stays_certain_past_a_parting(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.segment(1)
    number = quiet_batch(path)
    batches = split(path)
    batches[number] = other_bytes(batches[number])
    write(path, batches)

    report = _diff(cluster.root)

    assert report.bounds.lower > report.partings[0].offset
    assert [found.advice.startswith("wipe neither") for found in report.findings] == [False]


def test_a_committed_record_of_another_epoch_is_lost(clusters: Path, tmp_path: Path) -> None:
    """Below a checkpoint's end every record was committed: another one there is no harmless tail."""
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    path = cluster.segment(1, 207)
    number = number_at(path, 240)
    batches = split(path)
    batches[number] = with_epoch(other_bytes(batches[number]), 2)
    write(path, batches)

    report = _diff(cluster.root)

    assert ("committed_prefix_differs", 1) in [(found.kind, found.node_id) for found in report.findings]


def test_bounds_are_said_with_their_reason(clusters: Path) -> None:
    report = _diff(clusters / "failovers/node-1", clusters / "failovers/node-2")

    assert report.bounds.lower == report.bounds.upper == 326
    assert "majority" in report.bounds.because
