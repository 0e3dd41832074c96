"""A broker's disk whose meta.properties is gone is a disk all the same, and a partition on it is no node."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.directory import META_PROPERTIES_FILE
from metadata_log.files.os_files import OsFiles
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.partitions.audit import AuditError, audit
from metadata_log.tools.read.disks import is_brokers_disk, is_topics_partition
from metadata_log.tools.read.sources import SourceError, find_sources
from quorum.cli.main import run
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.log_directories import find_place
from tests.support.damage import copy_cluster


@pytest.fixture
def node(clusters: Path, tmp_path: Path) -> Path:
    """A broker with two disks; the one without the metadata log has lost its meta.properties."""
    node = copy_cluster(clusters / "every-record", tmp_path / "cluster").node(11)
    (node / "data1" / META_PROPERTIES_FILE).unlink()
    return node


def test_named_by_itself_it_is_one_finding(node: Path) -> None:
    report = check_paths([*sorted(node.parent.glob("node-[123]")), node / "data", node / "data1"])

    assert [(found.kind, found.file) for found in report.findings] == [("not_formatted", str(node / "data1"))]
    assert [checked.path for checked in report.nodes][-1] == str(node / "data1")
    assert report.nodes[-1].partitions == 5


def test_without_kafkas_own_files_its_partitions_tell(node: Path) -> None:
    for path in (node / "data1").glob("*-checkpoint"):
        path.unlink()

    assert [disk.path.name for disk in find_sources([node]).nodes[0].log_directories] == ["data", "data1"]


def test_an_audit_does_not_pass_it_over(node: Path) -> None:
    with pytest.raises(AuditError, match=r"data1: it has no meta\.properties"):
        audit([node])


def test_info_says_what_is_missing(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["storage", "info", str(node)]) == 1
    assert "it has no meta.properties, and a broker's partitions are or were there" in capsys.readouterr().out


def test_a_partition_is_no_node(node: Path) -> None:
    partition = node / "data1" / "trades-19-2"
    with pytest.raises(SourceError, match="holds no metadata log"):
        find_sources([partition])
    with pytest.raises(RefusedError):
        find_place(OsFiles(), str(partition))


def test_what_is_no_brokers_is_none(clusters: Path, tmp_path: Path) -> None:
    """A controller's disk, a metadata log under another name, an empty directory, and one that is called so."""
    files, controller = OsFiles(), copy_cluster(clusters / "basic", tmp_path / "basic").disk(1)
    empty, copied = tmp_path / "empty", tmp_path / "copy-1"
    (empty / "topic-0").mkdir(parents=True)
    (controller / "__cluster_metadata-0").rename(copied)

    assert not is_brokers_disk(files, str(controller))
    assert not is_brokers_disk(files, str(empty))
    assert not is_topics_partition(files, str(copied))
    assert [found.metadata for found in find_sources([copied]).nodes] == [copied]
