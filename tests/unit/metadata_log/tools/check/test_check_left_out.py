"""Nodes of which nothing is left, or nothing can be read: findings, and the others are judged without them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from metadata_log.tools.check.check import CheckReport, check_paths
from metadata_log.tools.findings.finding import Severity
from metadata_log.tools.read.sources import SourceError
from quorum.cli.main import run
from tests.support.readers import as_nobody, open_root

NODES = (1, 2, 3, 11, 12)
NOBODY = 65534


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Path:
    """With nothing in node 1's log directory."""
    root = shutil.copytree(clusters / "basic", tmp_path / "cluster")
    shutil.rmtree(root / "node-1" / "data")
    (root / "node-1" / "data").mkdir()
    return root


def _found(report: CheckReport) -> set[tuple[str, int | None, str | None]]:
    return {(found.kind, found.node_id, found.file) for found in report.findings if found.counts}


@pytest.mark.parametrize("is_parent", [True, False])
def test_a_voter_of_which_nothing_is_left_is_found(is_parent: bool, cluster: Path) -> None:
    report = check_paths([cluster] if is_parent else [cluster / f"node-{number}" for number in NODES])

    path = str(cluster / "node-1")
    assert _found(report) == {("not_formatted", 1, path), ("voter_without_log", 1, path)}
    assert [node.node_id for node in report.nodes] == list(NODES)
    assert report.bounds.lower == 96


def test_a_broker_of_which_nothing_is_left_is_found(cluster: Path) -> None:
    """The log registers it; what its directory held is not known."""
    for child in (cluster / "node-12" / "data").iterdir():
        shutil.rmtree(child) if child.is_dir() else child.unlink()

    found = _found(check_paths([cluster]))

    assert {one for one in found if one[1] == 12} == {("not_formatted", 12, str(cluster / "node-12"))}


def test_an_empty_directory_beside_a_node_is_found(cluster: Path) -> None:
    report = check_paths([cluster / "node-1", cluster / "node-2"])

    assert _found(report) == {("not_formatted", None, str(cluster / "node-1"))}


def test_an_empty_directory_alone_is_wrong_use(cluster: Path) -> None:
    with pytest.raises(SourceError, match="holds no metadata log"):
        check_paths([cluster / "node-1"])


def test_what_is_no_nodes_by_its_name_is_passed_over_below_a_directory(cluster: Path) -> None:
    (cluster / "node-1").rename(cluster / "oracle")

    assert [node.node_id for node in check_paths([cluster]).nodes] == [2, 3, 11, 12]


def test_a_voter_that_is_nowhere_below_a_directory_is_a_note(cluster: Path) -> None:
    shutil.rmtree(cluster / "node-1")

    (found,) = check_paths([cluster]).findings
    assert (found.kind, found.severity, found.node_id) == ("voter_absent", Severity.NOTE, 1)
    assert check_paths([cluster / "node-2", cluster / "node-3"]).findings == ()


@pytest.mark.parametrize("is_parent", [True, False])
def test_what_cannot_be_looked_into_is_named_and_no_file_in_it(is_parent: bool, clusters: Path) -> None:
    """No check can know if a manifest.json or a meta.properties is there."""
    with open_root() as root:
        shutil.copytree(clusters / "basic", root / "basic")
        (root / "basic").chmod(0o755)
        disk = root / "basic" / "node-1" / "data"
        others = [root / "basic" / f"node-{number}" for number in (2, 3)]
        check_paths(others)  # imports come first: the unprivileged user cannot read the modules
        disk.chmod(0)
        with as_nobody():
            found = check_paths([disk.parent if is_parent else disk, *others]).findings
        disk.chmod(0o755)

    (one,) = [one for one in found if one.kind == "unreadable_file"]
    assert one.file == str(disk)
    assert "manifest.json" not in one.meaning
    assert "meta.properties" not in one.meaning


def test_a_partition_that_cannot_be_looked_into_is_one_finding(clusters: Path) -> None:
    with open_root() as root:
        shutil.copytree(clusters / "basic", root / "basic")
        (root / "basic").chmod(0o755)
        path = root / "basic" / "node-11" / "data" / "orders-3-0"
        check_paths([root / "basic"])  # imports come first: the unprivileged user cannot read the modules
        path.chmod(0)
        with as_nobody():
            found = check_paths([root / "basic"]).findings
        path.chmod(0o755)

    assert [(one.kind, one.file) for one in found] == [("unreadable_file", str(path / "partition.metadata"))]


@pytest.fixture
def nobodys(clusters: Path) -> Iterator[Path]:
    """Yield a cluster where only the owner may read node 1; the test runs as another user if it can."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    for number in NODES:
        shutil.copytree(clusters / "basic" / f"node-{number}", root / f"node-{number}")
    run(["check", str(root)])  # imports come first: the unprivileged user cannot read the modules
    (root / "node-1").chmod(0)
    is_root = os.geteuid() == 0
    if is_root:
        os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield root
    finally:
        if is_root:
            os.setresuid(0, 0, 0)
        (root / "node-1").chmod(0o755)
        shutil.rmtree(root)


@pytest.mark.parametrize("is_parent", [True, False])
def test_a_node_that_cannot_be_read_is_found(
    is_parent: bool, nobodys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()

    named = [nobodys] if is_parent else [nobodys / f"node-{number}" for number in NODES]

    assert run(["check", *map(str, named)]) == 1
    out = capsys.readouterr().out
    assert f"unreadable_file: node 1, {nobodys}/node-1" in out
    assert "1 error in 5 nodes, 1 of which could not be read; all before offset 96 is committed." in out


def test_an_unread_node_without_a_known_id_is_counted_too(nobodys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The id of a node's own path is known by its peers' paths, and that of a disk below it is not."""
    is_nobody = os.geteuid() == NOBODY
    if is_nobody:
        os.seteuid(0)
    (nobodys / "other").mkdir(mode=0)
    if is_nobody:
        os.seteuid(NOBODY)
    capsys.readouterr()

    assert run(["check", *map(str, [*(nobodys / f"node-{number}" for number in NODES), nobodys / "other"])]) == 1
    assert "2 errors in 6 nodes, 2 of which could not be read;" in capsys.readouterr().out


@pytest.mark.parametrize("mode", [0o100, 0o300])
def test_a_disk_that_cannot_be_listed_hides_no_other_node(mode: int, clusters: Path) -> None:
    """Its metadata log can be read all the same: who may pass a directory need not be one who may look into it."""
    with open_root() as root:
        cluster = shutil.copytree(clusters / "basic", root / "cluster")
        disk = cluster / "node-11" / "data"
        for path in cluster.rglob("*"):
            os.chown(path, NOBODY, NOBODY) if os.geteuid() == 0 else None
        check_paths([cluster])
        disk.chmod(mode)
        with as_nobody():
            report = check_paths([cluster])
        disk.chmod(0o755)
    assert _found(report) == {("unreadable_file", 11, str(disk))}
    assert [node.node_id for node in report.nodes] == list(NODES)
    assert (report.unread, report.bounds.lower) == (0, 96)
