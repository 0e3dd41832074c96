"""Crashes at every call that changes a file: what was executed is there, and nothing half-written is taken."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy

import pytest

from metadata_log.errors import StorageFailedError
from metadata_log.files.os_files import OsFiles
from metadata_log.files.simulated_files import SimulatedCrash, SimulatedFiles
from metadata_log.format.epochs import EpochHistory
from metadata_log.offsets import Offset
from metadata_log.storage.log_writer import LogWriter
from tests.support.file_states import state_of
from tests.unit.metadata_log.log_support import DIRECTORY, FIRST_SEGMENT, OpenLog, contents, open_at, stage

CONFIG = {"segment_bytes": 400, "index_interval_bytes": 100}
DRAWS = range(24)


class Scenario:
    """Runs a script of groups and truncations; remembers every content the log may have after a crash.

    `promised` is what was durable at the last returned call, `possible` the contents of each moment since.
    """

    def __init__(self, files: SimulatedFiles) -> None:
        self.opened: OpenLog = open_at(files, **CONFIG)
        self.promised = b""
        self.possible = [b""]

    def _execute(self, staged: Sequence[object]) -> None:
        self.opened.writer.execute(staged)  # type: ignore[arg-type]
        self.promised = self.possible[-1]
        self.possible = [self.promised]

    def append(self, epoch: int, *sizes: int) -> None:
        """One group of batches, of one record of each size."""
        staged = []
        for size in sizes:
            staged.append(stage(self.opened.log, epoch, [bytes([epoch]) * size]))
            self.possible.append(contents(self.opened.log))
        self._execute(staged)

    def append_epochs(self, *epochs: int) -> None:
        """Append a group of batches with one epoch each, as in a Fetch response to a follower that was away."""
        staged = []
        for epoch in epochs:
            staged.append(stage(self.opened.log, epoch, [bytes([epoch]) * 30]))
            self.possible.append(contents(self.opened.log))
        self._execute(staged)

    def truncate_and_append(self, offset: int, epoch: int, size: int) -> None:
        """One group: the log is cut, and a batch of a new epoch goes in the place."""
        before = contents(self.opened.log)
        cut = self.opened.log.stage_truncate(Offset(offset))
        # Segments go one by one, the newest first: any whole-batch prefix between the two ends may be met.
        kept = contents(self.opened.log)
        self.possible += [before[:size] for size in range(len(kept), len(before) + 1)]
        appended = stage(self.opened.log, epoch, [b"n" * size])
        self.possible.append(contents(self.opened.log))
        self._execute([cut, appended])

    def run(self) -> None:
        """Groups small and large, over several segments; a truncation within one, and one across two."""
        self.append(1, 10, 20)
        self.append(1, 150, 30, 30, 200)
        self.append(2, 40)
        self.append(2, 60, 300, 10)
        self.truncate_and_append(8, 3, 50)
        self.append(3, 120, 5)
        self.truncate_and_append(3, 5, 44)
        self.append(5, 100, 200, 300)
        self.append_epochs(6, 7)
        self.opened.stop()


def crashed_at(change: int) -> tuple[SimulatedFiles, Scenario | None]:
    """Files and scenario when the process died in its changing call of that number."""
    files = SimulatedFiles()
    files.crash_at = change
    scenario = None
    try:
        scenario = Scenario(files)
        scenario.run()
    except SimulatedCrash:
        return files, scenario
    raise AssertionError(f"change {change} was never made")


def all_changes() -> range:
    files = SimulatedFiles()
    Scenario(files).run()
    return range(1, files.changes + 1)


def scenarios() -> Iterator[tuple[SimulatedFiles, Scenario | None, int, int]]:
    """Yield files after a crash, the scenario, the change, and how many draws leave these files of that change."""
    for change in all_changes():
        crashed, scenario = crashed_at(change)
        left: dict[bytes, SimulatedFiles] = {}
        draws: Counter[bytes] = Counter()
        for draw in DRAWS:
            files = deepcopy(crashed)
            files.crash(draw * 0x9E3779B97F4A7C15)
            state = state_of(files)
            left.setdefault(state, files)
            draws[state] += 1
        for state, files in left.items():
            yield files, scenario, change, draws[state]


def test_whatever_was_executed_is_there_after_a_crash_at_any_call() -> None:
    torn = half_cut = 0
    for files, scenario, change, draws in scenarios():
        opened = open_at(files, **CONFIG)
        found = contents(opened.log)
        if scenario is None:
            assert found == b"", change
            continue
        assert found in scenario.possible, (change, len(found), len(scenario.promised))
        if len(scenario.possible) and all(state.startswith(scenario.promised) for state in scenario.possible):
            assert found.startswith(scenario.promised), change
        torn += draws * (opened.report.torn_tail is not None)
        if opened.report.epochs_rebuilt is not None:
            assert opened.report.epochs_rebuilt.endswith("as a truncation that was interrupted leaves it")
            half_cut += draws
        # The epoch history agrees with what is there, and the log goes on.
        opened.append((10, [b"goes on"]))
        again = open_at(files, **CONFIG)
        assert contents(again.log) == contents(opened.log)
        assert again.report.warnings == ()
    assert torn > 20
    assert half_cut > 20


def test_a_crash_in_the_recovery_itself_loses_nothing_either() -> None:
    for change in range(1, 12):
        files, scenario = crashed_at(30)
        files.crash(7)
        files.changes = 0
        files.crash_at = change
        try:
            open_at(files, **CONFIG)
        except SimulatedCrash:
            files.crash(change)
        files.crash_at = None
        assert scenario is not None
        assert contents(open_at(files, **CONFIG).log).startswith(scenario.promised)


def test_the_epoch_history_is_durable_before_the_epochs_first_batch() -> None:
    for change in all_changes():
        files, _ = crashed_at(change)
        files.crash(5)
        if not files.exists(f"{DIRECTORY}/00000000000000000000.log"):
            continue
        opened = open_at(files, recover=False, **CONFIG)
        if opened.log.epochs != EpochHistory():
            assert files.exists(f"{DIRECTORY}/leader-epoch-checkpoint")
            rebuilt = opened.report.epochs_rebuilt
            assert rebuilt is None or "a truncation that was interrupted" in rebuilt


def test_a_failed_sync_is_never_retried() -> None:
    files = SimulatedFiles()
    opened = open_at(files)
    opened.append((1, [b"safe"]))
    safe = contents(opened.log)
    files.fail_next_fsync(".log")
    op = stage(opened.log, 1, [b"lost"])
    with pytest.raises(StorageFailedError, match=r"writing to /data/__cluster_metadata-0 failed: injected"):
        opened.writer.execute([op])
    assert not op.executed
    syncs = files.calls["fdatasync"]
    with pytest.raises(StorageFailedError, match="failed before and is not written again"):
        opened.writer.execute([op])
    assert files.calls["fdatasync"] == syncs
    files.crash(0)
    assert contents(open_at(files).log) == safe


@pytest.mark.parametrize("call", ["pwrite", "rename", "fsync_dir", "open", "truncate"])
def test_any_failing_call_stops_the_writer(call: str) -> None:
    files = SimulatedFiles()
    opened = open_at(files, segment_bytes=100)
    opened.append((1, [b"x" * 60]))
    ops = [stage(opened.log, 1, [b"y" * 60]), opened.log.stage_truncate(Offset(1)), stage(opened.log, 2, [b"z" * 60])]
    files.fail_next(call, error=errno.EIO)
    with pytest.raises(StorageFailedError):
        opened.writer.execute(ops)
    with pytest.raises(StorageFailedError, match="failed before"):
        opened.writer.execute([])


@pytest.mark.parametrize("free_bytes", range(0, 200, 7))
def test_a_full_disk_stops_the_writer_and_loses_nothing(free_bytes: int) -> None:
    files = SimulatedFiles()
    opened = open_at(files)
    opened.append((1, [b"safe"]))
    safe = contents(opened.log)
    files.free_bytes = free_bytes
    with pytest.raises(StorageFailedError, match="no space left on device"):
        opened.append((1, [b"x" * 100]), (1, [b"y" * 100]))
    files.crash(free_bytes)
    files.free_bytes = None
    assert contents(open_at(files).log).startswith(safe)


def test_a_full_disk_of_the_operating_system(tmp_path: object) -> None:
    """`/dev/full` is what a full disk looks like."""
    handle = OsFiles().open("/dev/full")
    with pytest.raises(OSError, match="No space left on device"):
        handle.pwrite(b"x", 0)
    handle.close()


def test_a_read_only_directory_says_so() -> None:
    files = SimulatedFiles()
    opened = open_at(files)
    opened.append((1, [b"safe"]))
    files.read_only = True
    with pytest.raises(StorageFailedError, match="read-only file system"):
        LogWriter(files, DIRECTORY).execute([stage(opened.log, 1, [b"x"])])
    with pytest.raises(OSError, match="read-only"):
        open_at(SimulatedFilesReadOnly())


class SimulatedFilesReadOnly(SimulatedFiles):
    """Read-only from the start."""

    def __init__(self) -> None:
        super().__init__()
        self.read_only = True


def test_the_same_draw_leaves_the_same_bytes() -> None:
    left = []
    for _ in range(2):
        files, _scenario = crashed_at(40)
        files.crash(12345)
        left.append({name: files.content(f"{DIRECTORY}/{name}") for name in files.listdir(DIRECTORY)})
    assert left[0] == left[1]
    assert FIRST_SEGMENT.rpartition("/")[2] in left[0]
