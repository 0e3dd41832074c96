"""Links that another user planted in a directory: no tool copies what they lead to, or writes there."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from metadata_log.files.own_files import OwnFiles, require_own_directory
from quorum.cli.main import run
from tests.support.image_logs import FIXTURES

SOURCE = FIXTURES / "every-record" / "node-1" / "data"
SEGMENT = "__cluster_metadata-0/00000000000000000000.log"
PLANTED = [SEGMENT, "__cluster_metadata-0/00000000000000000003-0000000001.checkpoint", "meta.properties"]
SECRET = "root:$6$secret:19000:0:99999:7:::\n"


@pytest.fixture
def node(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text(SECRET)
    return Path(shutil.copytree(SOURCE, tmp_path / "data", copy_function=shutil.copyfile))


def _plant(node: Path, name: str) -> Path:
    link = node / name
    link.unlink(missing_ok=True)
    link.symlink_to(node.parent / "secret")
    return link


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize("options", [[], ["-o", "jsonl"]], ids=["plain", "decoded"])
def test_no_export_copies_what_a_link_leads_to(
    name: str, options: list[str], node: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    link = _plant(node, name)
    assert run(["log", "export", str(node), str(tmp_path / "out"), *options]) == 2
    said = capsys.readouterr()
    assert said.err == (
        f"kraft: {link}: it is a link, which may lead to a file of another user: put the file itself in its place, or "
        "remove the link\n"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "secret"]


def test_no_backup_reads_what_a_link_leads_to(node: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It would take a log that is another cluster's, and that its author may not read."""
    (node / SEGMENT).rename(tmp_path / "secret")
    link = _plant(node, SEGMENT)
    assert run(["snapshot", "save", str(node), str(tmp_path / "backup")]) == 2
    assert f"{link}: it is a link" in capsys.readouterr().err
    assert not (tmp_path / "backup").exists()


@pytest.mark.parametrize(
    "name",
    [
        "__cluster_metadata-0/leader-epoch-checkpoint",
        "__cluster_metadata-0/leader-epoch-checkpoint.recover-new",
        "kraft-recover.journal.tmp",
        ".lock",
    ],
)
def test_no_repair_copies_or_writes_where_a_link_leads_to(name: str, node: Path, tmp_path: Path) -> None:
    (node / "__cluster_metadata-0" / "leader-epoch-checkpoint").write_text("0\n1\n1 7\n")
    _plant(node, name)
    run(["recover", "rebuild-indexes", "--dir", str(node), "--apply"])  # a file left by a repair is removed first
    assert (tmp_path / "secret").read_text() == SECRET
    copied = [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_symlink()]
    assert [path for path in copied if SECRET.encode() in path.read_bytes()] == [tmp_path / "secret"]


def _found(path: Path, **changes: int) -> os.stat_result:
    """The status of a file with some fields changed."""
    found = os.stat(path)
    fields = {name: getattr(found, name) for name in _FIELDS} | changes
    return os.stat_result([fields[name] for name in _FIELDS])


_FIELDS = (
    "st_mode", "st_ino", "st_dev", "st_nlink", "st_uid", "st_gid", "st_size", "st_atime", "st_mtime", "st_ctime",
)  # fmt: skip


def test_a_file_must_be_its_directorys_own(node: Path) -> None:
    """A second name of another user's file is no symbolic link; pods of many users share one group."""
    path, other = node / SEGMENT, os.stat(node).st_uid + 1
    path.parent.chmod(0o755)
    OwnFiles().check(_found(path), str(path))
    for foreign in (_found(path, st_uid=other), _found(path, st_uid=other, st_nlink=2)):
        with pytest.raises(PermissionError, match=f"it belongs to user {other}"):
            OwnFiles().check(foreign, str(path))
    OwnFiles(strict=False).check(_found(path, st_uid=other, st_nlink=1), str(path))
    with pytest.raises(PermissionError):
        OwnFiles(strict=False).check(_found(path, st_uid=other, st_nlink=2), str(path))
    path.parent.chmod(0o775)
    OwnFiles().check(_found(path, st_uid=other, st_gid=os.stat(path.parent).st_gid), str(path))
    with pytest.raises(PermissionError):
        OwnFiles().check(_found(path, st_uid=other, st_gid=os.stat(path.parent).st_gid + 1), str(path))


def test_an_own_link_to_the_log_on_another_disk_is_followed(node: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    (node / "__cluster_metadata-0").rename(disk)
    (node / "__cluster_metadata-0").symlink_to(disk)
    require_own_directory(str(node / "__cluster_metadata-0"))
    assert run(["log", "export", str(node), str(tmp_path / "out")]) == 0
    assert stat.S_ISREG((tmp_path / "out" / Path(SEGMENT).name).lstat().st_mode)
