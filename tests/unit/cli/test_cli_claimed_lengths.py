"""Lengths that a file claims and does not have: refused in a sentence, without memory for them."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import iter_batches
from metadata_log.tools.backup.backup import BackupManifest
from quorum.cli.main import run
from tests.support.bounded_kraft import bounded_kraft
from tests.support.image_logs import FIXTURES

SOURCE = FIXTURES / "every-record" / "node-1"
CLAIMED = 60 << 30
CLAIMED_BY_BATCH = 1 << 30


def _members(backup: Path) -> dict[str, bytes]:
    with tarfile.open(backup) as archive:
        return {
            member.name: content.read()
            for member in archive.getmembers()
            if (content := archive.extractfile(member)) is not None
        }


def _header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    member = tarfile.TarInfo(name)
    member.size, member.type = size, kind
    return member.tobuf(tarfile.GNU_FORMAT)


def _padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % tarfile.BLOCKSIZE)


def _sparse(name: str, content: bytes) -> bytes:
    """A member in GNU's sparse form, whose real size is claimed in its header."""
    block = bytearray(_header(name, len(content), tarfile.GNUTYPE_SPARSE))
    block[386:410] = b"%011o\0%011o\0" % (0, len(content))
    block[483:495] = b"\x80" + CLAIMED.to_bytes(11, "big")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + _padded(content)


def _sparse_by_extension(name: str, content: bytes) -> bytes:
    """A member in the sparse form 0.1 of an extended header."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        member.pax_headers = {"GNU.sparse.size": str(CLAIMED), "GNU.sparse.map": f"0,{len(content)}"}
        archive.addfile(member, io.BytesIO(content))
    return target.getvalue()


def _long_name(name: str, content: bytes) -> bytes:
    return _header("././@LongLink", CLAIMED, tarfile.GNUTYPE_LONGNAME) + _padded(content)


def _extension(name: str, content: bytes) -> bytes:
    return _header("././@PaxHeader", CLAIMED, tarfile.XHDTYPE) + _padded(content)


def _plain(name: str, content: bytes) -> bytes:
    return _header(name, CLAIMED) + _padded(content)


def _backwards(name: str, content: bytes) -> bytes:
    return _header(name, -(1 << 20)) + _padded(content)


def _link(name: str, content: bytes) -> bytes:
    return _header(name, 0, tarfile.SYMTYPE)


def _claiming(manifest: bytes) -> bytes:
    changed = msgspec.structs.replace(msgspec.json.decode(manifest, type=BackupManifest), size=CLAIMED)
    return msgspec.json.encode(msgspec.structs.replace(changed, manifest_sha256=changed.checksum))


FORMS = [_sparse, _sparse_by_extension, _long_name, _extension, _plain, _backwards, _link]


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("saved") / "cluster.backup"
    assert run(["snapshot", "save", str(SOURCE), str(target)]) == 0
    return target


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__.strip("_"))
@pytest.mark.parametrize("which", [0, 1], ids=["manifest", "checkpoint"])
def test_a_backup_gets_no_memory_for_what_it_claims(
    form: Callable[[str, bytes], bytes], which: int, backup: Path, tmp_path: Path
) -> None:
    members = _members(backup)
    if which == 1:  # its manifest claims as much
        members["manifest.json"] = _claiming(members["manifest.json"])
    parts = [_header(name, len(content)) + _padded(content) for name, content in members.items()]
    parts[which] = form(*list(members.items())[which])
    hostile = tmp_path / "hostile.backup"
    hostile.write_bytes(b"".join(parts) + bytes(2 * tarfile.BLOCKSIZE))
    for command in (
        ["snapshot", "status", str(hostile)],
        ["snapshot", "restore", str(hostile), str(tmp_path / "target"), "--node-id", "1"],
    ):
        done = bounded_kraft(command)
        assert (done.returncode, done.stdout) == (1, ""), done.stderr
        assert done.stderr.startswith(f"kraft: {hostile} is ")
        assert done.stderr.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == [hostile]


@pytest.mark.parametrize("command", ["log verify", "log dump", "log hash", "check", "shell -c tree"])
def test_no_sparse_segment_gets_memory_for_its_length(command: str, tmp_path: Path) -> None:
    """The last batch of a segment of a few kilobytes claims gigabytes, and the file says that it has them."""
    segment = tmp_path / "00000000000000000000.log"
    whole = (SOURCE / "data" / "__cluster_metadata-0" / segment.name).read_bytes()
    *_, last = (position for position, _ in iter_batches(whole))
    segment.write_bytes(whole + whole[last : last + 8] + CLAIMED_BY_BATCH.to_bytes(4, "big") + whole[last + 12 :])
    with segment.open("r+b") as file:
        file.truncate(len(whole) + CLAIMED_BY_BATCH + 12)
    first, *options = command.split()
    done = bounded_kraft([first, str(segment), *options] if first == "shell" else [first, *options, str(segment)])
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr


def test_no_read_gets_memory_for_what_the_file_has_not(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(200)))
    handle = OsFiles().open(str(path), read_only=True)
    try:
        assert handle.pread(1 << 60, 100) == bytes(range(100, 200))
        assert handle.pread(1 << 60, 1 << 40) == b""
    finally:
        handle.close()
