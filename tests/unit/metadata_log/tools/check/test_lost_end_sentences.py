"""Sentences on a log that lost its end: no command denies what it proves itself, or what another one says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metadata_log.directory import CommittedState, write_committed_state
from metadata_log.files.os_files import OsFiles
from metadata_log.offsets import Offset
from quorum.cli.main import run
from tests.support.lost_end import END, NODE_1, NODE_2, lost_end_nodes, metadata_of


@pytest.fixture
def nodes(tmp_path: Path) -> Path:
    return lost_end_nodes(tmp_path)


def test_inspect_does_not_deny_what_it_proves(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = metadata_of(nodes / "node-3")
    for name in ("00000000000000000000.log", "leader-epoch-checkpoint"):
        (whole / name).write_bytes((metadata_of(nodes / "node-2") / name).read_bytes())
    for name in whole.glob("*index"):
        name.unlink()

    run(["recover", "inspect", *(str(nodes / f"node-{node}" / "data") for node in (1, 2, 3))])

    said = capsys.readouterr().out
    assert f"all before offset {NODE_2} was committed" in said
    assert f"loses offsets {END} to {NODE_1} on node 1" in said
    assert "nothing here proves" not in said


def test_truncate_beside_copies_of_all_says_what_they_prove(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["recover", "truncate", "--dir", str(nodes / "node-1" / "data"), "--to", str(END)]
    words += [word for node in (2, 3, 11, 12) for word in ("--copy", str(nodes / f"node-{node}" / "data"))]

    assert run([*words, "--accept-data-loss", "--timeout", "1"]) == 0

    said = capsys.readouterr().out
    assert "nothing here proves" not in said
    assert "WARNING: what is cut was committed: that was accepted" in said


@pytest.mark.parametrize("words", ["log hash", "storage info", "log dump", "log timeline"])
def test_what_holds_no_copy_against_another_denies_nothing(
    words: str, nodes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run([*words.split(), *(str(nodes / f"node-{node}" / "data") for node in (1, 2, 3, 11, 12))])

    said = " ".join("".join(capsys.readouterr()).split())
    assert "nothing here proves" not in said
    assert "kraft check" in said


def test_the_note_stands_under_no_heading_of_damage(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(nodes / "node-1")]) == 0

    said = capsys.readouterr().out
    assert "How the log ends:" in said
    assert "damaged" not in said
    assert run(["check", *map(str, sorted(nodes.iterdir()))]) == 1
    assert "The log's bytes are damaged:" in capsys.readouterr().out


def test_storage_info_says_what_a_start_says(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    disk = nodes / "node-1" / "data"
    said = f"the log ends at offset {END}, but {NODE_1:020}.snapshot proves that it reached {NODE_1}"

    assert run(["storage", "info", str(disk)]) == 0
    assert said in capsys.readouterr().err
    state = CommittedState(high_watermark=Offset(NODE_1))
    write_committed_state(OsFiles(), str(metadata_of(nodes / "node-1")), state)
    assert run(["storage", "info", str(disk), "-o", "json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)["directories"]
    assert row["problem"].startswith(said)
    assert run(["storage", "info", str(nodes / "node-3" / "data")]) == 0
    assert "the log ends" not in capsys.readouterr().err
