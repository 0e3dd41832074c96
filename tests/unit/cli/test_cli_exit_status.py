"""One table of exit statuses for the whole toolkit: 0 fine, 1 something is wrong in the data, 2 wrong use.

docs/toolkit.md has the same table.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from quorum.cli.main import run
from tests.support.fixture_files import FIXTURES

LOG: Final = "00000000000000000000.log"
NODE: Final = FIXTURES / "basic" / "node-1"
OTHER: Final = FIXTURES / "basic" / "node-2"
COMMANDS: Final = {
    "dump": "log dump PLACE",
    "dump as rows": "log dump PLACE -o jsonl",
    "dump as a table": "log dump PLACE -o arrow",
    "verify": "log verify PLACE",
    "diff": f"log diff PLACE {OTHER}",
    "hash": "log hash PLACE",
    "timeline": "log timeline PLACE",
    "export": "log export PLACE TARGET",
    "shell": "shell PLACE tree /quorum",
    "check": "check PLACE",
    "storage info": "storage info PLACE",
    "storage audit": "storage audit PLACE",
    "features check": "features check PLACE --target 4.3",
    "snapshot save": "snapshot save PLACE TARGET",
    "snapshot status": "snapshot status PLACE",
    "snapshot restore": "snapshot restore PLACE TARGET --node-id 1",
    "analyze": "analyze PLACE",
}
MINDING_CTRL_C: Final = """
import signal
from quorum.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # what is started in the background ignores it
main()
"""
OF_A_BACKUP: Final = ("snapshot status", "snapshot restore")
WRONG_OPTIONS: Final = (
    "log dump PLACE -o nonsense",
    "log dump PLACE --as 1.0",
    "log dump PLACE --from -1",
    "log dump PLACE --type nonsense",
    "log dump PLACE --follow -o json",
    "log verify PLACE -o nonsense",
    "log verify PLACE -o json -o table",
    "log dump PLACE --from 1 --from=2",
    "log diff PLACE",
    "log hash PLACE --at soon",
    "log timeline PLACE --gap 0",
    "log timeline PLACE --picture there.bmp",
    "log export PLACE TARGET -o nonsense",
    "log export PLACE TARGET --live nowhere",
    "shell PLACE nonsense",
    "shell PLACE cat",
    "shell PLACE --at never ls",
    "check PLACE -o nonsense",
    "storage info PLACE --config nowhere.properties",
    "storage info",
    "storage audit PLACE --undo --quarantine",
    "features check PLACE",
    "features check PLACE --target 9.9",
    "snapshot save PLACE TARGET --at -1",
    "snapshot restore PLACE TARGET",
    "analyze PLACE -o nonsense",
)


def empty(root: Path) -> Path:
    (root / "empty").mkdir()
    return root / "empty"


def foreign(root: Path) -> Path:
    (root / "photos" / "2026").mkdir(parents=True)
    (root / "photos" / "2026" / "holiday.jpg").write_bytes(b"\xff\xd8")
    return root / "photos"


def rubbish(root: Path) -> Path:
    (root / "notes.txt").write_text("hello world" * 99)
    return root / "notes.txt"


def pipe(root: Path) -> Path:
    os.mkfifo(root / LOG)
    return root / LOG


def a_log(root: Path) -> Path:
    place = shutil.copytree(NODE, root / "node-1")
    return place / "data" / "__cluster_metadata-0" / LOG


def damaged(root: Path) -> Path:
    log = a_log(root)
    content = bytearray(log.read_bytes())
    content[3000] ^= 1
    log.write_bytes(content)
    return root / "node-1"


def pipe_for_a_segment(root: Path) -> Path:
    log = a_log(root)
    log.unlink()
    os.mkfifo(log)
    return root / "node-1"


def called(command: str, place: Path, root: Path) -> int:
    words = [{"PLACE": str(place), "TARGET": str(root / "target")}.get(word, word) for word in command.split()]
    return run(words)


@pytest.mark.parametrize("make", [empty, foreign, rubbish, pipe, lambda root: root / "nowhere"])
@pytest.mark.parametrize("name", COMMANDS)
def test_where_there_is_no_log_it_is_wrong_use(
    name: str, make: Callable[[Path], Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    place = make(tmp_path)
    status = called(COMMANDS[name], place, tmp_path)
    out, err = capfd.readouterr()
    assert "Traceback" not in err
    assert str(place) in err + out
    if name == "storage info" and place.is_dir():  # an unformatted directory is what it finds
        assert (status, "it is not formatted" in out) == (1, True)
        return
    assert (status, out) == (2, "")
    assert not (tmp_path / "target").exists()


@pytest.mark.parametrize("command", WRONG_OPTIONS)
def test_a_wrong_option_is_wrong_use(command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert called(command, NODE, tmp_path) == 2
    _, err = capfd.readouterr()
    assert err
    assert "Traceback" not in err


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in (*OF_A_BACKUP, "analyze")])
def test_damage_is_something_found(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    place = damaged(tmp_path)
    status = called(COMMANDS[name], place, tmp_path)
    out, err = capfd.readouterr()
    assert "Traceback" not in err
    if name == "storage info":  # it looks at the small files only
        assert status == 0
        return
    assert status == 1
    assert LOG in err or "position" in out or name in ("diff", "storage audit")


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in (*OF_A_BACKUP, "analyze")])
def test_what_is_well_is_well(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert called(COMMANDS[name], shutil.copytree(NODE, tmp_path / "node-1"), tmp_path) == 0
    _, err = capfd.readouterr()
    assert err == ""


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in OF_A_BACKUP])
def test_a_pipe_for_a_segment_is_never_waited_on(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status = called(COMMANDS[name], pipe_for_a_segment(tmp_path), tmp_path)
    out, err = capfd.readouterr()
    assert "Traceback" not in err
    if name == "storage info":
        return
    assert status in (1, 2)
    assert LOG in err + out or name in ("diff", "storage audit")  # these name the log, and kraft log verify


@pytest.mark.parametrize("words", [["shell", str(NODE)], ["log", "dump", str(NODE), "--follow"]])
def test_ctrl_c_ends_what_waits(words: list[str]) -> None:
    """For the next command of a pipe, which has had its answer at once; for the next batch."""
    started = subprocess.Popen(
        [sys.executable, "-c", MINDING_CTRL_C, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert started.stdin is not None
    assert started.stdout is not None
    started.stdin.write(b"pwd\n")
    started.stdin.flush()
    assert started.stdout.readline()
    started.send_signal(signal.SIGINT)
    started.stdout.read()
    assert started.wait() == 130
    started.stdin.close()
    started.stdout.close()


def test_a_damaged_backup_is_something_found(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    backup = tmp_path / "cluster.backup"
    assert run(["snapshot", "save", str(NODE), str(backup)]) == 0
    content = bytearray(backup.read_bytes())
    content[content.index(b"orders-3")] ^= 1
    backup.write_bytes(content)
    for name in OF_A_BACKUP:
        assert called(COMMANDS[name], backup, tmp_path) == 1
        assert f"{backup} is damaged" in capfd.readouterr().err
