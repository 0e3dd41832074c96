"""Exports, with decoded tables too, and other copies of the metadata log alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metadata_log.tools.backup.export import export_replica
from metadata_log.tools.check.check import check_paths
from quorum.cli.main import run


@pytest.mark.parametrize("tables", ["jsonl", "parquet"])
def test_a_brokers_export_is_no_disk_that_a_broker_starts_from(
    tables: str, clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export = tmp_path / "export"
    assert run(["log", "export", str(clusters / "basic" / "node-11"), str(export), "-o", tables]) == 0
    assert (export / "decoded").is_dir()
    capsys.readouterr()
    assert run(["check", str(export)]) == 0
    assert "strange_directory" not in capsys.readouterr().out
    assert run(["storage", "audit", str(export), "--image", str(clusters / "basic" / "node-1")]) != 0
    assert "an export holds a metadata log and no partitions" in capsys.readouterr().err


def test_a_brokers_export_lacks_no_partitions(clusters: Path, tmp_path: Path) -> None:
    """The log assigns it 36, and it went on long after that; an export holds none."""
    node = clusters / "failovers" / "node-11"
    export_replica(node, tmp_path / "broker-11")

    assert check_paths([tmp_path / "broker-11"]).findings == ()
    assert check_paths([tmp_path / "broker-11", node]).findings == ()


def test_a_copy_of_a_brokers_metadata_log_lacks_no_partitions(clusters: Path, tmp_path: Path) -> None:
    node, copy = clusters / "failovers" / "node-11", tmp_path / "copies" / "broker-11"
    shutil.copytree(node / "data" / "__cluster_metadata-0", copy / "__cluster_metadata-0")
    shutil.copy(node / "data" / "meta.properties", copy)

    assert check_paths([copy]).findings == ()


def test_a_broker_that_lost_all_its_partitions_is_no_copy(clusters: Path, tmp_path: Path) -> None:
    node = shutil.copytree(clusters / "failovers" / "node-11", tmp_path / "node-11")
    (node / "data" / "recovery-point-offset-checkpoint").write_text("0\n0\n")  # the fixtures have none
    for directory in (node / "data").iterdir():
        if directory.is_dir() and directory.name != "__cluster_metadata-0":
            shutil.rmtree(directory)

    assert {found.kind for found in check_paths([node]).findings} == {"partition_missing"}


@pytest.mark.parametrize(
    "scenario", ["basic", "basic-4.4", "every-record", "every-record-4.4", "failovers", "failovers-4.4"]
)
def test_the_copies_that_the_docs_ask_for_are_silent(scenario: str, clusters: Path, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        shutil.copytree(clusters / scenario / f"node-{number}", tmp_path / f"controller-{number}")
    export_replica(clusters / scenario / "node-11", tmp_path / "broker-11")
    named = [tmp_path / name for name in ("controller-1", "controller-2", "controller-3", "broker-11")]

    assert check_paths(named).findings == ()
