"""Verifying one log: what it amounts to, past damage, single files, and directories that change under the reader."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import FileHandle
from metadata_log.format.batch import build_batch
from metadata_log.offsets import Epoch, Offset
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.read.fast_scan import Marks, NoOpRun, walk
from metadata_log.tools.read.scan import Damage, scan
from metadata_log.tools.read.sources import NodeSource, find_sources
from metadata_log.tools.verify.verify_log import Depth, LogFacts, verify_file, verify_log
from tests.support.clusters import node_directories
from tests.support.damage import Damage as PlantedDamage
from tests.support.damage import copy_cluster, quiet_batch, split, with_bytes, with_epoch, write
from tests.support.damage_access import ACCESS_DAMAGE
from tests.support.damage_records import RECORD_DAMAGE

NOOP = b"\x01\x14\x00\x00"
_BY_ITSELF = {
    *("null_id", "sentinel_id", "isr_outside", "leader_outside", "leader_not_in_isr", "replica_twice", "elr_outside"),
    *("future_type", "future_version", "cut_value", "no_frame"),
    *("acl_of_no_operation", "acl_of_a_later_operation", "acl_of_no_resource_type", "controller_negative"),
    *("acl_of_no_operation_from_zookeeper",),
}
"""The planted records that are wrong whatever came before them."""


def _node(path: Path) -> NodeSource:
    (node,) = find_sources([path]).nodes
    return node


def _kinds(report: LogFacts) -> list[str]:
    return [found.kind for found in report.findings]


def test_a_report_says_what_the_log_amounts_to(clusters: Path) -> None:
    report = verify_log(_node(clusters / "failovers/node-1"))

    assert (report.start_offset, report.end_offset, report.last_epoch) == (207, 326, 9)
    assert [election.leader_id for election in report.elections] == [3, 1, 3, 2, 3, 2, 3]
    assert [str(checkpoint.end) for checkpoint in report.checkpoints] == ["244@1"]
    assert report.committed_before == 310
    assert report.image is not None
    assert report.records == 326 - 207
    assert report.is_sound


def test_without_records_the_rest_is_the_same(clusters: Path) -> None:
    for directory in node_directories(clusters):
        full = verify_log(_node(directory))
        for depth in (Depth.BYTES, Depth.RECORDS):
            quick = verify_log(_node(directory), depth=depth)

            assert quick.findings == ()
            assert (quick.epochs, quick.elections, quick.batches, quick.records, len(quick.checkpoints)) == (
                full.epochs,
                full.elections,
                full.batches,
                full.records,
                len(full.checkpoints),
            )


@pytest.mark.parametrize("damage", [*RECORD_DAMAGE, *ACCESS_DAMAGE], ids=lambda damage: damage.name)
def test_a_record_is_judged_by_itself_or_by_those_before_it(
    damage: PlantedDamage, clusters: Path, tmp_path: Path
) -> None:
    """`--depth records` finds the faults of single records; a replay finds all faults of records."""
    cluster = copy_cluster(clusters / damage.scenario, tmp_path / damage.scenario)
    planted = damage.plant(cluster)
    node = _node(cluster.node(planted.node_id or 0))

    alone = [found for found in verify_log(node, depth=Depth.RECORDS).findings if found.kind == planted.kind]

    assert bool(alone) is (damage.name in _BY_ITSELF)
    assert all((found.file, found.position) == (str(planted.file), planted.position) for found in alone)
    assert verify_log(node, depth=Depth.BYTES).findings == ()


def test_every_single_file_is_sound(clusters: Path) -> None:
    for directory in node_directories(clusters):
        for path in (directory / "data").glob("__cluster_metadata-0/*"):
            if path.suffix in (".log", ".checkpoint"):
                assert verify_file(path).findings == (), path


def test_several_damages_are_all_named(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.segment(1)
    data = path.read_bytes()
    starts = [0]
    for batch in split(path):
        starts.append(starts[-1] + len(batch))
    for number in (10, 20, 30):
        at = starts[number] + 62
        data = with_bytes(data, at, bytes((data[at] ^ 1,)))
    path.write_bytes(data)

    report = verify_log(_node(cluster.node(1)))

    assert [(found.kind, found.position) for found in report.findings] == [
        ("corrupt_batch", starts[number]) for number in (10, 20, 30)
    ]


def _flipped(data: bytes, bit: int) -> bytes:
    return with_bytes(data, bit // 8, bytes((data[bit // 8] ^ 1 << bit % 8,)))


def _unreported(directory: Path, segment: Path, bits: Iterable[int], depth: Depth = Depth.REPLAY) -> list[int]:
    """The bits of a log that may be flipped without a finding. Each is flipped in place, and back."""
    data = segment.read_bytes()
    node = _node(directory)
    missed = []
    with segment.open("r+b", buffering=0) as file:
        for bit in bits:
            at = bit // 8
            os.pwrite(file.fileno(), bytes((data[at] ^ 1 << bit % 8,)), at)
            if not any(found.counts for found in verify_log(node, depth=depth).findings):
                missed.append(bit)
            os.pwrite(file.fileno(), data[at : at + 1], at)
    return missed


def test_no_flipped_bit_goes_unreported(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    segment = cluster.segment(2)
    bits = Random(5).sample(range(segment.stat().st_size * 8), 250)

    assert _unreported(cluster.node(2), segment, bits) == []


@pytest.mark.campaign
@pytest.mark.timeout(1800)
def test_no_flipped_bit_at_all_goes_unreported(clusters: Path, tmp_path: Path) -> None:
    """Each is looked for at the depth of bytes first: replay, which is slower, looks for those that are left."""
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    segment = cluster.segment(1, 294)

    beyond_bytes = _unreported(cluster.node(1), segment, range(segment.stat().st_size * 8), Depth.BYTES)

    assert _unreported(cluster.node(1), segment, beyond_bytes) == []


class _GrowingFiles(OsFiles):
    """A file system on which a writer is half way through an append when the log is first opened."""

    def __init__(self, path: Path, rest: bytes) -> None:
        self._path = path
        self._rest = rest

    def open(self, path: str, *, create: bool = False, exclusive: bool = False, read_only: bool = False) -> FileHandle:
        """The file as it is; what was being written is whole once it is closed."""
        handle = super().open(path, create=create, exclusive=exclusive, read_only=read_only)
        return _Growing(handle, self) if path == str(self._path) else handle

    def finish(self) -> None:
        """The writer goes on."""
        with self._path.open("ab") as file:
            file.write(self._rest)
        self._rest = b""


class _Growing:
    """The handle of such a file, as it was when it was opened."""

    def __init__(self, handle: FileHandle, files: _GrowingFiles) -> None:
        self._handle = handle
        self._files = files
        self.pread, self.size = handle.pread, handle.size
        self.pwrite, self.truncate, self.fdatasync = handle.pwrite, handle.truncate, handle.fdatasync

    def close(self) -> None:
        """The writer finishes."""
        self._handle.close()
        self._files.finish()


def _without_indexes(path: Path) -> None:
    """Remove the indexes, as in a running node's log. A closed log's indexes would prove that all of it was written."""
    for suffix in (".index", ".timeindex"):
        path.with_suffix(suffix).unlink()


def test_an_append_under_way_is_no_torn_tail(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.segment(1)
    _without_indexes(path)
    data = path.read_bytes()
    path.write_bytes(data[:-30])

    assert _kinds(verify_log(_node(cluster.node(1)))) == ["torn_tail"]
    assert verify_log(_node(cluster.node(1)), files=_GrowingFiles(path, data[-30:])).findings == ()


def test_a_torn_tail_leaves_the_image_known(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.segment(1)
    _without_indexes(path)
    path.write_bytes(path.read_bytes()[:-30])

    report = verify_log(_node(cluster.node(1)))

    assert report.image is not None
    assert len(report.image.topics) == 3


def test_the_fast_walk_sees_what_scan_sees(clusters: Path, tmp_path: Path) -> None:
    files = OsFiles()
    random = Random(11)
    for directory in node_directories(clusters)[::5]:
        for path in (directory / "data/__cluster_metadata-0").glob("*.log"):
            data = path.read_bytes()
            for _ in range(3):
                broken = tmp_path / path.name
                broken.write_bytes(_flipped(data, random.randrange(len(data) * 8)))
                handle = files.open(str(broken), read_only=True)
                assert _places(list(walk(handle))) == _places(list(scan(handle)))
                handle.close()


def _places(seen: list[LocatedBatch | Damage | NoOpRun]) -> list[tuple[int, bool]]:
    """Position and soundness of each batch, those of a run one by one."""
    places: list[tuple[int, bool]] = []
    for found in seen:
        if isinstance(found, NoOpRun):
            places += [(found.position + 72 * number, True) for number in range(found.count)]
        else:
            places.append((found.position, isinstance(found, LocatedBatch)))
    return places


def test_runs_of_noops_are_shown_at_once_but_for_marks(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    batches = [
        build_batch(base_offset=Offset(offset), epoch=Epoch(1), timestamp_ms=1000 + offset, values=[NOOP])
        for offset in range(100)
    ]
    path.write_bytes(b"".join(batches))
    handle = OsFiles().open(str(path), read_only=True)

    seen = list(walk(handle, offset=0, epoch=1, marks=Marks(positions=[72 * 10], offsets=[50])))
    handle.close()

    assert [type(found) for found in seen] == [NoOpRun, LocatedBatch, NoOpRun, LocatedBatch, NoOpRun]
    runs = [found for found in seen if isinstance(found, NoOpRun)]
    assert [(run.base_offset, run.end_offset, run.max_timestamp) for run in runs] == [
        (0, 10, 1009),
        (11, 50, 1049),
        (51, 100, 1099),
    ]


@pytest.mark.parametrize(
    "tail",
    [b"\xa5" * 3, b"\xa5" * 700, bytes(5), bytes(4096), b"own copy"],
    ids=["few", "garbage", "zeros-few", "zeros", "copy"],
)
@pytest.mark.parametrize(
    "name", ["00000000000000000255-0000000003.checkpoint", "00000000000000000000-0000000000.checkpoint", "bootstrap"]
)
def test_nothing_may_stand_behind_a_checkpoints_footer(name: str, tail: bytes, clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    source = cluster.metadata(11) / "00000000000000000255-0000000003.checkpoint"
    path = source
    if name == "bootstrap":
        path = cluster.metadata(1).parent / "bootstrap.checkpoint"
    elif name != source.name:
        path = cluster.metadata(11) / name
    if path != source:
        write(path, [with_epoch(batch, 0) for batch in split(source)])
    whole = path.read_bytes()
    assert "checkpoint_malformed" not in _kinds(verify_file(path))

    path.write_bytes(whole + (whole[:100] if tail == b"own copy" else tail))

    (found,) = [found for found in verify_file(path).findings if found.kind == "checkpoint_malformed"]
    assert (found.file, found.position, found.counts) == (str(path), len(whole), True)
    node = 1 if name == "bootstrap" else 11
    kinds = [one.kind for one in verify_log(_node(cluster.node(node))).findings]
    assert "checkpoint_malformed" in kinds


def test_two_batches_that_are_there_again_are_no_gap(clusters: Path, tmp_path: Path) -> None:
    """The second goes on from the first, so it is due there, though both were read before."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.segment(1)
    number = quiet_batch(path)
    batches = split(path)
    write(path, [*batches[: number + 2], *batches[number : number + 2], *batches[number + 2 :]])

    (node,) = find_sources([cluster.root / "node-1"]).nodes
    facts = verify_log(node)

    assert facts.gaps == ()
    assert {found.kind for found in facts.findings} == {"offset_repeated"}
