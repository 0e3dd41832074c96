"""Settings of the interpreter that a server's process wants, and a test's does not.

Decides: garbage collection and thread switching. Must not know: what runs.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_SWITCH_INTERVAL_S: Final = 0.0005
"""The writer thread comes back from a sync and needs the interpreter at once: the default of 5 ms is many commits."""
_YOUNG_OBJECTS: Final = 10_000
"""Collections in between look at young objects only, and at few enough that nobody waits for one: the nodes of the
image's maps, configs' for one, have up to 32 children each, and 50,000 of them take 60 ms. Most of what is ours is not
tracked at all (`gc=False`)."""
_YOUNG_BEFORE_ALL_RECENT: Final = 1000
"""Collections of young objects before one of all recent ones, unless there is time for that earlier: after a hundred,
half a million new entries of such maps, it takes 0.35 s, and under load each controller needs it at the same moment."""
_RECENT_BEFORE_ALL: Final = 1000
_LOOK_S: Final = 1.0
_IDLE_SHARE: Final = 0.2
"""Of a core: a process that has used less since the last look is idle."""
_WORTH: Final = 10
"""So many collections of young objects leave enough to look through again: 35 ms."""


@contextmanager
def without_collections() -> Iterator[None]:
    """While an image is made of a checkpoint nothing becomes garbage; looking for it takes a quarter of the time."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def tune() -> None:
    """Call once when a node has started: what is there by now will stay, and is never looked at again."""
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, _YOUNG_BEFORE_ALL_RECENT, _RECENT_BEFORE_ALL)
    sys.setswitchinterval(_SWITCH_INTERVAL_S)


async def collect_when_idle() -> None:
    """Look through recent objects whenever there is little else to do; until cancelled. What is left behind in cycles,
    as by gRPC's calls, goes then."""
    while True:
        used_s = time.process_time()
        await asyncio.sleep(_LOOK_S)
        is_idle = time.process_time() - used_s < _IDLE_SHARE * _LOOK_S
        if is_idle and gc.get_count()[1] >= _WORTH:
            gc.collect(1)
