"""A process is killed, its machine is not: the next process reads what no disk has yet, and must not build on it so."""

from __future__ import annotations

import pytest

from metadata_log.directory.quorum_state import QuorumState, format_quorum_state, read_quorum_state
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.format.batch import build_batch, parse_header
from metadata_log.offsets import Epoch, Offset
from metadata_log.storage.file_log import LogWriter, open_log

LOG = "/data/log"
DRAWS = range(20)


def _killed_before_the_sync() -> SimulatedFiles:
    """One durable batch, and one that was only written."""
    files = SimulatedFiles()
    log, _ = open_log(files, LOG, recover=True)
    writer = LogWriter(files, LOG)
    first, second = (
        build_batch(base_offset=Offset(at), epoch=Epoch(1), timestamp_ms=1, values=[b"value"]) for at in (0, 1)
    )
    writer.execute([log.stage_append(first, [parse_header(first)])])
    handle = files.open(f"{LOG}/{0:020d}.log")
    handle.pwrite(second, len(first))
    return files


@pytest.mark.parametrize("draw", DRAWS)
def test_what_an_opened_log_holds_survives_a_power_cut(draw: int) -> None:
    files = _killed_before_the_sync()
    log, _ = open_log(files, LOG, recover=True)
    assert log.log_end_offset == 2
    files.crash(draw)
    again, _ = open_log(files, LOG, recover=True)
    assert again.log_end_offset == 2


def test_a_log_opened_for_reading_changes_nothing() -> None:
    files = _killed_before_the_sync()
    before = files.changes
    log, _ = open_log(files, LOG, recover=False)
    assert (log.log_end_offset, files.changes) == (2, before)


@pytest.mark.parametrize("draw", DRAWS)
def test_a_vote_that_was_renamed_but_not_synced_survives_a_power_cut(draw: int) -> None:
    """The kill comes between the rename and the sync of the directory."""
    files = _killed_before_the_sync()
    vote = QuorumState(leader_epoch=Epoch(7))
    beside = files.open(f"{LOG}/quorum-state.tmp", create=True)
    beside.pwrite(format_quorum_state(vote), 0)
    beside.fdatasync()
    files.rename(f"{LOG}/quorum-state.tmp", f"{LOG}/quorum-state")
    open_log(files, LOG, recover=True)
    assert read_quorum_state(files, LOG) == vote
    files.crash(draw)
    assert read_quorum_state(files, LOG) == vote
