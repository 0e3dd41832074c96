"""The garbage collector rests while a checkpoint is loaded, and works again whatever comes of that."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import weakref
from collections.abc import Iterator

import pytest

from quorum.node.process import interpreter
from quorum.node.process.interpreter import collect_when_idle, without_collections
from tests.support.loop import run


def test_collections_rest_and_come_back() -> None:
    with without_collections():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_they_come_back_after_a_failure() -> None:
    with pytest.raises(OSError, match="gone"), without_collections():
        raise OSError("gone")
    assert gc.isenabled()


class _Cycle:
    def __init__(self) -> None:
        self.itself = self


@pytest.mark.parametrize("is_idle", [True, False])
def test_what_has_grown_older_in_cycles_goes_when_there_is_time(is_idle: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "_LOOK_S", 0.001)
    monkeypatch.setattr(interpreter, "_IDLE_SHARE", 1e9 if is_idle else 0.0)
    monkeypatch.setattr(interpreter, "_WORTH", 0)

    async def main() -> None:
        cycle = _Cycle()
        gone = weakref.ref(cycle)
        gc.collect(0)
        del cycle
        gc.collect(0)
        assert gone() is not None, "a collection of young objects does not see it"
        looks = 0

        async def counted(delay: float) -> None:
            nonlocal looks
            looks += 1
            await sleep(delay)

        sleep = asyncio.sleep
        monkeypatch.setattr(interpreter.asyncio, "sleep", counted)
        task = asyncio.create_task(collect_when_idle())
        while looks < 5:
            await sleep(0.001)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert (gone() is None) is is_idle

    with _none_by_itself():
        run(main())


@contextlib.contextmanager
def _none_by_itself() -> Iterator[None]:
    """No collection but those that are asked for."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
