"""An agent's directories on a file system that loses what was not synced: whole or not at all, at every crash point."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from broker_agent import storage
from broker_agent.storage import PartitionDirectory, RemovalTimes, StagedDirectory
from metadata_log.files.os_files import OsFiles
from metadata_log.files.simulated_files import SimulatedCrash, SimulatedFiles
from metadata_log.ids import TopicId, id_text
from tests.support.image_records import topic_id

DIR = "/data"
ORDERS = topic_id(1)


def _files() -> SimulatedFiles:
    files = SimulatedFiles()
    files.mkdirs(DIR)
    files.fsync_dir("/")
    return files


def _crash_at_each_change(
    prepare: Callable[[SimulatedFiles], None], act: Callable[[SimulatedFiles], None]
) -> list[SimulatedFiles]:
    """The file system after a crash in each changing call of `act`, and last after the whole of it."""
    whole = _files()
    prepare(whole)
    before = whole.changes
    act(whole)
    after: list[SimulatedFiles] = []
    for change in range(before + 1, whole.changes + 1):
        for draw in (0, 0xFFFF_FFFF_FFFF_FFFF, 0x5A5A_1234_9876_0F0F):
            files = _files()
            prepare(files)
            files.crash_at = change
            with pytest.raises(SimulatedCrash):
                act(files)
            files.crash(draw)
            after.append(files)
    return [*after, whole]


def _times(at_ms: int) -> RemovalTimes:
    return RemovalTimes(remove_at_ms=at_ms, staged_at_ms=at_ms, delay_ms=0, due_ms=at_ms)


def _waiting(files: SimulatedFiles) -> list[StagedDirectory]:
    names = storage.staged_names(files, DIR)
    return [StagedDirectory(log_dir=DIR, name=name, times=_times(0)) for name in names]


def _make(files: SimulatedFiles, partition: int = 0, topic: TopicId = ORDERS) -> PartitionDirectory:
    return storage.create(files, DIR, "orders", partition, topic)


def test_a_new_directory_is_whole_or_absent_after_any_crash() -> None:
    seen = set()
    for files in _crash_at_each_change(lambda files: None, lambda files: _make(files) and None):
        storage.clear_unfinished(files, DIR)
        found, unknown = storage.scan(files, DIR)
        assert unknown == []
        assert [(each.name, each.topic_id, each.fault) for each in found] in ([], [("orders-0", ORDERS, None)])
        assert not files.exists(f"{DIR}/deleting")
        seen.add(len(found))
    assert seen == {0, 1}


def test_a_new_directory_looks_like_a_brokers() -> None:
    files = _files()
    made = _make(files)
    assert files.listdir(made.path) == ["00000000000000000000.log", "leader-epoch-checkpoint", "partition.metadata"]
    assert files.content(f"{made.path}/partition.metadata") == f"version: 0\ntopic_id: {id_text(ORDERS)}".encode()
    assert files.content(f"{made.path}/leader-epoch-checkpoint") == b"0\n0\n"


def test_staging_leaves_the_directory_in_one_place_after_any_crash() -> None:
    def act(files: SimulatedFiles) -> None:
        storage.stage(files, storage.scan(files, DIR)[0][0], _times(5_000))

    for files in _crash_at_each_change(lambda files: _make(files) and None, act):
        live, _ = storage.scan(files, DIR)
        waiting = storage.staged_names(files, DIR)
        assert len(live) + len(waiting) == 1
        if waiting:
            assert waiting == [f"{id_text(ORDERS)}_0"]
            assert storage.read_times(files, DIR, waiting[0]) in ((None, None), (5_000, _times(5_000)))


def test_what_was_staged_twice_does_not_collide() -> None:
    files = _files()
    first = storage.stage(files, _make(files), _times(1))
    second = storage.stage(files, _make(files), _times(2))
    assert (first.name, second.name) == (f"{id_text(ORDERS)}_0", f"{id_text(ORDERS)}_0.2")
    assert [storage.read_times(files, DIR, name)[0] for name in storage.staged_names(files, DIR)] == [1, 2]


def test_removal_finishes_after_any_crash_and_takes_deleting_with_it() -> None:
    def act(files: SimulatedFiles) -> None:
        storage.remove(files, _waiting(files)[0])

    def prepare(files: SimulatedFiles) -> None:
        storage.stage(files, _make(files), _times(5))

    for files in _crash_at_each_change(prepare, act):
        for again in _waiting(files):
            storage.remove(files, again)
        storage.tidy(files, DIR)
        assert files.listdir(DIR) == []


def test_a_directory_without_an_id_cannot_be_staged_and_is_set_aside_under_kafkas_name() -> None:
    files = _files()
    made = _make(files)
    files.unlink(f"{made.path}/partition.metadata")
    found = storage.scan(files, DIR)[0][0]
    assert found.topic_id is None
    assert found.fault == "it has no partition.metadata"
    with pytest.raises(ValueError, match="can be quarantined, not staged"):
        storage.stage(files, found, _times(1))
    name = storage.quarantine(files, DIR, found.name, bytes(range(16)))
    assert name == "orders-0.000102030405060708090a0b0c0d0e0f-stray"
    assert storage.scan(files, DIR) == ([], [])


def test_an_unreadable_id_is_told_with_its_fault() -> None:
    files = _files()
    made = _make(files)
    handle = files.open(f"{made.path}/partition.metadata")
    handle.truncate(0)
    handle.pwrite(b"version: 0\ntopic_id: not-an-id", 0)
    found = storage.scan(files, DIR)[0][0]
    assert found.topic_id is None
    assert found.fault is not None
    assert "partition.metadata" in found.fault


def test_directories_that_are_no_partitions_are_named_and_files_are_not() -> None:
    files = _files()
    files.mkdirs(f"{DIR}/lost+found")
    files.mkdirs(f"{DIR}/__cluster_metadata-0")
    files.open(f"{DIR}/meta.properties", create=True).close()
    assert storage.scan(files, DIR) == ([], ["lost+found"])


def _put(files: SimulatedFiles, path: str, content: bytes) -> None:
    handle = files.open(path, create=True)
    handle.truncate(0)
    handle.pwrite(content, 0)
    handle.close()


def test_what_somebody_else_put_among_the_stale_is_left_alone_and_named() -> None:
    files = _files()
    directory = storage.create(files, DIR, "orders", 0, ORDERS)
    staged = storage.stage(files, directory, _times(7_000))
    files.mkdirs(f"{DIR}/deleting/whatever")
    _put(files, f"{DIR}/deleting/file", b"x")
    _put(files, f"{DIR}/deleting/{id_text(ORDERS)}_7", b"a file of such a name")
    assert storage.staged_names(files, DIR) == [staged.name]
    _, unknown = storage.scan(files, DIR)
    assert unknown == ["deleting/" + name for name in sorted(("whatever", "file", f"{id_text(ORDERS)}_7"))]
    storage.remove(files, staged)
    assert files.exists(f"{DIR}/deleting/whatever")


@pytest.mark.parametrize("said", [b"", b"soon", b"-1", b"9" * 35, b"9223372036854775808", b"\xff"])
def test_a_time_that_is_none_is_not_taken(said: bytes) -> None:
    files = _files()
    staged = storage.stage(files, storage.create(files, DIR, "orders", 0, ORDERS), _times(7_000))
    _put(files, f"{staged.path}/remove-at", said)
    assert storage.read_times(files, DIR, staged.name) == (None, None)


def test_a_directory_in_the_place_of_its_metadata_is_its_fault_alone(tmp_path: Path) -> None:
    (tmp_path / "orders-0" / "partition.metadata").mkdir(parents=True)
    storage.create(OsFiles(), str(tmp_path), "orders", 1, ORDERS)
    found = {each.name: each for each in storage.scan(OsFiles(), str(tmp_path))[0]}
    assert found["orders-1"].topic_id == ORDERS
    assert found["orders-0"].topic_id is None
    assert found["orders-0"].fault == "its partition.metadata is a directory"
