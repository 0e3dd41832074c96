"""An event loop in a thread, for blocking code that calls a cluster."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs coroutines from other threads. Leaving the block cancels the tasks that still run, and ends the thread."""

    def __init__(self, name: str = "calls", *, close_timeout_s: float | None = None) -> None:
        """Start the thread.

        Args:
            name: of the thread.
            close_timeout_s: bounds the wait of `close` for the tasks, and then for the thread.
        """
        self._loop = asyncio.new_event_loop()
        self._close_timeout_s = close_timeout_s
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    @property
    def is_here(self) -> bool:
        """True if the thread runs in this process. A forked child has no copy of it."""
        return self._pid == os.getpid()

    def call(self, work: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:
        """Run `work` and return its result, or raise its error. A timeout or an interrupt cancels `work`."""
        future = self.start(work)
        try:
            return future.result(timeout_s)
        finally:
            future.cancel()

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run `work` in the background."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """Cancel the tasks that still run, and end the thread. Nothing may be started afterwards.

        Raises:
            TimeoutError: a task does not end in time.
        """
        self.start(_cancel_others()).result(self._close_timeout_s)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(self._close_timeout_s)
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
