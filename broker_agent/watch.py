"""The inotify watch on an agent's log directories: entries that other processes remove or add lead to a comparison.

Decides: when to compare in addition to the hourly comparison. Without inotify, or at its limits, only the hourly
comparison remains.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Final, Protocol

import structlog

if TYPE_CHECKING:
    from inotify_simple import INotify

    from broker_agent.partitions import Partitions

_GATHER_S: Final = 1.0
"""The wait after the first event: a move or a copy causes several."""
_REST_S: Final = 5.0
"""The pause after a comparison: a process that makes and removes directories without end costs little."""
_MOST_ENTRIES: Final = 10_000
"""Entries remembered while the agent holds. If there are more, the comparison covers all."""

log = structlog.get_logger("broker_agent")


class Watch:
    """Collects entries that came or went directly below some directories. Made and closed in the loop's thread."""

    def __init__(self, inotify: INotify, paths: Iterable[str]) -> None:
        """Watch these directories; `failed` has the ones that cannot be watched, with reasons."""
        from inotify_simple import flags  # noqa: PLC0415 - not on every system

        self.has_changed = asyncio.Event()
        self.failed: dict[str, str] = {}
        self._inotify = inotify
        self._paths: dict[int, str] = {}
        self._entries: set[tuple[str, str]] = set()
        self._is_blind = False
        moves = flags.CREATE | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO
        itself = flags.DELETE_SELF | flags.MOVE_SELF | flags.ONLYDIR
        for path in paths:
            try:
                self._paths[inotify.add_watch(path, moves | itself)] = path
            except OSError as error:
                self.failed[path] = str(error)
        asyncio.get_running_loop().add_reader(inotify.fileno(), self._on_readable)

    def close(self) -> None:
        """Stop watching, and close inotify."""
        asyncio.get_running_loop().remove_reader(self._inotify.fileno())
        self._inotify.close()

    def take(self) -> Collection[tuple[str, str]] | None:
        """Return directory and name of each changed entry since the last call, or None if some are unknown.

        Some are unknown if the kernel's queue overflowed, or a watched directory itself was moved or removed.
        """
        entries, self._entries = self._entries, set()
        is_blind, self._is_blind = self._is_blind, False
        self.has_changed.clear()
        return None if is_blind else entries

    def _on_readable(self) -> None:
        for event in self._inotify.read(timeout=0):
            path = self._paths.get(event.wd)
            if path is not None and event.name:
                self._entries.add((path, event.name))
            else:
                self._is_blind = True
        if len(self._entries) > _MOST_ENTRIES:
            self._entries, self._is_blind = set(), True
        self.has_changed.set()


class WatchingAgent(Protocol):
    """The part of the agent that the watch needs."""

    @property
    def partitions(self) -> Partitions: ...

    async def compare_if_changed(self, entries: Collection[tuple[str, str]] | None) -> bool: ...


def new_inotify() -> INotify:
    """Return a new inotify instance.

    Raises:
        OSError: the kernel's limit is reached, or the system has no inotify.
    """
    if sys.platform != "linux":
        raise OSError("this system has no inotify")
    from inotify_simple import INotify  # noqa: PLC0415 - not on every system

    return INotify()


async def watch_log_dirs(agent: WatchingAgent, inotify: Callable[[], INotify] = new_inotify) -> None:
    """Compare soon after another process removed, renamed or added a directory. Runs until cancelled.

    Raises:
        OSError: as `Agent.run`.
    """
    try:
        watch = Watch(inotify(), agent.partitions.log_dirs.values())
    except OSError as error:
        _warn(str(error))
        await asyncio.Event().wait()
        return
    if watch.failed:
        _warn("; ".join(f"{path}: {why}" for path, why in sorted(watch.failed.items())))
    try:
        while True:
            await watch.has_changed.wait()
            await asyncio.sleep(_GATHER_S)
            if await agent.compare_if_changed(watch.take()):
                await asyncio.sleep(_REST_S)
    finally:
        watch.close()


def _warn(why: str) -> None:
    log.warning(
        "log directories are not watched: what others remove there is seen by the hourly comparison",
        why=why,
        what="raise fs.inotify.max_user_instances and max_user_watches, or use kraft agent verify",
    )
