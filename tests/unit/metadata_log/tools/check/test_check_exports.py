"""Exports, with decoded tables too, and other copies of the metadata log alone."""

from __future__ import annotations

import re
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


def test_an_export_is_judged_by_the_small_files_that_it_has(clusters: Path, tmp_path: Path) -> None:
    """A wrong id, a stale quorum-state and another node's directory id are found as in the directories."""
    for number in (1, 2, 3):
        shutil.copytree(clusters / "basic" / f"node-{number}", tmp_path / f"node-{number}")
    log = tmp_path / "node-1" / "data" / "__cluster_metadata-0"
    (log / "partition.metadata").write_text("version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw")
    state = tmp_path / "node-2" / "data" / "__cluster_metadata-0" / "quorum-state"
    state.write_text(state.read_text().replace('"leaderEpoch":1', '"leaderEpoch":0'))
    mine, other = (tmp_path / f"node-{number}" / "data" / "meta.properties" for number in (3, 1))
    ids = [re.search(r"directory.id=(.*)", path.read_text()) for path in (mine, other)]
    assert ids[0] is not None
    assert ids[1] is not None
    mine.write_text(mine.read_text().replace(ids[0][1], ids[1][1]))
    for number in (1, 2, 3):
        export_replica(tmp_path / f"node-{number}", tmp_path / "exports" / str(number))

    of_nodes = check_paths([tmp_path / f"node-{number}" for number in (1, 2, 3)]).findings
    of_exports = check_paths([tmp_path / "exports"]).findings

    expected = {("foreign_metadata_topic", 1), ("quorum_state_behind", 2), ("duplicate_directory_id", 3)}
    for found in (of_nodes, of_exports):
        assert expected <= {(one.kind, one.node_id) for one in found}


def test_a_brokers_export_is_judged_by_its_list_of_partitions(clusters: Path, tmp_path: Path) -> None:
    node = shutil.copytree(clusters / "every-record" / "node-11", tmp_path / "node-11")
    one, other = sorted((node / "data").glob("[a-z]*-0/partition.metadata"))[:2]
    shutil.copyfile(one, other)
    export_replica(node, tmp_path / "export")

    def wrong(path: Path) -> list[tuple[int | None, str]]:
        found = [one for one in check_paths([path]).findings if one.kind == "partition_wrong_id"]
        return [(one.node_id, Path(one.file or "").name) for one in found]

    assert wrong(tmp_path / "export") == wrong(node) != []


def test_files_that_are_not_what_was_exported_are_named(clusters: Path, tmp_path: Path) -> None:
    export = tmp_path / "export"
    export_replica(clusters / "basic" / "node-1", export)
    (export / "partition.metadata").unlink()
    (export / "partitions.json").write_text("[")
    state = export / "quorum-state"
    state.write_text(state.read_text() + " ")

    found = {(one.kind, Path(one.file or "").name) for one in check_paths([export]).findings}

    assert found == {
        ("file_changed", "partition.metadata"), ("file_changed", "quorum-state"), ("corrupt_file", "partitions.json"),
    }  # fmt: skip
