"""A meta.properties or a directory that cannot be read: each command names it, with the reason and what to do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.support.called import Ran
from tests.support.image_logs import FIXTURES
from tests.support.readers import as_nobody, open_root

METADATA = "__cluster_metadata-0"
COMMANDS = [
    ["check", "NODE", "OTHER"], ["log", "verify", "NODE"], ["log", "verify", "LOG"], ["log", "diff", "NODE", "OTHER"],
    ["storage", "info", "DATA"], ["storage", "audit", "DATA"], ["log", "dump", "NODE"],
    ["log", "export", "NODE", "OUT"], ["shell", "NODE", "ls", "/image"], ["snapshot", "save", "NODE", "OUT"],
    ["log", "hash", "NODE"], ["log", "timeline", "NODE"], ["features", "check", "NODE", "--target", "4.0"],
    ["recover", "inspect", "DATA", "OTHER/data"],
]  # fmt: skip
LOOPED = "a symbolic link leads to itself: put the file or the directory itself in its place"
CLOSED = "run this as the user that the node runs as"


@pytest.fixture
def place() -> Iterator[Path]:
    """A place that all may look into, with two nodes."""
    with open_root() as root:
        for node in ("node-1", "node-2"):
            shutil.copytree(FIXTURES / "basic" / node, root / node, copy_function=shutil.copyfile)
        yield root


def called(place: Path, words: list[str]) -> list[str]:
    """Return the words with the paths in them."""
    node, other = place / "node-1", place / "node-2"
    places = {
        "NODE": node,
        "DATA": node / "data",
        "LOG": node / "data" / METADATA,
        "OTHER": other,
        "OUT": place / "out",
    }
    places["OTHER/data"] = other / "data"
    return [str(places.get(word, word)) for word in words]


def check_named(answer: tuple[int, str, str], path: Path, reason: str, remedy: str) -> None:
    """Check that the command failed without a bug, named the file, and called nothing well."""
    status, out, err = answer
    said = " ".join(f"{out} {err}".split())
    assert status in (1, 2)
    assert "unexpected error" not in err
    assert "Nothing is wrong" not in out
    assert str(path) in said
    assert reason in said
    assert remedy in said
    assert said.count(f"kraft: {path}: ") < 2


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_looped_file_of_identity_is_named(ran: Ran, place: Path, words: list[str]) -> None:
    path = place / "node-1" / "data" / "meta.properties"
    path.unlink()
    path.symlink_to(path.name)
    check_named(ran(*called(place, words)), path, "Too many levels of symbolic links", LOOPED)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("name", ["data/meta.properties", "data"])
def test_what_is_closed_to_this_user_is_named(
    ran: Ran, place: Path, name: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place / "node-1" / name
    monkeypatch.setattr(os, "access", partial(os.access, effective_ids=True))
    ran(*called(place, words))  # an unprivileged user could not import all that this does
    shutil.rmtree(place / "out", ignore_errors=True)
    path.chmod(0)
    with as_nobody():
        answer = ran(*called(place, words))
    path.chmod(0o755)
    inside = path / METADATA if "LOG" in words and path.is_dir() else path
    check_named(answer, inside, "Permission denied", CLOSED)


def test_a_damaged_file_of_identity_is_named(ran: Ran, place: Path) -> None:
    path = place / "node-1" / "data" / "meta.properties"
    path.write_bytes(b"version=1\nnode.id=x\n")
    for words in (["log", "verify", "NODE"], ["log", "diff", "NODE", "OTHER"]):
        status, out, _ = ran(*called(place, words))
        assert status == 1
        assert f"corrupt_file: {path}" in out
