"""A symbolic link that leads to itself is no absent file: each command names it, the reason, and what to do."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.called import Ran
from tests.support.image_logs import FIXTURES

METADATA = "__cluster_metadata-0"
COMMANDS = [
    ["check", "NODE", "OTHER"], ["check", "PLACE"], ["log", "verify", "NODE"], ["log", "diff", "NODE", "OTHER"],
    ["recover", "inspect", "DATA", "OTHER/data"], ["storage", "info", "DATA"], ["storage", "audit", "DATA"],
    ["log", "dump", "NODE"], ["log", "export", "NODE", "OUT"], ["shell", "NODE", "ls", "/image"],
]  # fmt: skip


def looped(place: Path, name: str) -> Path:
    """Make two nodes, and put a link to itself in place of what is at `name` in the first."""
    for node in ("node-1", "node-2"):
        shutil.copytree(FIXTURES / "basic" / node, place / node, copy_function=shutil.copyfile)
    link = place / "node-1" / name
    shutil.rmtree(link) if link.is_dir() else link.unlink()
    link.symlink_to(link.name)
    return link


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("name", ["data", f"data/{METADATA}"])
def test_a_looped_directory_is_named_with_the_reason(ran: Ran, tmp_path: Path, name: str, words: list[str]) -> None:
    link = looped(tmp_path, name)
    places = {
        "NODE": tmp_path / "node-1", "DATA": tmp_path / "node-1" / "data", "OTHER": tmp_path / "node-2",
        "OTHER/data": tmp_path / "node-2" / "data", "PLACE": tmp_path, "OUT": tmp_path / "out",
    }  # fmt: skip
    status, out, err = ran(*(str(places.get(word, word)) for word in words))
    said = out + err
    assert status in (1, 2)
    assert str(link) in said
    assert "Too many levels of symbolic links" in said or "it is a link" in said
    assert "unexpected error" not in said
    assert "does not exist" not in said
    assert "holds no metadata log" not in said


def test_a_looped_file_of_identity_is_no_missing_one(ran: Ran, tmp_path: Path) -> None:
    looped(tmp_path, "data/meta.properties")
    status, out, _ = ran("check", str(tmp_path))
    assert status == 1
    assert "unreadable_file" in out
    assert "not_formatted" not in out


def test_what_to_do_is_said(ran: Ran, tmp_path: Path) -> None:
    looped(tmp_path, "data")
    assert "put the file or the directory itself in its place" in ran("log", "verify", str(tmp_path / "node-1"))[2]


def test_an_odd_link_beside_a_disk_hides_nothing(ran: Ran, tmp_path: Path) -> None:
    looped(tmp_path, "server.properties")
    status, out, _ = ran("log", "verify", str(tmp_path / "node-1"))
    assert (status, "Nothing is wrong" in out) == (0, True)


def test_a_looped_bootstrap_checkpoint_is_a_finding(ran: Ran, tmp_path: Path) -> None:
    link = looped(tmp_path, "data/bootstrap.checkpoint")
    status, out, err = ran("check", str(tmp_path))
    assert (status, err) == (1, "")
    assert f"unreadable_file: node 1, {link}" in out
    assert "node 2" in out
