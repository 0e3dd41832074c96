"""Clusters that began on old releases, or on ZooKeeper, are sound: no command accuses them, and recovery works."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.directory.meta_properties import format_meta_properties, parse_meta_properties
from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import build_batch, check_batch, parse_header
from metadata_log.tools.check.check import check_paths
from quorum.cli.main import run
from quorum.node.storage.open_replica import open_replica
from tests.support.field import controller_config, field_nodes

SOUND = ("F01", "F02")
SEGMENT = "data/__cluster_metadata-0/00000000000000000000.log"


@pytest.fixture(params=SOUND)
def nodes(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    return field_nodes(request.param, tmp_path)


@pytest.mark.parametrize("words", [("check",), ("log", "verify"), ("log", "verify", "--replay"), ("log", "diff")])
def test_nothing_is_found(words: tuple[str, ...], nodes: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words, *map(str, nodes)]) == 0
    said = capsys.readouterr().out
    assert ("The logs' records agree in 5 replicas" if "diff" in words else "Nothing is wrong with 5 ") in said
    assert "ERROR" not in said


def test_each_node_by_itself(nodes: list[Path]) -> None:
    for node in nodes:
        assert not check_paths([node]).findings, node


FOREIGN = (".Trash-0", "lost+found", ".snapshot", "x.bak")
"""Directories that a desktop, a file system, a storage system or a person puts there."""


def test_no_directory_of_a_controller_is_taken_for_a_partition(
    nodes: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for name in FOREIGN:
        (nodes[0] / "data" / name).mkdir()
    for paths in (nodes[:1], nodes):
        assert not check_paths(paths).findings
    assert run(["storage", "audit", str(nodes[0])]) == 0
    assert capsys.readouterr().out == "Node 1 is a controller and no broker: no directory is judged.\n"


def test_a_broker_sets_aside_what_has_a_partitions_name(nodes: list[Path]) -> None:
    (nodes[3] / "data" / ".Trash-0").mkdir()
    assert [found.kind for found in check_paths(nodes).findings] == ["partition_without_id"]


def test_a_brokers_directories_are_audited(nodes: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["storage", "audit", str(nodes[3])]) == 0
    said = capsys.readouterr().out
    assert "Broker 11: " in said
    assert " 0 of which do not belong" in said
    assert run(["storage", "info", str(nodes[3] / "data")]) == 0


def test_recovery_takes_them_for_what_they_are(nodes: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recover", "inspect", *map(str, nodes)]) == 0
    said = capsys.readouterr().out
    assert "A majority of the voters is here and sound (3 of 3" in said
    assert "damaged" not in said


def test_a_brokers_copy_makes_a_controller(nodes: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    new = nodes[0].parent / "new"
    words = ["recover", "from-broker", "--broker-dir", f"{nodes[4]}/data", "--copy", f"{nodes[3]}/data"]
    words += ["--dir", str(new), "--node-id", "1", "--endpoint", "CONTROLLER://localhost:1", "--missing", "1,2,3"]
    words += ["--accept-data-loss", "--bootstrap-controller", "localhost:1"]
    assert run([*words, "--apply"]) == 0, capsys.readouterr()
    capsys.readouterr()
    assert run(["recover", "verify", str(new)]) == 0
    assert run(["check", str(new)]) == 0, capsys.readouterr().out


def test_our_controllers_open_them(nodes: list[Path]) -> None:
    for node in nodes[:3]:
        config = controller_config(node)
        opened = open_replica(OsFiles(), config)
        opened.abandon()
        assert not opened.recovery.warnings


def _batches(path: Path) -> list[bytes]:
    data, batches, at = path.read_bytes(), list[bytes](), 0
    while at < len(data):
        size = parse_header(data, at).size_in_bytes
        batches.append(data[at : at + size])
        at += size
    return batches


def _no_op(base_offset: int, epoch: int) -> bytes:
    batch = build_batch(base_offset=base_offset, epoch=epoch, timestamp_ms=1, values=[b"\x01\x14\x00\x00"])
    check_batch(batch, 0)
    return batch


@pytest.mark.parametrize("case", ["no leader", "late", "other epoch"])
def test_only_the_batch_before_the_leader_may_begin_a_log(case: str, tmp_path: Path) -> None:
    node = field_nodes("F01", tmp_path)[0]
    path = node / SEGMENT
    first, leads, *rest = _batches(path)
    if case == "no leader":
        changed = [first, *(_no_op(offset, 1) for offset in (2, 3))]
    elif case == "late":
        changed = [first, _no_op(2, 1), _moved(leads, 3)]
    else:
        changed = [_of_epoch(first, 0), leads, *rest]
    path.write_bytes(b"".join(changed))
    kinds = {found.kind for found in check_paths([node]).findings}
    assert "epoch_without_leader" in kinds


def test_the_first_leader_may_have_replicated_no_leader_change(tmp_path: Path) -> None:
    nodes = field_nodes("F01", tmp_path)[:3]
    for node in nodes:
        path = node / SEGMENT
        first, leads, *rest = _batches(path)
        path.write_bytes(b"".join([first, *(_of_epoch(batch, 3) for batch in (leads, *rest))]))
    kinds = {found.kind for found in check_paths(nodes).findings}
    assert kinds.isdisjoint({"epoch_without_leader", "epoch_went_back", "foreign_batch"})


def _moved(batch: bytes, base_offset: int) -> bytes:
    return base_offset.to_bytes(8, "big") + batch[8:]


def _of_epoch(batch: bytes, epoch: int) -> bytes:
    return batch[:12] + epoch.to_bytes(4, "big") + batch[16:]


def test_a_second_leader_change_in_that_epoch_is_still_an_error(tmp_path: Path) -> None:
    node = field_nodes("F01", tmp_path)[0]
    path = node / SEGMENT
    batches = _batches(path)
    path.write_bytes(b"".join([*batches, _moved(batches[1], parse_header(batches[-1]).next_offset)]))
    assert "foreign_batch" in {found.kind for found in check_paths([node]).findings}


@pytest.mark.parametrize("name", [".Trash-0", "orders-0", "old-copy-12"])
def test_no_directory_of_a_controller_is_a_partition(name: str, tmp_path: Path) -> None:
    nodes = field_nodes("F01", tmp_path)
    (nodes[0] / "data" / name).mkdir()
    report = check_paths(nodes)
    assert [node.partitions for node in report.nodes] == [0, 0, 0, 3, 3]
    assert not [found for found in report.findings if found.counts]


def test_a_broken_file_has_the_id_that_is_in_it(tmp_path: Path) -> None:
    node = field_nodes("F02", tmp_path)[3]
    (node / "data" / "meta.properties").write_text("version=1\nbroker.id=11\ncluster.id=c\n")
    said = next(found.meaning for found in check_paths([node]).findings if found.kind == "corrupt_file")
    assert said == "it has no node.id; the id in it says node 11"


def test_version_0_of_meta_properties_names_its_broker() -> None:
    data = b"#\n#Thu Jan 01 00:00:00 UTC 1970\nbroker.id=11\nversion=0\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\n"
    found = parse_meta_properties(data, "meta.properties")
    assert (found.node_id, found.version, found.directory_id) == (11, 0, None)
    assert format_meta_properties(found, 0) == data
