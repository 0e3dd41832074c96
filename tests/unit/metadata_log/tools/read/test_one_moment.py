"""A directory as of one moment: what is appended later is not seen, and what is removed meanwhile is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import read_file, replace_file
from metadata_log.tools.read.consistent_read import OneMoment, read_at_one_moment

LOG, CHECKPOINT = "00000000000000000000.log", "00000000000000000007-0000000001.checkpoint"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name, data in ((LOG, b"abc"), (CHECKPOINT, b"image"), ("quorum-state", b"epoch 1")):
        (tmp_path / name).write_bytes(data)
    return tmp_path


def test_it_ends_where_it_ended(directory: Path) -> None:
    moment = OneMoment(OsFiles(), str(directory))
    with (directory / LOG).open("ab") as log:
        log.write(b"def")
    replace_file(OsFiles(), str(directory / "quorum-state"), b"epoch 2")
    (directory / "00000000000000000006.log").write_bytes(b"new")
    assert read_file(moment, str(directory / LOG)) == b"abc"
    handle = moment.open(str(directory / LOG), read_only=True)
    assert (handle.size(), handle.pread(9, 1), handle.pread(9, 5)) == (3, b"bc", b"")
    handle.close()
    assert read_file(moment, str(directory / "quorum-state")) == b"epoch 1"
    assert moment.listdir(str(directory)) == [LOG, CHECKPOINT, "quorum-state"]
    assert not moment.exists(str(directory / "00000000000000000006.log"))
    assert moment.is_still_there()


@pytest.mark.parametrize("name", [LOG, CHECKPOINT])
def test_what_is_removed_is_noticed(directory: Path, name: str) -> None:
    moment = OneMoment(OsFiles(), str(directory))
    (directory / name).unlink()
    assert not moment.is_still_there()


def test_a_cut_is_noticed(directory: Path) -> None:
    moment = OneMoment(OsFiles(), str(directory))
    (directory / LOG).write_bytes(b"ab")
    assert not moment.is_still_there()


def test_what_vanishes_while_it_is_read_is_read_again(directory: Path) -> None:
    def read(moment: OneMoment) -> bytes:
        (directory / CHECKPOINT).unlink(missing_ok=True)
        return b"".join(read_file(moment, str(directory / name)) for name in moment.names)

    assert read_at_one_moment(OsFiles(), str(directory), read) == b"abcepoch 1"


def test_what_never_stays_is_an_error(directory: Path) -> None:
    def read(moment: OneMoment) -> None:
        data = (directory / LOG).read_bytes()
        (directory / LOG).write_bytes(data[:-1] or b"abc" * 9)

    (directory / LOG).write_bytes(b"a" * 99)
    with pytest.raises(OSError, match="again and again"):
        read_at_one_moment(OsFiles(), str(directory), read)


def test_nothing_is_written_through_it(directory: Path) -> None:
    moment, path = OneMoment(OsFiles(), str(directory)), str(directory / LOG)
    handle = moment.open(path, read_only=True)
    for write in (
        lambda: moment.open(path),
        lambda: moment.rename(path, f"{path}.old"),
        lambda: moment.unlink(path),
        lambda: moment.lock(path),
        lambda: handle.pwrite(b"x", 0),
        lambda: handle.truncate(0),
    ):
        with pytest.raises(OSError, match="Read-only"):
            write()
    handle.close()
    assert (directory / LOG).read_bytes() == b"abc"
