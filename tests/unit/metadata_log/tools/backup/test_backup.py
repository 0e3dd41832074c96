"""Backup and restore: everything comes back, damage is refused, nothing is written over."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import tarfile
from contextlib import nullcontext
from pathlib import Path

import msgspec
import pytest

from metadata_log.directory import read_meta_properties
from metadata_log.errors import MetadataLogError
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import FileHandle
from metadata_log.ids import DirectoryId, NodeId, parse_id
from metadata_log.image.hash import image_hash
from metadata_log.records import FeatureLevelRecord, encode_record
from metadata_log.records.levels import FEATURE_NAME
from metadata_log.storage.checkpoint import CheckpointTimes, build_checkpoint
from metadata_log.tools.backup.archive import BackupError, NoBackupError
from metadata_log.tools.backup.backup import read_backup, save_backup
from metadata_log.tools.backup.restore import restore_backup
from metadata_log.tools.read.history import open_history
from metadata_log.tools.replicas.hashes import hash_of
from metadata_log.voters import VoterSet, parse_voters
from quorum.cli.main import run
from tests.support.image_logs import FIXTURES, log_directories

SOURCE = FIXTURES / "every-record" / "node-1"
OWN = DirectoryId(parse_id("AAAAAAAAAAAAAAAAAAAx6g"))
NEW_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"


@pytest.mark.parametrize("directory", log_directories(), ids=str)
def test_every_log_comes_back_from_its_backup(directory: Path, tmp_path: Path) -> None:
    state = open_history(directory).state_at()
    manifest = save_backup(state, tmp_path / "backup", cluster_id=NEW_CLUSTER, now_ms=1_000)
    assert manifest.hash == hash_of(state)
    backup = read_backup(tmp_path / "backup")
    assert backup.image.says_the_same_as(state.image) or not state.image.features.elr_enabled
    members = () if backup.checkpoint.voters is None else VoterSet.from_record(backup.checkpoint.voters).voters
    own = members[-1].key.node_id if members else NodeId(1)
    restore_backup(
        OsFiles(), backup, tmp_path / "data", cluster_id=NEW_CLUSTER, node_id=own, new_directory_id=OWN, now_ms=2
    )
    restored = open_history(tmp_path / "data" / "__cluster_metadata-0").state_at()
    assert (restored.end, hash_of(restored)) == (state.end, manifest.hash)


def test_into_another_cluster_with_its_own_voters(tmp_path: Path) -> None:
    state = open_history(SOURCE / "data" / "__cluster_metadata-0").state_at()
    save_backup(state, tmp_path / "backup", cluster_id=None, now_ms=1_000)
    voters = parse_voters("7@localhost:9093:AAAAAAAAAAAAAAAAAAAx6g")
    done = restore_backup(
        OsFiles(), read_backup(tmp_path / "backup"), tmp_path / "data", cluster_id=NEW_CLUSTER, node_id=NodeId(7),
        new_directory_id=OWN, now_ms=2, voters=voters,
    )  # fmt: skip
    properties = read_meta_properties(OsFiles(), str(tmp_path / "data"))
    assert (properties.cluster_id, properties.node_id) == (NEW_CLUSTER, 7)
    assert properties.directory_id == done.directory_id == voters.voters[0].key.directory_id
    restored = open_history(tmp_path / "data" / "__cluster_metadata-0").state_at()
    assert restored.image.says_the_same_as(state.image)
    assert hash_of(restored) == image_hash(state.image, 1, voters.to_record()).hex


def test_new_voters_have_the_listeners_name_of_those_before(tmp_path: Path) -> None:
    backup, plane, again = tmp_path / "backup", tmp_path / "plane", tmp_path / "again"
    assert run(["snapshot", "save", str(SOURCE), str(backup)]) == 0
    restore_backup(
        OsFiles(), read_backup(backup), plane, cluster_id=NEW_CLUSTER, node_id=NodeId(7), new_directory_id=OWN,
        now_ms=2, voters=parse_voters("7@localhost:9093/9094:AAAAAAAAAAAAAAAAAAAx6g", "CONTROLPLANE-9090"),
    )  # fmt: skip
    assert run(["snapshot", "save", str(plane), f"{backup}-2"]) == 0
    voters = ("--voters", "8@localhost:9093/9094:AAAAAAAAAAAAAAAAAAAx6Q")
    assert run(["snapshot", "restore", f"{backup}-2", str(again), "--node-id", "8", *voters]) == 0
    restored = open_history(again / "__cluster_metadata-0").state_at().quorum.voters
    assert restored is not None
    assert [at.name for at in restored.voters[0].endpoints] == ["CONTROLPLANE-9090", "GRPC"]


def test_our_own_checks_find_nothing_wrong_with_what_is_restored(tmp_path: Path) -> None:
    backup, target = str(tmp_path / "backup"), str(tmp_path / "data")
    assert run(["snapshot", "save", str(SOURCE), backup]) == 0
    assert run(["snapshot", "status", backup]) == 0
    assert run(["snapshot", "restore", backup, target, "--node-id", "1"]) == 0
    assert run(["check", target]) == 0


def test_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    backup, target = tmp_path / "backup", tmp_path / "data"
    assert run(["snapshot", "save", str(SOURCE), str(backup)]) == 0
    before = backup.read_bytes()
    assert run(["snapshot", "save", str(SOURCE), str(backup)]) == 2
    target.mkdir()
    (target / "mine").touch()
    assert run(["snapshot", "restore", str(backup), str(target), "--node-id", "1"]) == 2
    assert "is there and not empty" in capsys.readouterr().err
    assert backup.read_bytes() == before
    assert [child.name for child in target.iterdir()] == ["mine"]


def test_no_flipped_byte_of_what_counts_is_taken(tmp_path: Path) -> None:
    whole = tmp_path / "backup"
    save_backup(
        open_history(SOURCE / "data" / "__cluster_metadata-0").state_at(), whole, cluster_id=NEW_CLUSTER, now_ms=1_000
    )
    with tarfile.open(whole) as archive:
        content = next(member for member in archive.getmembers() if member.name.endswith(".checkpoint"))
    data = whole.read_bytes()
    broken = tmp_path / "broken"
    for at in range(content.offset_data, content.offset_data + content.size, 97):
        broken.write_bytes(data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :])
        with pytest.raises(BackupError, match="SHA-256"):
            read_backup(broken)
    for length in (0, 100, 600, content.offset_data + 100):
        broken.write_bytes(data[:length])
        with pytest.raises(BackupError):
            read_backup(broken)
    broken.write_bytes(b"rubbish" * 1000)
    with pytest.raises(BackupError, match="no backup"):
        read_backup(broken)


def test_no_flipped_byte_of_the_manifest_changes_what_it_says(tmp_path: Path) -> None:
    """It has the cluster id, which nothing else in the backup says."""
    whole, broken = tmp_path / "backup", tmp_path / "broken"
    save_backup(
        open_history(SOURCE / "data" / "__cluster_metadata-0").state_at(), whole, cluster_id=NEW_CLUSTER, now_ms=1_000
    )
    with tarfile.open(whole) as archive:
        member = archive.getmember("manifest.json")
    data = whole.read_bytes()
    for at in range(member.offset_data, member.offset_data + member.size):
        for bit in (1, 0x80):
            broken.write_bytes(data[:at] + bytes((data[at] ^ bit,)) + data[at + 1 :])
            with pytest.raises(BackupError):
                read_backup(broken)
    broken.write_bytes(data.replace(NEW_CLUSTER.encode(), NEW_CLUSTER[::-1].encode()))
    with pytest.raises(BackupError, match="manifest was changed"):
        read_backup(broken)


def test_no_other_byte_of_the_file_is_another_either(tmp_path: Path) -> None:
    """Names, modes, times and padding of the tar are under no checksum, or under one that a reader need not look at."""
    whole, broken = tmp_path / "backup", tmp_path / "broken"
    save_backup(
        open_history(SOURCE / "data" / "__cluster_metadata-0").state_at(), whole, cluster_id=NEW_CLUSTER, now_ms=1_000
    )
    with tarfile.open(whole) as archive:
        members = [range(member.offset_data, member.offset_data + member.size) for member in archive.getmembers()]
    data = whole.read_bytes()
    others = [at for at in range(len(data)) if not any(at in member for member in members)]
    assert len(others) > 1500
    for at in [*others[:1100:7], *others[1100::53], len(data) - 1]:
        broken.write_bytes(data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :])
        with pytest.raises((BackupError, NoBackupError)):
            read_backup(broken)
    padding = members[0].stop
    broken.write_bytes(data[:padding] + b"\1" + data[padding + 1 :])
    with pytest.raises(BackupError, match=f"byte {padding} is not as `kraft snapshot save` wrote it.*another copy"):
        read_backup(broken)
    for changed in (data + b"\0", data[:-1], data + bytes(10_240)):
        broken.write_bytes(changed)
        with pytest.raises(BackupError, match=f"byte {min(len(changed), len(data))} is not as"):
            read_backup(broken)


class _SmallDisk(OsFiles):
    """Full when a file is opened for the time of number `at`."""

    def __init__(self, at: int) -> None:
        self._at = at
        self.opened = 0

    def open(self, path: str, **options: bool) -> FileHandle:
        self.opened += 1
        if self.opened == self._at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        return super().open(path, **options)


@pytest.mark.parametrize("is_there", [False, True])
def test_a_disk_that_is_full_gets_no_half_restored_directory(tmp_path: Path, is_there: bool) -> None:
    whole, target = tmp_path / "backup", tmp_path / "new" / "node-1" / "data"
    save_backup(
        open_history(SOURCE / "data" / "__cluster_metadata-0").state_at(), whole, cluster_id=NEW_CLUSTER, now_ms=1_000
    )
    backup = read_backup(whole)
    if is_there:
        target.mkdir(parents=True)
    wanted = {"cluster_id": NEW_CLUSTER, "node_id": NodeId(1), "new_directory_id": DirectoryId(b"x" * 16), "now_ms": 1}
    counting = _SmallDisk(0)
    restore_backup(counting, backup, tmp_path / "whole", **wanted)  # type: ignore[arg-type]
    shutil.rmtree(tmp_path / "whole")
    opened = counting.opened
    assert opened >= 5
    for at in range(1, opened + 2):
        disk = _SmallDisk(at)
        with pytest.raises(OSError, match="No space left") if at <= opened else nullcontext() as caught:
            restore_backup(disk, backup, target, **wanted)  # type: ignore[arg-type]
        if caught is not None:
            assert str(caught.value.filename).startswith(str(target))
            assert list(target.iterdir() if is_there else tmp_path.iterdir()) == ([] if is_there else [whole])
    assert (target / "meta.properties").exists()


def test_a_manifest_that_says_another_hash_is_refused(tmp_path: Path) -> None:
    whole, forged = tmp_path / "backup", tmp_path / "forged"
    manifest = save_backup(
        open_history(SOURCE / "data" / "__cluster_metadata-0").state_at(), whole, cluster_id=NEW_CLUSTER, now_ms=1_000
    )
    other = msgspec.structs.replace(manifest, hash="0" * 64)
    other = msgspec.structs.replace(other, manifest_sha256=other.checksum)
    content = whole.read_bytes().replace(manifest.hash.encode(), other.hash.encode())
    forged.write_bytes(content.replace(manifest.manifest_sha256.encode(), other.manifest_sha256.encode()))
    with pytest.raises(BackupError, match="do not hash"):
        read_backup(forged)


def test_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    backup = str(tmp_path / "backup")
    assert run(["snapshot", "save", str(FIXTURES / "basic"), backup]) == 2
    assert run(["snapshot", "save", str(tmp_path / "nowhere"), backup]) == 2
    assert run(["snapshot", "status", str(tmp_path)]) == 2
    assert run(["snapshot", "save", str(FIXTURES / "static-3.9" / "node-1"), backup]) == 0
    restore = ["snapshot", "restore", backup, str(tmp_path / "data"), "--node-id", "1"]
    assert run([*restore, "--voters", "2@localhost:9093:AAAAAAAAAAAAAAAAAAAx6g"]) == 2
    assert run([*restore, "--voters", "nobody"]) == 2
    assert run([*restore, "--voters", "1@localhost:9093:AAAAAAAAAAAAAAAAAAAx6g"]) == 2
    assert "controller.quorum.voters" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


def test_a_node_that_is_no_voter_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    backup, target = str(tmp_path / "backup"), tmp_path / "data"
    assert run(["snapshot", "save", str(SOURCE), backup]) == 0
    assert run(["snapshot", "restore", backup, str(target), "--node-id", "9"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("kraft: node 9 is no voter (1@")
    assert "--no-initial-controllers" in said
    assert not target.exists()


def test_nothing_is_restored_into_a_log_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    backup = str(tmp_path / "backup")
    assert run(["snapshot", "save", str(SOURCE), backup]) == 0
    node = shutil.copytree(SOURCE, tmp_path / "node-1")
    before = sorted(node.rglob("*"))
    for target in (node / "data" / "new", node / "data" / "__cluster_metadata-0" / "new"):
        assert run(["snapshot", "restore", backup, str(target), "--node-id", "1"]) == 2
        assert f"is within the log directory {node / 'data'}" in capsys.readouterr().err
    assert sorted(node.rglob("*")) == before


def test_a_log_without_metadata_version_has_no_backup(tmp_path: Path) -> None:
    (tmp_path / "00000000000000000000.log").touch()
    with pytest.raises(MetadataLogError, match=r"metadata\.version"):
        save_backup(open_history(tmp_path).state_at(), tmp_path / "backup", cluster_id=None, now_ms=1)
    assert not (tmp_path / "backup").exists()


def _saved_by_a_later_release(path: Path) -> None:
    """Put level 35 into a backup's checkpoint, and make its manifest fit, as that release would have written both."""
    backup = read_backup(path)
    manifest = backup.manifest
    level = encode_record(FeatureLevelRecord(name=FEATURE_NAME, feature_level=35), 0)
    content = b"".join(
        build_checkpoint(
            [level, *list(backup.checkpoint.values())[1:]],
            epoch=backup.checkpoint.epoch,
            times=CheckpointTimes.at(manifest.created_ms, last_contained_ms=manifest.last_contained_timestamp_ms),
            kraft_version=backup.checkpoint.kraft_version,
            voters=backup.checkpoint.voters,
        )
    )
    sha256 = hashlib.sha256(content).hexdigest()
    changed = msgspec.structs.replace(manifest, metadata_version=35, size=len(content), sha256=sha256, hash="0" * 64)
    changed = msgspec.structs.replace(changed, manifest_sha256=changed.checksum)
    text = msgspec.json.format(msgspec.json.encode(changed)) + b"\n"
    with tarfile.open(path, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in (("manifest.json", text), (manifest.checkpoint, content)):
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.mode = len(data), manifest.created_ms // 1000, 0o600
            archive.addfile(member, io.BytesIO(data))


def test_a_backup_of_a_later_release_is_shown_and_not_restored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "backup"
    save_backup(open_history(log_directories()[0]).state_at(), file, cluster_id=NEW_CLUSTER, now_ms=1_000)
    _saved_by_a_later_release(file)

    assert run(["snapshot", "status", str(file)]) == 0
    said = capsys.readouterr()
    assert "MetadataVersion:        35\n" in said.out
    assert "Created:                1970-01-01T00:00:01.000Z\n" in said.out
    assert "not judged, nor the hash: metadata.version 35" in said.err

    target = tmp_path / "new"
    assert run(["snapshot", "restore", str(file), str(target), "--node-id", "1"]) == 1
    assert "Restore it with the kraft of that release" in capsys.readouterr().err
    assert not target.exists()


def test_a_cluster_id_of_several_lines_is_refused(tmp_path: Path) -> None:
    """It would be written into meta.properties, and say there what its author likes."""
    state = open_history(SOURCE / "data" / "__cluster_metadata-0").state_at()
    save_backup(state, tmp_path / "backup", cluster_id=f"{NEW_CLUSTER}\nnode.id=7", now_ms=1_000)
    with pytest.raises(BackupError, match="its cluster id holds what no id has"):
        read_backup(tmp_path / "backup")


def test_a_checkpoint_of_an_epoch_that_no_log_has_is_refused(tmp_path: Path) -> None:
    """Only its name is damaged, so everything else can be read."""
    log = tmp_path / "__cluster_metadata-0"
    log.mkdir()
    former = f"{139:020}-0000000001.checkpoint"
    shutil.copy(SOURCE / "data" / log.name / former, log / former.replace("0000000001.", "9999999999."))
    with pytest.raises(BackupError, match=r"epoch 9999999999, which no log has.*kraft log verify"):
        save_backup(open_history(log).state_at(), tmp_path / "backup", cluster_id=None, now_ms=0)
