"""Names that must be durable before the writer goes on: a crash in any later call leaves them so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from metadata_log.files.simulated_files import SimulatedCrash, SimulatedFiles
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.storage.checkpoint import CheckpointTimes, build_checkpoint, checkpoint_name, received_name
from metadata_log.storage.write_ops import AdoptCheckpoint, WriteOp
from tests.unit.metadata_log.log_support import DIRECTORY, FIRST_SEGMENT, OpenLog, open_at

DRAWS = [draw * 0x9E3779B97F4A7C15 for draw in range(12)]
END = OffsetAndEpoch(offset=Offset(100), epoch=Epoch(7))
PRODUCER_STATE = "00000000000000000004.snapshot"


def _write(files: SimulatedFiles, name: str, data: bytes) -> None:
    handle = files.open(f"{DIRECTORY}/{name}", create=True)
    handle.pwrite(data, 0)
    handle.fdatasync()
    files.fsync_dir(DIRECTORY)


def _to_replace() -> tuple[SimulatedFiles, OpenLog, WriteOp]:
    files = SimulatedFiles()
    opened = open_at(files, segment_bytes=200)
    for _ in range(5):
        opened.append((1, [b"x" * 20, b"y" * 20]))
    checkpoint = build_checkpoint((), epoch=END.epoch, times=CheckpointTimes.at(7, last_contained_ms=5))
    _write(files, received_name(END), b"".join(checkpoint))
    adopt = AdoptCheckpoint(part=received_name(END), name=checkpoint_name(END))
    return files, opened, opened.log.stage_replace(END, adopt)


def _to_cut() -> tuple[SimulatedFiles, OpenLog, WriteOp]:
    """A log with a producer state, as Kafka leaves it, and a cut before that within the only segment."""
    files = SimulatedFiles()
    opened = open_at(files)
    for _ in range(6):
        opened.append((1, [b"x" * 20]))
    _write(files, PRODUCER_STATE, b"")
    return files, opened, opened.log.stage_truncate(Offset(3))


def _crashed_at(call: int, made: Callable[[], tuple[SimulatedFiles, OpenLog, WriteOp]]) -> tuple[SimulatedFiles, bool]:
    """Return the files as the process left them, and whether it died in that changing call of the step."""
    files, opened, op = made()
    files.crash_at = files.changes + call
    try:
        opened.writer.execute([op])
    except SimulatedCrash:
        return files, True
    return files, False


@pytest.mark.parametrize("draw", DRAWS)
def test_an_adopted_checkpoint_has_its_name_for_good_before_the_next_step(draw: int) -> None:
    name, renamed, call, has_died = f"{DIRECTORY}/{checkpoint_name(END)}", 0, 0, True
    while has_died:
        call += 1
        files, has_died = _crashed_at(call, _to_replace)
        renamed = renamed or (call if files.exists(name) else 0)
        files.crash(draw)
        if renamed and call > renamed + 1:  # the call after the rename is the sync of the directory
            assert files.exists(name), call
    assert call > renamed + 3


@pytest.mark.parametrize("draw", DRAWS)
def test_what_a_cut_makes_stale_is_gone_for_good_before_the_segment_is_shorter(draw: int) -> None:
    files, _, _ = _to_cut()
    size, cut, call, has_died = len(files.content(FIRST_SEGMENT)), 0, 0, True
    while has_died:
        call += 1
        files, has_died = _crashed_at(call, _to_cut)
        files.crash(draw)
        if len(files.content(FIRST_SEGMENT)) < size:
            cut += 1
            assert not files.exists(f"{DIRECTORY}/{PRODUCER_STATE}"), call
    assert cut
