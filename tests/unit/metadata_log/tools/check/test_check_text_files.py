"""Small files as Kafka reads them: lines that end as on other systems, and a cluster id that is empty."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metadata_log.directory import read_meta_properties
from metadata_log.errors import CorruptFileError
from metadata_log.files.os_files import OsFiles
from metadata_log.format.epoch_file import parse_epochs
from metadata_log.tools.check.check import check_paths
from quorum.cli.main import run
from quorum.node.config.node_config import config_of
from quorum.node.storage.open_replica import open_replica
from tests.support.releases_fixture import unpack_release

TEXTS = ("meta.properties", "quorum-state", "partition.metadata", ".kafka_cleanshutdown")
LINE_ENDS = {"CR LF": b"\r\n", "CR": b"\r"}
NO_ID = "an empty cluster id"
COMMANDS = ("check", "log verify", "log verify --replay", "log diff", "log hash", "log timeline", "recover inspect")


def _change(data: bytes, case: str) -> bytes:
    if case in LINE_ENDS:
        return data.replace(b"\n", LINE_ENDS[case])
    return b"".join(b"cluster.id=\n" if line.startswith(b"cluster.id=") else line for line in data.splitlines(True))


@pytest.fixture(scope="module", params=[*LINE_ENDS, NO_ID])
def nodes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A controller and two brokers of Kafka 4.4; no test changes them."""
    nodes = unpack_release("4.4", tmp_path_factory.mktemp("changed"))
    changed = 0
    for file in (file for node in nodes for file in node.rglob("*") if file.is_file()):
        if file.name in TEXTS or file.name.endswith(("-offset-checkpoint", "leader-epoch-checkpoint")):
            before = file.read_bytes()
            file.write_bytes(_change(before, request.param))
            changed += file.read_bytes() != before
    assert changed >= len(nodes)
    return nodes


@pytest.mark.parametrize("words", COMMANDS)
def test_nothing_is_found(words: str, nodes: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words.split(), *map(str, nodes)]) == 0
    said = capsys.readouterr()
    assert not {"ERROR", "WARNING", "NOTE"} & set(said.out.split())
    assert not said.err


def test_directories_are_shown_judged_and_copied(
    nodes: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["storage", "info", str(nodes[0] / "data")]) == 0
    assert run(["storage", "audit", str(nodes[1])]) == 0
    assert " 0 of which do not belong" in capsys.readouterr().out
    assert run(["log", "export", str(nodes[0]), str(tmp_path / "export")]) == 0
    assert run(["check", str(tmp_path / "export")]) == 0


def test_our_controller_opens_it(nodes: list[Path], tmp_path: Path) -> None:
    shutil.copytree(nodes[0], tmp_path / "node-1")
    keys = {
        "process.roles": "controller",
        "node.id": "1",
        "listeners": "CONTROLLER://127.0.0.1:1,GRPC://127.0.0.1:2",
        "log.dirs": f"{tmp_path}/node-1/data",
    }
    opened = open_replica(OsFiles(), config_of(keys))
    opened.abandon()
    assert not opened.recovery.warnings


def test_an_empty_id_is_named_and_can_be_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node = unpack_release("4.4", tmp_path)[0]
    file = node / "data" / "meta.properties"
    file.write_bytes(_change(file.read_bytes(), NO_ID))
    assert read_meta_properties(OsFiles(), str(file.parent)).cluster_id == ""
    assert run(["recover", "inspect", str(node)]) == 0
    assert "Cluster with an empty id, best copy first" in capsys.readouterr().out
    words = ["recover", "cluster-id", "--dir", str(file.parent), "--to", "TmV3bHlNYWRlQ2x1c3Rlcg"]
    assert run([*words, "--apply"]) == 0, capsys.readouterr()
    assert read_meta_properties(OsFiles(), str(file.parent)).cluster_id == "TmV3bHlNYWRlQ2x1c3Rlcg"


def test_a_file_without_a_cluster_id_is_still_an_error(tmp_path: Path) -> None:
    nodes = unpack_release("4.4", tmp_path)
    file = nodes[0] / "data" / "meta.properties"
    file.write_bytes(file.read_bytes().replace(b"cluster.id=", b"another.id="))
    assert "corrupt_file" in {found.kind for found in check_paths(nodes).findings}


@pytest.mark.parametrize("data", [b"0\r\n1\r\n1 0", b"0\n1\n1 0", b"0\r1\r1 0"])
def test_an_epoch_file_that_was_cut_is_still_an_error(data: bytes) -> None:
    with pytest.raises(CorruptFileError, match="does not end with a line feed"):
        parse_epochs(data, "leader-epoch-checkpoint")


def test_a_configuration_may_have_any_line_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, end in {"LF": b"\n", **LINE_ENDS}.items():
        target = tmp_path / name.replace(" ", "-")
        lines = [
            "process.roles=controller", "node.id=1", "listeners=CONTROLLER://127.0.0.1:1,GRPC://127.0.0.1:2",
            "controller.quorum.voters=1@127.0.0.1:1", f"log.dirs={target}", "",
        ]  # fmt: skip
        config = tmp_path / f"{name}.properties"
        config.write_bytes(end.join(line.encode() for line in lines))
        assert run(["storage", "format", "-c", str(config), "-t", "TmV3bHlNYWRlQ2x1c3Rlcg"]) == 0, capsys.readouterr()
        assert (target / "meta.properties").exists()
