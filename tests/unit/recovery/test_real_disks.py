"""`kraft recover` on disks that are full or mounted for reading only: it says what to do, and changes nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.misuses import NO_WAIT, Bench, contents
from tests.support.mounts import ROOT_MOUNTS, mounted

pytestmark = [pytest.mark.campaign, ROOT_MOUNTS]


def said_with(mounts: str, *words: object) -> str:
    """Return the output of `kraft recover standalone --apply` with these mounts."""
    command = [sys.executable, "-m", "quorum.cli.main", "recover", "standalone", *map(str, words)]
    command += ["--missing", "rest", "--apply", *NO_WAIT]
    found = subprocess.run(mounted(f'{mounts}; exec "$@"', *command), capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (1, ""), found.stdout + found.stderr
    return found.stderr


def test_no_room_for_the_backup(clusters: Path, tmp_path: Path) -> None:
    node = Bench(clusters, tmp_path).node("basic", 1)
    work = Path(f"{node}.recovery")
    work.mkdir()
    before = contents(tmp_path)
    said = said_with(f"mount -t tmpfs -o size=8k tmpfs {work}", "--dir", node)
    assert f"No space left on device. Nothing was changed in {node}: make room (--work names another place" in said
    assert contents(tmp_path) == before


def test_no_room_in_the_log_directory(clusters: Path, tmp_path: Path) -> None:
    node = Bench(clusters, tmp_path).node("basic", 1)
    full = tmp_path / "full"
    full.mkdir()
    mounts = f"mount -t tmpfs -o size=200k tmpfs {full}; cp -r {node} {full}/data"
    filled = f"head -c 1M /dev/zero > {full}/fill 2>/dev/null || true"
    said = said_with(f"{mounts}; {filled}", "--dir", full / "data", "--work", tmp_path / "work")
    assert f"No space left on device. Nothing was changed in {full}/data: make room" in said


def test_a_directory_that_is_mounted_for_reading_only(clusters: Path, tmp_path: Path) -> None:
    node = Bench(clusters, tmp_path).node("basic", 1)
    said = said_with(f"mount --bind {node} {node}; mount -o remount,ro,bind {node}", "--dir", node)
    assert "Read-only file system. Nothing was changed: mount the file system for writing, and run the command" in said


def test_a_place_for_backups_that_is_mounted_for_reading_only(clusters: Path, tmp_path: Path) -> None:
    node = Bench(clusters, tmp_path).node("basic", 1)
    work = tmp_path / "work"
    work.mkdir()
    before = contents(tmp_path)
    mounts = f"mount --bind {work} {work}; mount -o remount,ro,bind {work}"
    said = said_with(mounts, "--dir", node, "--work", work)
    assert f"Read-only file system. Nothing was changed in {node}: mount the file system for writing" in said
    assert contents(tmp_path) == before
