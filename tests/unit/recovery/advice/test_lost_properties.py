"""A voter's directory without its own meta.properties: the file comes back first, and no command takes the vote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from metadata_log.directory import META_PROPERTIES_FILE
from metadata_log.files.os_files import OsFiles
from metadata_log.tools.check.check import check_paths
from quorum.recovery.advice.faults import fault_among
from quorum.recovery.inspection import Inspection, inspect_copies
from tests.support.damage import Cluster, copy_cluster

OWN = "cluster.id=MkU3OEVBNTcwNTJENDM2Qg, node.id=1, version=1, directory.id=ZGlyZWN0b3J5LWlkLTAwMQ"


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    return copy_cluster(clusters / "basic", tmp_path / "basic")


def _inspected(cluster: Cluster, *nodes: int) -> Inspection:
    return inspect_copies(OsFiles(), [str(cluster.disk(node)) for node in nodes])


def _without(cluster: Cluster) -> None:
    (cluster.disk(1) / META_PROPERTIES_FILE).unlink()


def _of_node_3(cluster: Cluster) -> None:
    path = cluster.disk(1) / META_PROPERTIES_FILE
    path.write_text(path.read_text().replace("node.id=1", "node.id=3"))


@pytest.mark.parametrize(("damage", "kind"), [(_without, "not_formatted"), (_of_node_3, "foreign_node")])
def test_the_file_comes_back_before_all_else(cluster: Cluster, damage: Callable[[Cluster], None], kind: str) -> None:
    damage(cluster)
    [checked] = check_paths([cluster.disk(node) for node in (1, 2, 3)]).findings
    found = _inspected(cluster, 1, 2, 3)
    first, again, start = found.plan.steps
    copy = next(copy for copy in found.evidence.copies if copy.place.log_dir == str(cluster.disk(1)))

    assert checked.kind == kind
    assert first.text.startswith(f"Do not start {cluster.disk(1)}: {checked.meaning}. While the node is stopped")
    assert OWN in first.text
    assert again.commands[0].startswith("kraft recover inspect ")
    assert start.text == "Start controllers 2, 3 as they are: they elect a leader by themselves"
    assert fault_among(found.evidence, copy) is not None
    assert not found.is_whole


def test_no_repair_is_advised_before_without_a_majority(cluster: Cluster) -> None:
    _without(cluster)
    (cluster.disk(2) / META_PROPERTIES_FILE).unlink()
    found = _inspected(cluster, 1, 2, 3, 11, 12)

    assert ["Do not start" in step.text for step in found.plan.steps] == [True, True, False]
    refused = {repair.on: repair.refused for repair in found.plan.repairs}
    assert refused[str(cluster.disk(1))] == f"restore {cluster.disk(1)}/{META_PROPERTIES_FILE} first"
