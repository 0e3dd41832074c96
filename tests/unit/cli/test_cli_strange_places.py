"""Each command of the toolkit at a wrong path: nothing there, garbage, a pipe, another version, no permission.

The message is a sentence that names the path. There is never a traceback, never a wait.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from metadata_log.format.batch import build_batch
from metadata_log.offsets import Epoch, Offset
from quorum.cli.main import run
from tests.support.fixture_files import FIXTURES

NODE = FIXTURES / "basic" / "node-1"
LOG = "00000000000000000000.log"
NOBODY = 65534
COMMANDS = (
    "check PLACE",
    "log dump PLACE",
    "log verify PLACE",
    f"log diff PLACE {FIXTURES / 'basic' / 'node-2'}",
    "log hash PLACE",
    "log timeline PLACE",
    "log export PLACE TARGET",
    "shell PLACE ls",
    "features check PLACE --target 4.3",
    "snapshot save PLACE TARGET",
    "storage info PLACE",
    "storage audit PLACE",
)
BACKUP_COMMANDS = ("snapshot status PLACE", "snapshot restore PLACE TARGET --node-id 1")


def called(command: str, place: Path, target: Path) -> int:
    return run([{"PLACE": str(place), "TARGET": str(target)}.get(word, word) for word in command.split()])


@pytest.fixture(params=["an empty directory", "no log", "nothing", "a text", "a pipe"])
def no_place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a path at which there is no metadata log."""
    match request.param:
        case "an empty directory":
            (place := tmp_path / "empty").mkdir()
        case "no log":
            (place := tmp_path / "photos").mkdir()
            (place / "holiday.jpg").write_bytes(b"\xff\xd8")
        case "nothing":
            place = tmp_path / "missing"
        case "a text":
            (place := tmp_path / "notes.txt").write_text("hello")
        case _:
            os.mkfifo(place := tmp_path / LOG)
    return place


@pytest.mark.parametrize("command", [*COMMANDS, *BACKUP_COMMANDS])
def test_where_there_is_no_log(command: str, no_place: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status = called(command, no_place, tmp_path / "target")
    out, err = capfd.readouterr()
    assert status in (1, 2)
    assert str(no_place) in err or (command.startswith("storage info") and str(no_place) in out)
    assert status == 2 or command.startswith(("log export", "snapshot st", "snapshot restore", "storage info"))
    assert "Traceback" not in err
    assert not (tmp_path / "target").exists()


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("what", ["random bytes", "no bytes", "another format", "a record of the future"])
def test_where_the_log_is_not_what_we_know(
    what: str, command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    place = shutil.copytree(NODE, tmp_path / "node-1")
    log = place / "data" / "__cluster_metadata-0" / LOG
    match what:
        case "random bytes":
            log.write_bytes(bytes(range(1, 256)) * 20)
        case "no bytes":
            log.write_bytes(b"")
        case "another format":
            (place / "data" / "meta.properties").write_text("version=7\nnode.id=1\ncluster.id=x\n")
        case _:
            future = build_batch(base_offset=Offset(95), epoch=Epoch(1), timestamp_ms=1, values=[b"\x01\x63\x00\x00"])
            log.write_bytes(log.read_bytes() + future)
    assert called(command, place, tmp_path / "target") in (0, 1)
    out, err = capfd.readouterr()
    assert "Traceback" not in err
    assert out or err


@pytest.fixture
def unreadable() -> Iterator[Path]:
    """Yield a node whose log directory only its owner may open; the test runs as another user if it can."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    place = shutil.copytree(NODE, root / "node-1")
    for beside in (2, 3):
        shutil.copytree(FIXTURES / f"basic/node-{beside}", root / f"node-{beside}")
    for command in COMMANDS:  # imports come first: the unprivileged user cannot read the modules
        called(command, place, root / "first")
        shutil.rmtree(root / "first", ignore_errors=True)
        (root / "first").unlink(missing_ok=True)
    (place / "data").chmod(0o000)
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield place
    finally:
        os.seteuid(user)
        (place / "data").chmod(0o755)
        shutil.rmtree(root)


def test_where_one_may_not_look(unreadable: Path, capfd: pytest.CaptureFixture[str]) -> None:
    capfd.readouterr()
    for command in COMMANDS:
        status = called(command, unreadable, unreadable.parent / "target")
        _, err = capfd.readouterr()
        assert (status, err.count("\n")) == (2, 1), command
        assert err.startswith(f"kraft: {unreadable / 'data'}")
        assert err.endswith("Permission denied: run this as the user that the node runs as\n")


def test_the_rest_is_judged_where_one_node_may_not_be_read(unreadable: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Beside a node that can be, one that cannot is a finding, and no reason to say nothing of the others."""
    capfd.readouterr()

    assert run(["check", str(unreadable.parent), "-o", "json"]) == 1

    (found,) = json.loads(capfd.readouterr().out)["findings"]
    assert (found["kind"], found["node_id"], found["file"]) == ("unreadable_file", 1, str(unreadable))
    assert "Permission denied" in found["meaning"]
    assert "all else is judged without it" in found["meaning"]


@pytest.mark.parametrize("hidden", [".", "data/__cluster_metadata-0", f"data/__cluster_metadata-0/{LOG}"])
def test_what_may_not_be_read_is_not_called_empty(hidden: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The end of an unreadable log is unknown, so no check says that the log lacks records. The node counts."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    for node_id in (1, 2, 3):
        shutil.copytree(NODE.parent / f"node-{node_id}", root / f"node-{node_id}")
    place = root / "node-2" / hidden
    place.chmod(0o000)
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        assert run(["check", str(root), "-o", "json"]) == 1
        found = json.loads(capfd.readouterr().out)["findings"]
        assert run(["check", str(root)]) == 1
    finally:
        os.seteuid(user)
        place.chmod(0o755)
        shutil.rmtree(root)
    assert [(one["kind"], one["node_id"]) for one in found] == [("unreadable_file", 2)]
    verdict = capfd.readouterr().out.splitlines()[-1]
    counted = "3 nodes" if hidden.endswith(LOG) else "3 nodes, 1 of which could not be read"
    assert verdict.startswith(f"1 error in {counted}; at least all before offset ")


def test_one_file_that_may_not_be_read_is_a_finding(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    place = shutil.copytree(NODE, root / "node-1")
    log = place / "data" / "__cluster_metadata-0" / LOG
    log.chmod(0o000)
    user = os.geteuid()
    assert run(["check", str(NODE)]) == 0
    capfd.readouterr()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        assert run(["check", str(place)]) == 1
    finally:
        os.seteuid(user)
        shutil.rmtree(root)
    said = capfd.readouterr().out
    assert f"unreadable_file: node 1, {log}" in said
    headings = [line for line in said.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Files could not be read, and nothing is known of what they hold:"]


@pytest.fixture
def closed_identity() -> Iterator[Path]:
    """Yield a node whose meta.properties only its owner may read; the test runs as another user if it can."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    node = shutil.copytree(NODE, root / "node-1")
    for command in ("check PLACE", "storage info PLACE"):  # imports first: the unprivileged user cannot read modules
        called(command, node, root)
    (node / "data" / "meta.properties").chmod(0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield node
    finally:
        os.seteuid(user)
        shutil.rmtree(root)


def test_a_closed_meta_properties_is_a_matter_of_permissions(
    closed_identity: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    capfd.readouterr()
    path = closed_identity / "data" / "meta.properties"

    assert run(["check", str(closed_identity), "-o", "json"]) == 1
    (found,) = json.loads(capfd.readouterr().out)["findings"]
    assert (found["kind"], found["file"]) == ("unreadable_file", str(path))
    assert found["advice"].startswith("run this as the user that the node runs as")

    assert run(["storage", "info", str(closed_identity), "-o", "json"]) == 1
    (row,) = json.loads(capfd.readouterr().out)["directories"]
    assert row["problem"] == f"{path}: Permission denied: run this as the user that the node runs as"
