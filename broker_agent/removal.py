"""Staged directories, and when they may be removed, by two clocks.

A staged directory is removed when two conditions hold. The wall clock is past the written time. The delay has elapsed
on the monotonic clock, summed over the agent's runs. The wall clock alone may be set ahead by hours. The agent's own
clock alone would not keep the announced time. If the wall clock goes back, that time moves: it could be years away.

Must not know the image. Its calls block on the disk; the caller makes one call at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
import structlog

from broker_agent import storage
from broker_agent.journal import Journal
from broker_agent.storage import PartitionDirectory, RemovalTimes, StagedDirectory
from metadata_log.files.port import Files
from metadata_log.ids import TopicId
from metadata_log.tools.times import time_text

JUMP_MS: Final = 60_000
"""If wall clock and monotonic clock advance by amounts that differ by more, the wall clock was set."""
_SAVE_EVERY_MS: Final = 60_000

log = structlog.get_logger("broker_agent")


class Removals:
    """The staged directories of all log directories, and the agent's own clock."""

    def __init__(
        self,
        files: Files,
        journal: Journal,
        *,
        delay_ms: int,
        wall_ms: Callable[[], int],
        monotonic_ms: Callable[[], int],
    ) -> None:
        """`wall_ms` returns the unsmoothed wall clock, which may go backwards."""
        self._files = files
        self._journal = journal
        self._delay_ms = delay_ms
        self._wall_ms = wall_ms
        self._monotonic_ms = monotonic_ms
        self._staged: list[StagedDirectory] = []
        self._back: set[str] = set()
        """Paths of staged directories that the image assigns again."""
        self._began_ms = monotonic_ms()
        self._before_ms = journal.elapsed_ms
        self._seen = (wall_ms(), self._began_ms)

    @property
    def staged(self) -> tuple[StagedDirectory, ...]:
        """Staged directories, the first due first."""
        return tuple(sorted(self._staged, key=lambda each: (each.remove_at_ms, each.path)))

    @property
    def _elapsed_ms(self) -> int:
        return self._before_ms + self._monotonic_ms() - self._began_ms

    def open(self, log_dir: str) -> None:
        """Read the staged directories of a log directory, and log when each is removed.

        Raises:
            LogDirFailedError: its disk failed.
        """
        saved_ms, now_ms = self._journal.wall_ms, self._wall_ms()
        with storage.on_disk(log_dir):
            names = storage.staged_names(self._files, log_dir)
        if names and saved_ms is not None and now_ms < saved_ms - JUMP_MS:
            _tell_jump(now_ms - saved_ms)
        for name in names:
            with storage.on_disk(log_dir):
                each = self._read(log_dir, name)
            self._staged.append(each)
            _tell_waits(each)

    def stage(self, directory: PartitionDirectory) -> StagedDirectory:
        """Move a directory under `deleting/`, to be removed after the delay.

        Raises:
            LogDirFailedError: its disk failed.
        """
        self._look_at_clocks()
        with storage.on_disk(directory.log_dir):
            staged = storage.stage(self._files, directory, self._new_times())
        self._staged.append(staged)
        self._save_clock()
        return staged

    def forget(self, log_dir: str) -> None:
        """Forget the staged directories of a log directory that is offline."""
        self._staged = [each for each in self._staged if each.log_dir != log_dir]

    def due(self, may_go: Callable[[TopicId, int], bool]) -> list[StagedDirectory]:
        """Return the directories that may be removed now.

        Args:
            may_go: returns True if a replica was this broker's, and no longer is.
        """
        self._look_at_clocks()
        return [each for each in self._waiting(may_go) if self._wait_ms(each) <= 0]

    def next_ms(self, may_go: Callable[[TopicId, int], bool]) -> int | None:
        """Return ms until the next directory may be removed, or None if none waits."""
        return min((max(0, self._wait_ms(each)) for each in self._waiting(may_go)), default=None)

    def remove(self, each: StagedDirectory) -> None:
        """Remove a directory that is due.

        Raises:
            LogDirFailedError: its disk failed; it stays staged.
        """
        with storage.on_disk(each.log_dir):
            storage.remove(self._files, each)
        self._staged.remove(each)
        log.info("removed a stale partition", path=each.path)

    def on_image(self, is_assigned: Callable[[TopicId, int], bool]) -> None:
        """Restart a replica's delay when an image assigns it again, and when a later image does not.

        Raises:
            LogDirFailedError: its disk failed.
        """
        for index, each in enumerate(self._staged):
            is_back = each.replica is not None and is_assigned(*each.replica)
            if is_back != (each.path in self._back):
                self._back ^= {each.path}
                self._staged[index] = again = msgspec.structs.replace(each, times=self._new_times())
                with storage.on_disk(each.log_dir):
                    storage.write_times(self._files, again)
                if not is_back:
                    _tell_waits(again)

    def kept(self, may_go: Callable[[TopicId, int], bool]) -> list[StagedDirectory]:
        """Return staged directories that are never due: without proof of assignment, or assigned now."""
        return [each for each in self._staged if each.replica is None or not may_go(*each.replica)]

    def _waiting(self, may_go: Callable[[TopicId, int], bool]) -> list[StagedDirectory]:
        return [each for each in self._staged if each.replica is not None and may_go(*each.replica)]

    def _wait_ms(self, each: StagedDirectory) -> int:
        return max(each.remove_at_ms - self._wall_ms(), each.times.due_ms - self._elapsed_ms)

    def _new_times(self) -> RemovalTimes:
        now_ms, delay_ms = self._wall_ms(), self._delay_ms
        return RemovalTimes(
            remove_at_ms=now_ms + delay_ms,
            staged_at_ms=now_ms,
            delay_ms=delay_ms,
            due_ms=self._elapsed_ms + delay_ms,
        )

    def _read(self, log_dir: str, name: str) -> StagedDirectory:
        at, times = storage.read_times(self._files, log_dir, name)
        fitting = times
        if fitting is None:
            fitting = self._new_times()
            if at is not None:  # the previous release wrote only remove-at; keep the time that it announced
                fitting = msgspec.structs.replace(fitting, remove_at_ms=at)
        fitting = self._fitting(fitting)
        found = StagedDirectory(log_dir=log_dir, name=name, times=fitting)
        if fitting != times:
            storage.write_times(self._files, found)
        if fitting.remove_at_ms != at:
            _tell_changed(found, at)
        return found

    def _fitting(self, times: RemovalTimes) -> RemovalTimes:
        """Return the times, moved so that no wait is longer than the announced delay."""
        remaining_ms = max(0, times.due_ms - self._elapsed_ms)
        if remaining_ms > times.delay_ms:  # the agent's own clock was lost with its journal
            remaining_ms = times.delay_ms
            times = msgspec.structs.replace(times, due_ms=self._elapsed_ms + remaining_ms)
        if times.remove_at_ms - self._wall_ms() > remaining_ms + JUMP_MS:  # the wall clock was ahead then
            times = msgspec.structs.replace(times, remove_at_ms=self._wall_ms() + remaining_ms)
        return times

    def _look_at_clocks(self) -> None:
        wall_ms, monotonic_ms = self._wall_ms(), self._monotonic_ms()
        seen_wall_ms, seen_monotonic_ms = self._seen
        self._seen = (wall_ms, monotonic_ms)
        jump_ms = (wall_ms - seen_wall_ms) - (monotonic_ms - seen_monotonic_ms)
        if abs(jump_ms) > JUMP_MS and self._staged:
            _tell_jump(jump_ms)
            self._announce_again()
        if self._staged and self._elapsed_ms - self._journal.elapsed_ms >= _SAVE_EVERY_MS:
            self._save_clock()

    def _announce_again(self) -> None:
        for index, each in enumerate(self._staged):
            times = self._fitting(each.times)
            if times != each.times:
                again = StagedDirectory(log_dir=each.log_dir, name=each.name, times=times)
                self._staged[index] = again
                with storage.on_disk(each.log_dir):
                    storage.write_times(self._files, again)
                if times.remove_at_ms != each.remove_at_ms:
                    _tell_changed(again, each.remove_at_ms)
                _tell_waits(again)

    def _save_clock(self) -> None:
        with storage.on_disk(self._journal.directory):
            self._journal.save_clock(self._elapsed_ms, self._wall_ms())


def _tell_waits(each: StagedDirectory) -> None:
    log.warning(
        "stale partition waits for removal",
        path=each.path,
        remove_at=time_text(each.remove_at_ms),
        what="it is removed then if the metadata log proves that it was this broker's; else it is not removed",
    )


def _tell_changed(each: StagedDirectory, was_ms: int | None) -> None:
    log.warning(
        "the time of a removal was changed",
        path=each.path,
        was=None if was_ms is None else time_text(was_ms),
        remove_at=time_text(each.remove_at_ms),
        why="remove-at is missing or damaged" if was_ms is None else "it was further off than the delay",
    )


def _tell_jump(jump_ms: int) -> None:
    log.warning(
        "the wall clock was set",
        by_s=round(jump_ms / 1000),
        what="staged directories are removed when their delay has elapsed on the monotonic clock, too",
    )
