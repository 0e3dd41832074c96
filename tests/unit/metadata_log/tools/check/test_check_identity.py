"""The owners of the directories of a quorum's nodes: nodes without a vote, and nodes with two logs."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Severity
from metadata_log.tools.read.sources import find_sources
from metadata_log.tools.verify.verify_log import verify_log
from tests.support.damage import Cluster, copy_cluster

OTHER_IDS = {1: "c29tZWJvZHktZWxzZS0wMQ", 2: "c29tZWJvZHktZWxzZS0wMg", 3: "c29tZWJvZHktZWxzZS0wMw"}
FIRST = "00000000000000000000-0000000000.checkpoint"
NULL_ID = "AAAAAAAAAAAAAAAAAAAAAA"


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    return copy_cluster(clusters / "basic", tmp_path / "basic")


def rename(disk: Path, directory_id: str) -> Path:
    path = disk / "meta.properties"
    text = path.read_text()
    path.write_text(re.sub(r"(?m)^directory\.id=.*$", f"directory.id={directory_id}", text))
    assert path.read_text() != text
    return path


@pytest.mark.parametrize("nodes", [(1, 2), (1, 2, 3)])
def test_a_majority_of_voters_with_other_directories_elects_nobody(nodes: tuple[int, ...], cluster: Cluster) -> None:
    files = [str(rename(cluster.disk(node), OTHER_IDS[node])) for node in nodes]

    report = check_paths([cluster.root])

    found = [one for one in report.findings if one.kind == "no_majority_of_voters"]
    assert [(one.node_id, one.file) for one in found] == list(zip(nodes, files, strict=True))
    assert f"of 3 voters {len(nodes)} (node {', '.join(map(str, nodes))})" in found[0].meaning
    assert [one.node_id for one in report.findings if one.kind == "not_the_voter"] == list(nodes)
    assert not report.is_sound


def test_one_of_three_with_another_directory_may_have_been_replaced(cluster: Cluster) -> None:
    """A new disk has nothing of the voter that it follows: no checkpoint that names it, no vote."""
    rename(cluster.disk(2), OTHER_IDS[2])
    (cluster.metadata(2) / FIRST).unlink()

    (found,) = check_paths([cluster.root]).findings

    assert (found.kind, found.severity) == ("not_the_voter", Severity.WARNING)
    assert "remove the old directory from the voters and add this one" in found.advice


def test_who_led_was_the_voter(cluster: Cluster) -> None:
    """Node 3 leads by its quorum-state. A node without a vote never writes itself there as leader."""
    rename(cluster.disk(3), OTHER_IDS[3])
    (cluster.metadata(3) / FIRST).unlink()

    (found,) = check_paths([cluster.root]).findings

    assert (found.kind, found.severity) == ("not_the_voter", Severity.ERROR)
    assert "quorum-state in it led epoch 1, and only a voter leads" in found.meaning


@pytest.mark.parametrize("proof", [FIRST, "quorum-state"])
def test_a_changed_directory_id_is_told_from_a_replaced_disk(proof: str, cluster: Cluster) -> None:
    """The voter's files are still in the directory: its quorum's first checkpoint, or its vote for itself."""
    path = rename(cluster.disk(3), OTHER_IDS[3])
    if proof != FIRST:
        (cluster.metadata(3) / FIRST).unlink()
        state = cluster.metadata(3) / "quorum-state"
        voted = '"votedId":3,"votedDirectoryId":"ZGlyZWN0b3J5LWlkLTAwMw"'
        state.write_text(re.sub('"votedId":-1,"votedDirectoryId":"A{22}"', voted, state.read_text()))

    (found,) = check_paths([cluster.root]).findings

    assert (found.kind, found.severity, found.file) == ("not_the_voter", Severity.ERROR, str(path))
    assert f"But {proof} in it" in found.meaning
    assert "directory.id=ZGlyZWN0b3J5LWlkLTAwMw back into this file" in found.advice
    assert "add this one as a voter" not in found.advice


def test_a_reserved_directory_id_gets_one_advice(cluster: Cluster) -> None:
    rename(cluster.disk(2), NULL_ID)

    assert {one.kind for one in check_paths([cluster.root]).findings} == {"missing_directory_id"}


def test_a_meta_properties_of_before_kraft_gets_one_advice(cluster: Cluster) -> None:
    path = cluster.disk(2) / "meta.properties"
    path.write_text(path.read_text().replace("version=1", "version=0"))

    (found,) = [one for one in check_paths([cluster.root]).findings if one.counts]

    assert (found.kind, found.file) == ("corrupt_file", str(path))
    assert "restore this one file" in found.advice
    assert "format" not in found.meaning


def test_a_reserved_directory_id_is_none(cluster: Cluster) -> None:
    path = rename(cluster.disk(2), NULL_ID)

    (found,) = [one for one in check_paths([cluster.root]).findings if one.kind == "missing_directory_id"]

    assert (found.node_id, found.file) == (2, str(path))
    assert "which is reserved" in found.meaning


@pytest.mark.parametrize("as_disks", [False, True])
def test_a_metadata_log_on_each_of_two_disks_is_one_too_many(as_disks: bool, cluster: Cluster) -> None:
    first, second = cluster.disk(2), cluster.disk(2).parent / "second"
    shutil.copytree(first, second)
    rename(second, OTHER_IDS[2])

    paths = [first, second] if as_disks else [cluster.root]
    found = [one for one in check_paths(paths).findings if one.kind == "two_metadata_logs"]

    assert {(one.node_id, one.file) for one in found} == {
        (2, str(disk / METADATA_DIRECTORY)) for disk in (first, second)
    }
    assert re.search(r"\(up to offset \d+, epoch 1\), and one at .*\(up to offset \d+, epoch 1\)", found[0].meaning)


def test_a_second_log_that_does_not_say_whose_it_is_is_not_passed_over(cluster: Cluster) -> None:
    second = cluster.disk(2).parent / "second"
    shutil.copytree(cluster.disk(2), second)
    (second / "meta.properties").unlink()

    found = check_paths([cluster.root]).findings

    assert ("not_formatted", str(second)) in {(one.kind, one.file) for one in found}


def test_without_its_meta_properties_no_node_with_a_log_starts(cluster: Cluster) -> None:
    """Formatting would give the directory another id, with which a voter has no vote."""
    (cluster.disk(2) / "meta.properties").unlink()

    (found,) = check_paths([cluster.root]).findings

    assert (found.kind, found.node_id, found.severity) == ("not_formatted", 2, Severity.ERROR)
    assert "to format the directory would give it another directory.id" in found.advice


def test_a_static_voter_that_stands_twice_counts_once(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "static-3.9", tmp_path / "static-3.9")
    states = [cluster.metadata(node) / "quorum-state" for node in (1, 2, 3, 11, 12)]
    for path in states:
        path.write_text(path.read_text().replace('{"voterId":2}', '{"voterId":2},{"voterId":2}'))

    report = check_paths([cluster.root])

    assert [voter.split(":")[0] for voter in report.voters] == ["1", "2", "3"]
    assert {(one.kind, one.file) for one in report.findings} == {("corrupt_file", str(path)) for path in states}


def test_the_bootstrap_checkpoint_of_a_disk_without_the_log_is_looked_at(clusters: Path, tmp_path: Path) -> None:
    """The disk is checked alone or beside the log's. An undamaged checkpoint is no finding; no start reads this one."""
    cluster = copy_cluster(clusters / "every-record", tmp_path / "every-record")
    disk = cluster.node(11) / "data1"
    assert check_paths([disk]).is_sound
    path = disk / "bootstrap.checkpoint"
    path.write_bytes(path.read_bytes()[:-9])

    for paths in ([disk], [cluster.node(11)]):
        (found,) = [one for one in check_paths(paths).findings if one.counts]
        assert (found.kind, found.node_id, found.file) == ("checkpoint_incomplete", 11, str(path))
        assert "no start reads this one" in found.advice
    (found,) = verify_log(find_sources([cluster.node(11)]).nodes[0]).findings
    assert found.file == str(path)


def test_a_disk_with_replicas_that_is_not_there_is_a_note(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "every-record", tmp_path / "every-record")
    shutil.rmtree(cluster.root / "node-11" / "data1")

    report = check_paths([cluster.root])

    (found,) = [one for one in report.findings if one.kind == "disk_absent"]
    assert (found.node_id, found.file) == (11, str(cluster.root / "node-11"))
    assert re.search(r"is registered with directory [\w-]{22}, which no disk here has, and \d+ of its", found.meaning)
    assert report.is_sound
