"""Repairs of directories that were moved or copied: they are finished and taken back where they are now."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from metadata_log.directory.lock import DirectoryLock
from metadata_log.files.os_files import OsFiles
from metadata_log.files.simulated_files import SimulatedCrash, SimulatedFiles
from quorum.cli.main import run
from quorum.recovery.journal.carry_out import finish
from quorum.recovery.journal.errors import RecoveryError
from quorum.recovery.journal.repair_record import JOURNAL_FILE
from tests.support.misuses import NO_WAIT, OTHER_CLUSTER, Bench, contents
from tests.support.repair_cases import interrupted_on_disk, standalone, torn_survivor
from tests.support.repairs import leftovers, repair, tree


def apply_to(path: Path) -> int:
    return run(["recover", "standalone", "--dir", str(path), "--missing", "rest", "--apply", *NO_WAIT])


def undo_at(path: Path, words: Sequence[str] = ()) -> int:
    return run(["recover", "undo", "--dir", str(path), "--apply", *words])


def test_a_copy_is_finished_and_its_original_is_left_alone(tmp_path: Path) -> None:
    data, new = interrupted_on_disk(tmp_path)
    copy = tmp_path / "copy"
    shutil.copytree(data, copy)
    before = contents(data) | contents(tmp_path / "data.recovery")
    lock = DirectoryLock(OsFiles(), str(data))
    try:
        assert apply_to(copy) == 0
    finally:
        lock.release()
    assert contents(data) | contents(tmp_path / "data.recovery") == before
    assert tree(OsFiles(), str(copy)) == new
    assert not leftovers(OsFiles(), str(copy))
    assert undo_at(copy) == 0
    assert tree(OsFiles(), str(copy)) == tree(torn_survivor(), "/data")
    assert apply_to(data) == 0
    assert tree(OsFiles(), str(data)) == new


def test_a_moved_directory_is_finished_where_it_is(tmp_path: Path) -> None:
    data, new = interrupted_on_disk(tmp_path)
    moved = data.rename(tmp_path / "moved")
    assert apply_to(moved) == 0
    assert tree(OsFiles(), str(moved)) == new
    assert not data.exists()


def test_another_directory_at_the_old_path_is_left_alone(clusters: Path, tmp_path: Path) -> None:
    data, new = interrupted_on_disk(tmp_path)
    moved = data.rename(tmp_path / "moved")
    Bench(clusters, tmp_path).node("basic", 1).rename(data)
    before = contents(data) | contents(tmp_path / "data.recovery")
    assert apply_to(moved) == 0
    assert tree(OsFiles(), str(moved)) == new
    assert contents(data) | contents(tmp_path / "data.recovery") == before


def test_a_journal_of_another_directory_is_refused(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, _ = interrupted_on_disk(tmp_path)
    other = Bench(clusters, tmp_path).node("basic", 1)
    shutil.copy(data / JOURNAL_FILE, other)
    before = contents(tmp_path)
    assert apply_to(other) == 1
    assert f"is of an interrupted repair of {data}" in capsys.readouterr().err
    assert contents(tmp_path) == before


def test_a_crash_while_a_copy_is_taken_over_loses_nothing() -> None:
    def copied() -> SimulatedFiles:
        files = torn_survivor()
        files.fail_next("rename", path="meta.properties")
        with pytest.raises(RecoveryError):
            repair(files, standalone, "/data")
        files.rename("/data", "/moved")
        files.mkdirs("/data")
        files.fsync_dir("/")
        return files

    whole = torn_survivor()
    repair(whole, standalone, "/data")
    for call in range(1, 200):
        files = copied()
        files.crash_at = files.changes + call
        try:
            finish(files, "/moved")
        except SimulatedCrash:
            files.crash(call * 0x9E3779B97F4A7C15)
            files.calm()
            finish(files, "/moved")
            assert tree(files, "/moved") == tree(whole, "/data"), call
            assert not leftovers(files, "/moved")
        else:
            assert call > 12
            return
    pytest.fail("it never ends")


@pytest.mark.parametrize("how", ["moved with its backup", "by the real path", "by a symbolic link"])
def test_undo_finds_the_backup_at_whatever_path(how: str, clusters: Path, tmp_path: Path) -> None:
    node = Bench(clusters, tmp_path).node("basic", 1)
    before = tree(OsFiles(), str(node))
    link = tmp_path / "link"
    os.symlink(node, link)
    assert apply_to(link if how == "by the real path" else node) == 0
    if how == "moved with its backup":
        (tmp_path / "basic-1.recovery").rename(tmp_path / "b.recovery")
        node = node.rename(tmp_path / "b")
    assert undo_at(link if how == "by a symbolic link" else node) == 0
    assert tree(OsFiles(), str(node)) == before


def test_the_undo_command_that_is_printed_works_in_a_shell(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = Bench(clusters, tmp_path).node("basic", 1).rename(tmp_path / "my data")
    before = tree(OsFiles(), str(node))
    words = ["recover", "standalone", "--dir", str(node), "--missing", "rest", "--work", str(tmp_path / "my backup")]
    assert run([*words, "--apply", *NO_WAIT]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if "to take it back" in line]
    assert run(shlex.split(line.partition(": kraft ")[2])) == 0
    assert tree(OsFiles(), str(node)) == before


def test_undo_says_what_was_undone_already_and_what_is_still_there(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = Bench(clusters, tmp_path).node("basic", 1)
    assert apply_to(node) == 0
    assert run(["recover", "cluster-id", "--dir", str(node), "--to", OTHER_CLUSTER, "--apply", *NO_WAIT]) == 0
    assert undo_at(node) == 0
    assert "an earlier repair remains, `kraft recover standalone`" in capsys.readouterr().out
    assert undo_at(node) == 0
    assert "earlier repair" not in capsys.readouterr().out
    assert undo_at(node) == 1
    assert "already undone at 20" in capsys.readouterr().err


def test_undo_of_one_of_several_names_the_others(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = Bench(clusters, tmp_path)
    one, two = bench.node("basic", 1), bench.node("basic", 2)
    words = ["recover", "voters", "--missing", "rest", "--set", "1@a:1", "--set", "2@b:1", "--apply", *NO_WAIT]
    assert run([*words, "--dir", str(one), "--dir", str(two)]) == 0
    capsys.readouterr()
    assert run(["recover", "undo", "--dir", str(one)]) == 0
    assert f"kraft recover undo --dir {two} --apply" in capsys.readouterr().out
