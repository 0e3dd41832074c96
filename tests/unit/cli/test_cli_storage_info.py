"""`kraft storage info` of a directory that lost its meta.properties: what is in it must not be formatted over."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from metadata_log.directory import META_PROPERTIES_FILE, METADATA_DIRECTORY
from metadata_log.errors import LostVoteError, MisplacedLogError
from metadata_log.files.os_files import OsFiles
from quorum.cli.main import run
from quorum.node.config.node_config import load_config
from quorum.node.storage.open_replica import open_replica
from tests.support.fixture_files import FIXTURES

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """A controller's log directory without its meta.properties."""
    node = shutil.copytree(FIXTURES / "basic" / "node-1", tmp_path / "node-1")
    (node / "data" / META_PROPERTIES_FILE).unlink()
    return node / "data"


def _info(capsys: Capture, *words: str | Path) -> dict[str, Any]:
    assert run(["storage", "info", *map(str, words), "-o", "json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)["directories"]
    return dict(row)


def test_a_log_without_meta_properties_is_not_to_be_formatted(disk: Path, tmp_path: Path, capsys: Capture) -> None:
    config = tmp_path / "node.properties"
    config.write_text(f"node.id=1\nlog.dirs={disk}\n")

    for words in ((disk,), (disk.parent,), ("--config", config)):
        row = _info(capsys, *words)

        assert "do not format it" in row["problem"]
        assert "storage format" not in row["problem"]
        assert (row["directory"], row["epoch"]) == (str(disk), 1)
        assert row["log"].startswith("1 segment, ")


def test_what_else_is_wrong_there_is_said_beside_it(disk: Path, capsys: Capture) -> None:
    (disk / METADATA_DIRECTORY / "quorum-state").write_text("{")

    problem = _info(capsys, disk)["problem"]

    assert "do not format it" in problem
    assert "quorum-state" in problem


def test_what_formatting_left_half_done_is_to_be_formatted(disk: Path, capsys: Capture) -> None:
    for child in (disk / METADATA_DIRECTORY).iterdir():
        if child.suffix != ".checkpoint" or not child.name.startswith("0" * 20):
            child.unlink()

    problem = _info(capsys, disk)["problem"]
    assert problem == "it is not formatted: if its disk is not mounted, mount it; a new directory: kraft storage format"


def test_a_received_checkpoint_without_meta_properties_is_not_to_be_formatted(
    tmp_path: Path, disk: Path, capsys: Capture
) -> None:
    metadata = disk / METADATA_DIRECTORY
    for child in metadata.iterdir():
        child.unlink()
    (metadata / f"{7:020}-{1:010}.checkpoint").touch()
    config = tmp_path / "node.properties"
    config.write_text(f"process.roles=controller\nnode.id=1\nlisteners=GRPC://127.0.0.1:1\nlog.dirs={disk}\n")

    assert "do not format it" in _info(capsys, disk)["problem"]
    assert run(["storage", "format", "-c", str(config), "-t", "MkU3OEVBNTcwNTJENDM2Qg", "--standalone"]) != 0
    assert "holds a metadata log" in capsys.readouterr().err
    assert not (disk / META_PROPERTIES_FILE).exists()


@pytest.mark.parametrize("roles", ["controller", "broker"])
def test_a_log_in_another_directory_is_said_as_a_start_says_it(roles: str, tmp_path: Path, capsys: Capture) -> None:
    own, spare, config = FIXTURES / "basic" / "node-1" / "data", tmp_path / "spare", tmp_path / "node.properties"
    config.write_text(
        f"process.roles={roles}\nnode.id=1\nlisteners=GRPC://127.0.0.1:1\nlog.dirs={spare},{own}\n"
        "controller.quorum.bootstrap.servers=c1:9094\n"
    )

    assert run(["storage", "info", "--config", str(config), "-o", "json"]) == 1
    rows = {row["directory"]: row["problem"] for row in json.loads(capsys.readouterr().out)["directories"]}
    with pytest.raises(MisplacedLogError) as caught:
        open_replica(OsFiles(), load_config(config))

    assert rows == {str(own): None, str(spare): str(caught.value)}
    assert "storage format" not in rows[str(spare)]
    assert f"If the disk of {spare} is not mounted: mount it" in rows[str(spare)]
    assert ("this node's votes" in rows[str(spare)]) is (roles == "controller")


@pytest.mark.parametrize("with_config", [False, True])
def test_a_lost_quorum_state_is_said_as_a_start_says_it(with_config: bool, tmp_path: Path, capsys: Capture) -> None:
    node = shutil.copytree(FIXTURES / "basic" / "node-1", tmp_path / "node-1")
    metadata, config = node / "data" / METADATA_DIRECTORY, tmp_path / "node.properties"
    for child in metadata.iterdir():
        if child.name != "partition.metadata":
            child.unlink()
    (metadata / f"{7:020}-{1:010}.checkpoint").touch()
    (metadata / f"{7:020}.log").touch()
    config.write_text(f"process.roles=controller\nnode.id=1\nlisteners=GRPC://127.0.0.1:1\nlog.dirs={node / 'data'}\n")

    problem = _info(capsys, *(("--config", config) if with_config else (node / "data",)))["problem"]
    with pytest.raises(LostVoteError) as caught:
        open_replica(OsFiles(), load_config(config))

    assert problem == ("" if with_config else "if it is a controller's, it does not start: ") + str(caught.value)


@pytest.mark.parametrize("name", [METADATA_DIRECTORY, "copied", "."])
def test_a_metadata_directory_is_no_log_directory(
    name: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copied away from what says whose it is, under its own name or another, it is not to be formatted."""
    place = tmp_path / ("copied" if name == "." else name)
    shutil.copytree(FIXTURES / "basic" / "node-1" / "data" / METADATA_DIRECTORY, place)
    monkeypatch.chdir(place)

    row = _info(capsys, Path() if name == "." else place)

    assert row["problem"].startswith("it is a metadata directory")
    assert "kraft log dump" in row["problem"]
    assert "storage format" not in row["problem"]
    assert (row["epoch"], row["node_id"]) == (1, None)
    assert row["log"].startswith("1 segment, ")


def test_a_metadata_directory_in_its_place_is_its_log_directorys(tmp_path: Path, capsys: Capture) -> None:
    assert run(["storage", "info", str(FIXTURES / "basic/node-1/data" / METADATA_DIRECTORY), "-o", "json"]) == 0

    (row,) = json.loads(capsys.readouterr().out)["directories"]
    assert (row["node_id"], row["problem"]) == (1, None)


def test_a_log_whose_records_are_damaged_is_said_not_to_be_read(
    clusters: Path, tmp_path: Path, capsys: Capture
) -> None:
    disk = tmp_path / "data"
    shutil.copytree(clusters / "basic/node-1/data", disk)
    segment = disk / "__cluster_metadata-0/00000000000000000000.log"
    written = bytearray(segment.read_bytes())
    written[4000] ^= 1
    segment.write_bytes(written)

    assert run(["storage", "info", str(disk)]) == 0
    said = capsys.readouterr().out.splitlines()[-1]
    assert said == f"No record of a log was read. To read them: kraft log verify {disk}"
    assert run(said.rpartition(": kraft ")[2].split()) == 1


def test_an_export_is_no_log_directory(tmp_path: Path, capsys: Capture) -> None:
    assert run(["log", "export", str(FIXTURES / "basic/node-1"), str(tmp_path / "export")]) == 0
    capsys.readouterr()

    row = _info(capsys, tmp_path / "export")

    assert row["problem"].startswith("it is an export")
    assert (row["node_id"], row["directory"]) == (1, str(tmp_path / "export"))
