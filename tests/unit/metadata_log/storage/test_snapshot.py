"""Kafka's checkpoints are read and rebuilt, our own survive a round trip, and half of one never passes for a whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metadata_log.errors import CorruptBatchError, CorruptFileError
from metadata_log.files.os_files import OsFiles
from metadata_log.files.simulated_files import SimulatedCrash, SimulatedFiles
from metadata_log.format.batch import iter_batches
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.storage.checkpoint import (
    CheckpointTimes,
    build_checkpoint,
    check_checkpoint,
    checkpoint_name,
    newest_checkpoint,
    parse_checkpoint_name,
    read_checkpoint,
    remove_unfinished,
    write_checkpoint,
)
from metadata_log.storage.loaded_checkpoint import load_snapshot

FIXTURES = Path(__file__).parents[3] / "fixtures"
CHECKPOINTS = sorted(FIXTURES.glob("*/node-*/data/**/*.checkpoint"))
TIMES = CheckpointTimes.at(1_700_000_000_000, last_contained_ms=5)


def end(offset: int, epoch: int) -> OffsetAndEpoch:
    return OffsetAndEpoch(offset=Offset(offset), epoch=Epoch(epoch))


def files_with_directory() -> SimulatedFiles:
    files = SimulatedFiles()
    files.mkdirs("/data")
    return files


def test_there_are_checkpoints_of_kafka() -> None:
    assert len(CHECKPOINTS) >= 6


@pytest.mark.parametrize("path", CHECKPOINTS, ids=lambda path: "-".join(path.relative_to(FIXTURES).parts))
def test_kafkas_checkpoints_are_rebuilt_byte_for_byte(path: Path) -> None:
    checkpoint = read_checkpoint(OsFiles(), str(path))
    times = [batch.header.base_timestamp for batch in checkpoint.batches]
    rebuilt = build_checkpoint(
        checkpoint.values(),
        epoch=checkpoint.epoch,
        times=CheckpointTimes(
            last_contained_ms=checkpoint.header.last_contained_log_timestamp,
            header_ms=times[0],
            records_ms=times[1],
            footer_ms=times[-1],
        ),
        kraft_version=checkpoint.kraft_version,
        voters=checkpoint.voters,
    )
    assert b"".join(rebuilt) == path.read_bytes()
    named = parse_checkpoint_name(path.name)
    assert named is None or named.epoch == checkpoint.epoch


@given(st.lists(st.binary(max_size=80), max_size=60), st.integers(0, 9))
def test_values_come_back(values: list[bytes], epoch: int) -> None:
    files = files_with_directory()
    size = write_checkpoint(files, "/data/c", build_checkpoint(values, epoch=Epoch(epoch), times=TIMES))
    assert size == len(files.content("/data/c"))
    checkpoint = read_checkpoint(files, "/data/c")
    assert list(checkpoint.values()) == values
    assert (checkpoint.kraft_version, checkpoint.voters, checkpoint.epoch) == (0, None, epoch)
    assert checkpoint.header.last_contained_log_timestamp == 5


def test_many_records_are_cut_into_batches() -> None:
    batches = list(build_checkpoint((b"x" * 100 for _ in range(5000)), epoch=Epoch(1), times=TIMES))
    assert len(batches) == 2 + 5
    assert max(map(len, build_checkpoint([b"x" * 600_000] * 9, epoch=Epoch(1), times=TIMES))) < 700_000


@given(st.integers(0, 10**20 - 1), st.integers(0, 10**10 - 1))
def test_names_come_back(offset: int, epoch: int) -> None:
    assert parse_checkpoint_name(checkpoint_name(end(offset, epoch))) == end(offset, epoch)


@pytest.mark.parametrize("name", ["bootstrap.checkpoint", "1-1.checkpoint", checkpoint_name(end(1, 1)) + ".part"])
def test_other_names_are_no_checkpoints_of_the_log(name: str) -> None:
    assert parse_checkpoint_name(name) is None


def test_the_newest_is_that_of_the_greatest_offset() -> None:
    files = files_with_directory()
    assert newest_checkpoint(files, "/data") is None
    for offset, epoch in ((9, 2), (100, 3), (20, 1)):
        files.open(f"/data/{checkpoint_name(end(offset, epoch))}", create=True)
    files.open(f"/data/{checkpoint_name(end(500, 3))}.part", create=True)
    assert newest_checkpoint(files, "/data") == end(100, 3)
    assert remove_unfinished(files, "/data") == [checkpoint_name(end(500, 3)) + ".part"]
    assert len(files.listdir("/data")) == 3


def test_a_checkpoint_that_is_cut_anywhere_is_refused() -> None:
    files = files_with_directory()
    whole = b"".join(build_checkpoint([b"a", b"b"], epoch=Epoch(1), times=TIMES))
    ends = {position for position, _ in iter_batches(whole)}
    for size in range(len(whole)):
        handle = files.open("/data/c", create=True)
        handle.truncate(0)
        handle.pwrite(whole[:size], 0)
        with pytest.raises((CorruptBatchError, CorruptFileError)) as caught:
            read_checkpoint(files, "/data/c")
        if size in ends and size:
            assert "it does not end with a snapshot footer" in str(caught.value)


def test_a_bit_that_flips_anywhere_is_found() -> None:
    files, path = files_with_directory(), "/data/" + checkpoint_name(end(30, 7))
    values = [bytes([n]) * 5 for n in range(8)]
    write_checkpoint(files, path, build_checkpoint(values, epoch=Epoch(7), times=TIMES, kraft_version=1))
    check_checkpoint(files, path, end(30, 7))
    for position in range(len(files.content(path))):
        for bit in range(8):
            files.rot(path, position, 1 << bit)
            with pytest.raises((CorruptBatchError, CorruptFileError)):
                check_checkpoint(files, path, end(30, 7))
            with pytest.raises((CorruptBatchError, CorruptFileError)):
                load_snapshot(files, path, end(30, 7))
            files.rot(path, position, 1 << bit)


def test_a_log_is_no_checkpoint() -> None:
    log = FIXTURES / "basic/node-1/data/__cluster_metadata-0/00000000000000000000.log"
    with pytest.raises(CorruptFileError, match="it does not begin with a snapshot header"):
        read_checkpoint(OsFiles(), str(log))


def test_a_crash_leaves_a_whole_checkpoint_or_none() -> None:
    batches = list(build_checkpoint([b"a" * 500, b"b" * 500], epoch=Epoch(1), times=TIMES))
    counted = files_with_directory()
    write_checkpoint(counted, "/data/c.checkpoint", batches)
    met = set()
    for change in range(2, counted.changes + 1):
        for draw in range(30):
            files = files_with_directory()
            files.crash_at = change
            with pytest.raises(SimulatedCrash):
                write_checkpoint(files, "/data/c.checkpoint", batches)
            files.crash(draw)
            there = files.exists("/data/c.checkpoint")
            met.add(there)
            if there:
                assert list(read_checkpoint(files, "/data/c.checkpoint").values()) == [b"a" * 500, b"b" * 500]
            write_checkpoint(files, "/data/c.checkpoint", batches)
    assert met == {True, False}


def test_a_full_disk_leaves_the_old_checkpoint() -> None:
    files = files_with_directory()
    write_checkpoint(files, "/data/c", build_checkpoint([b"old"], epoch=Epoch(1), times=TIMES))
    files.free_bytes = 50
    with pytest.raises(OSError, match="no space left"):
        write_checkpoint(files, "/data/c", build_checkpoint([b"new"], epoch=Epoch(1), times=TIMES))
    assert list(read_checkpoint(files, "/data/c").values()) == [b"old"]
