"""Both file systems keep the port's promises; the simulated one also breaks what was never promised."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import Files, read_file, replace_file
from metadata_log.files.simulated_files import SimulatedCrash, SimulatedFiles

KINDS: list[Callable[[], Files]] = [OsFiles, SimulatedFiles]


@pytest.fixture(params=KINDS, ids=["os", "simulated"])
def files(request: pytest.FixtureRequest) -> Files:
    made: Files = request.param()
    return made


@pytest.fixture
def root(files: Files, tmp_path: Path) -> str:
    files.mkdirs(f"{tmp_path}/made/below")
    return f"{tmp_path}/made"


def test_bytes_are_written_where_they_are_asked_for(files: Files, root: str) -> None:
    handle = files.open(f"{root}/f", create=True)
    handle.pwrite(b"abc", 2)
    handle.pwrite(memoryview(b"XY"), 3)
    handle.fdatasync()
    assert (handle.size(), handle.pread(10, 0), handle.pread(2, 2), handle.pread(9, 5)) == (5, b"\0\0aXY", b"aX", b"")
    handle.truncate(3)
    handle.truncate(6)
    assert handle.pread(10, 0) == b"\0\0a\0\0\0"
    handle.close()


def test_names(files: Files, root: str) -> None:
    files.open(f"{root}/f", create=True).close()
    assert files.listdir(root) == ["below", "f"]
    assert (files.is_dir(root), files.is_dir(f"{root}/f"), files.is_dir(f"{root}/none")) == (True, False, False)
    with pytest.raises(FileExistsError):
        files.open(f"{root}/f", create=True, exclusive=True)
    files.open(f"{root}/g", create=True, exclusive=True).close()
    files.rename(f"{root}/f", f"{root}/g")
    files.rename(f"{root}/g", f"{root}/below/h")
    files.fsync_dir(root)
    assert (files.listdir(root), files.listdir(f"{root}/below")) == (["below"], ["h"])
    files.rename(f"{root}/below", f"{root}/moved")
    assert files.exists(f"{root}/moved/h")
    assert not files.exists(f"{root}/below/h")
    with pytest.raises(OSError, match="not empty"):
        files.rmdir(f"{root}/moved")
    files.unlink(f"{root}/moved/h")
    files.rmdir(f"{root}/moved")
    assert files.listdir(root) == []


def test_what_is_not_there(files: Files, root: str) -> None:
    for call in (files.open, files.unlink, files.listdir):
        with pytest.raises(FileNotFoundError):
            call(f"{root}/none")
    with pytest.raises(FileNotFoundError):
        files.rename(f"{root}/none", f"{root}/other")
    with pytest.raises(FileNotFoundError):
        files.open(f"{root}/none/f", create=True)
    assert not files.exists(f"{root}/none/f")


def test_small_files_are_replaced_whole(files: Files, root: str) -> None:
    replace_file(files, f"{root}/f", b"a longer one")
    replace_file(files, f"{root}/f", b"short")
    assert read_file(files, f"{root}/f") == b"short"
    assert files.listdir(root) == ["below", "f"]


def test_large_reads_and_writes_of_the_system(tmp_path: Path) -> None:
    handle = OsFiles().open(str(tmp_path / "f"), create=True)
    data = bytes(range(256)) * 40_000
    handle.pwrite(bytearray(data), 0)
    assert handle.pread(len(data) + 5, 0) == data
    handle.close()


def test_a_directory_without_write_permission_is_refused_by_the_system(tmp_path: Path) -> None:
    """Opened for reading only, a handle cannot write: what a read-only mount or a wrong owner comes to."""
    (tmp_path / "f").write_bytes(b"x")
    handle = OsFiles().open(str(tmp_path / "f"), read_only=True)
    with pytest.raises(OSError, match="Bad file descriptor"):
        handle.pwrite(b"y", 0)
    handle.close()


def simulated() -> SimulatedFiles:
    files = SimulatedFiles()
    files.mkdirs("/d")
    return files


def states_after_crash(do: Callable[[SimulatedFiles], None]) -> set[bytes | None]:
    """Return the possible contents of `/d/f` after a crash, over many draws; None if it is gone."""
    found: set[bytes | None] = set()
    for draw in range(300):
        files = simulated()
        do(files)
        files.crash(draw)
        found.add(files.content("/d/f") if files.exists("/d/f") else None)
    return found


def test_an_unsynced_name_may_be_lost_with_its_synced_bytes() -> None:
    def do(files: SimulatedFiles) -> None:
        handle = files.open("/d/f", create=True)
        handle.pwrite(b"abc", 0)
        handle.fdatasync()

    assert states_after_crash(do) == {None, b"abc"}


def test_unsynced_bytes_are_lost_torn_or_kept_in_order() -> None:
    def do(files: SimulatedFiles) -> None:
        handle = files.open("/d/f", create=True)
        files.fsync_dir("/d")
        handle.pwrite(b"abc", 0)
        handle.pwrite(b"de", 3)

    assert states_after_crash(do) == {b"", b"a", b"ab", b"abc", b"abcd", b"abcde"}


def test_a_rename_without_a_directory_sync_may_be_lost() -> None:
    def do(files: SimulatedFiles) -> None:
        replace_file(files, "/d/f", b"old")
        handle = files.open("/d/g", create=True)
        handle.pwrite(b"new", 0)
        handle.fdatasync()
        files.rename("/d/g", "/d/f")

    assert states_after_crash(do) == {b"old", b"new"}


def test_an_unsynced_truncation_may_come_back() -> None:
    def do(files: SimulatedFiles) -> None:
        replace_file(files, "/d/f", b"long")
        files.open("/d/f").truncate(1)

    assert states_after_crash(do) == {b"long", b"l"}


def test_the_sync_after_a_failed_one_lies() -> None:
    def do(files: SimulatedFiles) -> None:
        replace_file(files, "/d/f", b"")
        handle = files.open("/d/f")
        handle.pwrite(b"abc", 0)
        files.fail_next_fsync("/d/f")
        with pytest.raises(OSError, match="injected"):
            handle.fdatasync()
        handle.fdatasync()
        assert handle.pread(9, 0) == b"abc"

    assert states_after_crash(do) == {b""}


def test_a_full_disk_takes_what_fits_and_gives_back_what_is_freed() -> None:
    files = simulated()
    files.free_bytes = 4
    handle = files.open("/d/f", create=True)
    handle.pwrite(b"abc", 0)
    handle.pwrite(b"xyz", 0)
    with pytest.raises(OSError, match="no space left") as caught:
        handle.pwrite(b"de", 3)
    assert (caught.value.errno, files.content("/d/f"), files.free_bytes) == (errno.ENOSPC, b"xyzd", 0)
    handle.truncate(1)
    assert files.free_bytes == 3


def test_rot_is_for_ever() -> None:
    files = simulated()
    replace_file(files, "/d/f", b"abc")
    files.rot("/d/f", 1, 0xFF)
    files.crash(0)
    assert files.content("/d/f") == b"a\x9dc"


def test_a_handle_of_before_the_crash_is_void() -> None:
    files = simulated()
    handle = files.open("/d/f", create=True)
    files.crash(0)
    for call in (handle.size, handle.fdatasync, lambda: handle.pread(1, 0), lambda: handle.pwrite(b"x", 0)):
        with pytest.raises(OSError, match="opened before the crash"):
            call()


def test_a_crash_is_met_in_the_call_that_was_asked_for() -> None:
    files = simulated()
    handle = files.open("/d/f", create=True)
    files.crash_at = files.changes + 2
    handle.pwrite(b"a", 0)
    with pytest.raises(SimulatedCrash):
        handle.fdatasync()
