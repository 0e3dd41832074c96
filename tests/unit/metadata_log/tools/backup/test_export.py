"""Exports: unchanged copies with a true manifest, whole or not there at all, also from a log that is being written."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from metadata_log.errors import CorruptFileError
from metadata_log.format.batch import build_batch, parse_header
from metadata_log.offsets import Epoch, Offset
from metadata_log.tools.backup import export
from metadata_log.tools.backup.export import ExportError, export_replica
from metadata_log.tools.new_files import TargetError
from metadata_log.tools.read.exported_partitions import PARTITIONS_FILE, read_exported_partitions
from metadata_log.tools.read.manifest import MANIFEST_FILE, read_manifest
from metadata_log.tools.read.sources import SourceError

FIXTURE = Path(__file__).parents[4] / "fixtures" / "basic" / "node-1" / "data"
SEGMENT = "00000000000000000000.log"
NO_OP = b"\x01\x14\x00\x00"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    shutil.copytree(FIXTURE, tmp_path / "node-1", copy_function=shutil.copyfile)
    return tmp_path / "node-1"


def segment_of(source: Path) -> Path:
    return source / "__cluster_metadata-0" / SEGMENT


def test_copies_segments_and_checkpoints_unchanged(source: Path, tmp_path: Path) -> None:
    manifest = export_replica(source, tmp_path / "out", high_watermark=95)
    copied = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.name != MANIFEST_FILE}
    assert sorted(copied) == [
        "00000000000000000000-0000000000.checkpoint", SEGMENT,
        "leader-epoch-checkpoint", "partition.metadata", PARTITIONS_FILE, "quorum-state",
    ]  # fmt: skip
    assert [file.name for file in manifest.files] == sorted(copied)
    for file in manifest.files:
        if file.name == PARTITIONS_FILE:
            continue
        original = (source / "__cluster_metadata-0" / file.name).read_bytes()
        assert (copied[file.name], file.size) == (original, len(original))
        assert file.sha256 == hashlib.sha256(original).hexdigest()


def test_an_election_meanwhile_makes_it_start_over(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small files of another moment than the log's would prove what never was."""
    state, copied = source / "__cluster_metadata-0" / "quorum-state", list[str]()
    copy = export._copy

    def copy_and_elect(path: Path, target: Path, size: int) -> bool:
        if not copied:
            state.write_text(state.read_text().replace('"leaderEpoch":1', '"leaderEpoch":2'))
        copied.append(path.name)
        return copy(path, target, size)

    monkeypatch.setattr(export, "_copy", copy_and_elect)
    export_replica(source, tmp_path / "out")

    assert copied.count(SEGMENT) == 2
    assert '"leaderEpoch":2' in (tmp_path / "out" / "quorum-state").read_text()


def test_the_manifest_says_what_the_log_is(source: Path, tmp_path: Path) -> None:
    manifest = export_replica(source / "__cluster_metadata-0", tmp_path / "out", high_watermark=95)
    assert manifest == read_manifest(tmp_path / "out")
    assert (manifest.cluster_id, manifest.node_id) == ("MkU3OEVBNTcwNTJENDM2Qg", 1)
    assert manifest.directory_id == "ZGlyZWN0b3J5LWlkLTAwMQ"
    assert (manifest.start_offset, manifest.end_offset, manifest.epoch, manifest.high_watermark) == (0, 95, 1, 95)
    assert [voter.node_id for voter in manifest.voters] == [1, 2, 3]
    assert manifest.cut_tail_bytes == 0


def test_an_unfinished_write_is_left_out_and_counted(source: Path, tmp_path: Path) -> None:
    segment = segment_of(source)
    whole = segment.read_bytes()
    unfinished = build_batch(base_offset=Offset(95), epoch=Epoch(1), timestamp_ms=1, values=[NO_OP] * 3)
    segment.write_bytes(whole + unfinished[:40])
    manifest = export_replica(source, tmp_path / "out")
    assert (tmp_path / "out" / SEGMENT).read_bytes() == whole
    assert (manifest.cut_tail_bytes, manifest.end_offset) == (40, 95)


def test_space_claimed_ahead_is_left_out(source: Path, tmp_path: Path) -> None:
    segment = segment_of(source)
    whole = segment.read_bytes()
    segment.write_bytes(whole + bytes(5000))
    assert export_replica(source, tmp_path / "out").cut_tail_bytes == 0
    assert (tmp_path / "out" / SEGMENT).read_bytes() == whole


def test_damage_is_copied_as_it_is(source: Path, tmp_path: Path) -> None:
    segment = segment_of(source)
    damaged = bytearray(segment.read_bytes())
    damaged[3000] ^= 1
    segment.write_bytes(damaged)
    assert export_replica(source, tmp_path / "out").end_offset == 95
    assert (tmp_path / "out" / SEGMENT).read_bytes() == bytes(damaged)


def test_a_log_that_grows_meanwhile_ends_with_a_whole_batch(source: Path, tmp_path: Path) -> None:
    stopped, room = threading.Event(), threading.Semaphore(300)

    def write() -> None:
        offset = 95
        with segment_of(source).open("ab", buffering=0) as growing:
            while room.acquire() and not stopped.is_set():  # a faster writer would leave the reader ever more to read
                batch = build_batch(base_offset=Offset(offset), epoch=Epoch(1), timestamp_ms=1, values=[NO_OP] * 3)
                growing.write(batch[:30])
                growing.write(batch[30:])
                offset += 3

    writer = threading.Thread(target=write)
    writer.start()
    try:
        manifests = []
        for number in range(10):
            manifests.append(export_replica(source, tmp_path / f"out-{number}"))
            room.release(300)
    finally:
        stopped.set()
        room.release()
        writer.join()
    ends = [manifest.end_offset for manifest in manifests]
    assert ends == sorted(ends)
    assert ends[-1] > 95
    for number, manifest in enumerate(manifests):
        data = (tmp_path / f"out-{number}" / SEGMENT).read_bytes()
        position, following = 0, 0
        while position < len(data):
            header = parse_header(data, position)
            position, following = position + header.size_in_bytes, header.next_offset
        assert (position, following) == (len(data), manifest.end_offset)


def test_a_leaders_log_that_lacks_what_its_followers_committed_is_waited_for(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A leader sends a record before its own disk has it: nothing is lost when the log ends before it."""
    late = build_batch(base_offset=Offset(95), epoch=Epoch(1), timestamp_ms=1, values=[NO_OP] * 3)
    waits = []

    def write(seconds: float) -> None:
        waits.append(seconds)
        with segment_of(source).open("ab") as growing:
            growing.write(late)

    monkeypatch.setattr(time, "sleep", write)
    manifest = export_replica(source, tmp_path / "out", high_watermark=98)

    assert len(waits) == 1
    assert (manifest.end_offset, manifest.high_watermark) == (98, 98)
    assert (tmp_path / "out" / SEGMENT).read_bytes() == segment_of(source).read_bytes()


def test_a_log_that_stays_below_its_high_watermark_is_copied_all_the_same(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "_PATIENCE_S", 0.1)
    manifest = export_replica(source, tmp_path / "out", high_watermark=98)

    assert (manifest.end_offset, manifest.high_watermark) == (95, 98)


def test_a_nodes_directory_means_the_log_in_it(source: Path, tmp_path: Path) -> None:
    node = tmp_path / "node-7"
    shutil.copytree(source, node / "data")
    assert export_replica(node, tmp_path / "out").files == export_replica(node / "data", tmp_path / "again").files


def test_an_export_is_not_exported_again(source: Path, tmp_path: Path) -> None:
    export_replica(source, tmp_path / "out")
    with pytest.raises(ExportError, match="is an export already: copy it as it is"):
        export_replica(tmp_path / "out", tmp_path / "again")


def test_of_several_logs_none_is_taken(source: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(source, tmp_path / "several" / name / "data")
    with pytest.raises(ExportError, match="holds 2 metadata logs, and an export is of one"):
        export_replica(tmp_path / "several", tmp_path / "out")


def test_one_file_of_a_log_is_not_all(source: Path, tmp_path: Path) -> None:
    segment = next((source / "__cluster_metadata-0").glob("*.log"))
    with pytest.raises(ExportError, match=f"is one file of a log, .*name its directory, {segment.parent}"):
        export_replica(segment, tmp_path / "out")


def test_refuses_what_it_cannot_do(source: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(SourceError, match="holds no metadata log"):
        export_replica(tmp_path / "taken", tmp_path / "out")
    (tmp_path / "taken" / "file").touch()
    with pytest.raises(TargetError, match="is there and not empty"):
        export_replica(source, tmp_path / "taken")
    for inside in (source / "copy", source / "__cluster_metadata-0" / "copy"):
        with pytest.raises(TargetError, match="is within the log directory"):
            export_replica(source, inside)
    (source / "meta.properties").unlink()
    with pytest.raises(ExportError, match=r"meta\.properties"):
        export_replica(source, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["node-1", "taken"]


def test_a_pipe_for_the_list_of_partitions_is_not_waited_on(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / PARTITIONS_FILE)
    with pytest.raises(OSError, match="a pipe, a device or a socket"):
        read_exported_partitions(tmp_path)


def test_a_manifest_that_is_none_is_refused(source: Path, tmp_path: Path) -> None:
    export_replica(source, tmp_path / "out")
    path = tmp_path / "out" / MANIFEST_FILE
    text = path.read_text()
    path.write_text(text.replace('"format_version": 1', '"format_version": 7'))
    with pytest.raises(CorruptFileError, match="version 7"):
        read_manifest(tmp_path / "out")
    path.write_text(text.replace(SEGMENT, "../" + SEGMENT))
    with pytest.raises(CorruptFileError, match="outside its directory"):
        read_manifest(tmp_path / "out")
    for data in (b"{}", text.encode().replace(b'"cluster_id": "', b'"cluster_id": "\xff')):
        path.write_bytes(data)
        with pytest.raises(CorruptFileError, match="no manifest"):
            read_manifest(tmp_path / "out")
