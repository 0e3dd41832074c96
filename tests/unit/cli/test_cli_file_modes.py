"""Modes of all that is written: a log holds credentials, so no other user of the host may read a part or a copy."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import replace_file
from metadata_log.storage.file_log import open_log
from quorum.cli.main import run
from tests.support.image_logs import FIXTURES
from tests.support.umask import umask

SOURCE = FIXTURES / "every-record" / "node-1" / "data"
UMASKS = [0o000, 0o022, 0o077]


def modes_below(path: Path) -> tuple[set[int], set[int]]:
    """Return the modes of the directories and of the files at and below a path."""
    found = [path, *path.rglob("*")] if path.is_dir() else [path]
    modes = [(stat.S_IMODE(one.stat().st_mode) & 0o777, one.is_dir()) for one in found]
    return {mode for mode, is_dir in modes if is_dir}, {mode for mode, is_dir in modes if not is_dir}


def _export(place: Path, *options: str) -> Path:
    assert run(["log", "export", str(SOURCE), str(place / "out"), *options]) == 0
    return place / "out"


def _decoded(place: Path, *options: str) -> Path:
    return _export(place, "-o", "jsonl", *options)


def _parquet(place: Path, *options: str) -> Path:
    return _export(place, "-o", "parquet", *options)


def _backup(place: Path, *options: str) -> Path:
    assert run(["snapshot", "save", str(SOURCE), str(place / "backup"), *options]) == 0
    return place / "backup"


def _restore(place: Path, *options: str) -> Path:
    backup = _backup(place)
    assert run(["snapshot", "restore", str(backup), str(place / "new" / "data"), "--node-id", "1", *options]) == 0
    return place / "new" / "data"


COPIES = [_export, _decoded, _parquet, _backup, _restore]


@pytest.mark.parametrize("mask", UMASKS, ids=oct)
@pytest.mark.parametrize("write", COPIES, ids=lambda write: write.__name__.strip("_"))
def test_a_copy_is_its_owners_alone(write: Callable[..., Path], mask: int, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with umask(mask):
        directories, files = modes_below(write(tmp_path))
    assert (directories | {0o700}, files) == ({0o700}, {0o600})


@pytest.mark.parametrize("write", COPIES, ids=lambda write: write.__name__.strip("_"))
def test_a_group_may_read_a_copy_where_that_is_asked_for(write: Callable[..., Path], tmp_path: Path) -> None:
    with umask(0o077):
        directories, files = modes_below(write(tmp_path, "--group-readable"))
    assert (directories | {0o750}, files) == ({0o750}, {0o640})


@pytest.mark.parametrize("mask", UMASKS, ids=oct)
def test_a_record_of_a_repair_is_its_owners_alone(mask: int, tmp_path: Path) -> None:
    node = Path(shutil.copytree(SOURCE, tmp_path / "data", copy_function=shutil.copyfile))
    (node / "__cluster_metadata-0" / "leader-epoch-checkpoint").write_text("0\n1\n1 7\n")
    with umask(mask):
        assert run(["recover", "rebuild-indexes", "--dir", str(node), "--apply"]) == 0
    (work,) = (tmp_path / "data.recovery").iterdir()
    assert stat.S_IMODE(work.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in work.glob("audit*.json")} == {0o600}


def _write_as_a_node(directory: Path) -> Path:
    """Make all kinds of files that a node makes: directories, segments, indexes, a file that is replaced, a lock."""
    files, data = OsFiles(), directory / "data" / "__cluster_metadata-0"
    open_log(files, str(data), recover=True)
    replace_file(files, f"{data}/quorum-state", b"{}")
    files.lock(f"{directory}/data/.lock").release()
    assert len(list((directory / "data").rglob("*"))) >= 4
    return directory / "data"


@pytest.mark.parametrize(
    ("mode", "mask", "expected"),
    [
        (0o700, 0o000, (0o700, 0o600)),
        (0o700, 0o022, (0o700, 0o600)),
        (0o755, 0o022, (0o750, 0o640)),
        (0o755, 0o077, (0o700, 0o600)),
        (0o777, 0o000, (0o770, 0o660)),
        (0o770, 0o022, (0o770, 0o660)),
        (0o770, 0o077, (0o770, 0o660)),
        (0o2770, 0o077, (0o770, 0o660)),
    ],
)
def test_data_is_closed_to_others_and_shared_as_its_directory_is(
    mode: int, mask: int, expected: tuple[int, int], tmp_path: Path
) -> None:
    """Pods of one cluster may have a user each and one group: the next one must be able to write what one made."""
    place = tmp_path / "volume"
    place.mkdir()
    place.chmod(mode)
    with umask(mask):
        directories, files = modes_below(_write_as_a_node(place))
    assert (directories, files) == ({expected[0]}, {expected[1]})


@pytest.mark.parametrize("mask", UMASKS, ids=oct)
def test_a_formatted_directory_is_closed_to_others(mask: int, tmp_path: Path) -> None:
    config = tmp_path / "node.properties"
    config.write_text(
        f"process.roles=controller\nnode.id=1\nlog.dirs={tmp_path}/volume/data\ncontroller.listener.names=CONTROLLER,GRPC\n"
        "listeners=CONTROLLER://localhost:19093,GRPC://localhost:19094\n"
    )
    with umask(mask):
        words = ["storage", "format", "--config", str(config), "--cluster-id", "MkU3OEVBNTcwNTJENDM2Qg", "--standalone"]
        assert run(words) == 0
    directories, files = modes_below(tmp_path / "volume")
    assert not {mode & 0o007 for mode in directories | files} - {0}
