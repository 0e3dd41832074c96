"""Settings of the interpreter for a server process; tests do not use them.

Decides: garbage collection and thread switching. Must not know: which program runs.
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
"""The writer thread needs the interpreter at once after a sync: the default of 5 ms is many commits."""
_YOUNG_OBJECTS: Final = 10_000
"""A collection looks at so many young objects, few enough to delay no request. The nodes of the image's maps have up
to 32 children each, and 50,000 of them take 60 ms. Most objects of this software are not tracked at all
(`gc=False`)."""
_YOUNG_BEFORE_ALL_RECENT: Final = 1000
"""The number of young collections before one of all recent objects, unless the process is idle earlier. After a
hundred, with half a million new map entries, it takes 0.35 s. Under load each controller would need it at the same
moment."""
_RECENT_BEFORE_ALL: Final = 1000
_LOOK_S: Final = 1.0
_IDLE_SHARE: Final = 0.2
"""The share of a core below which a process counts as idle."""
_WORTH: Final = 10
"""The number of young collections after which another look is worthwhile: it takes 35 ms."""


@contextmanager
def without_collections() -> Iterator[None]:
    """Disable collections while an image is built from a checkpoint: nothing becomes garbage, and they take a
    quarter of the time."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def tune() -> None:
    """Freeze all present objects and set the thresholds. Call once after the start: those objects stay, and are
    never scanned."""
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, _YOUNG_BEFORE_ALL_RECENT, _RECENT_BEFORE_ALL)
    sys.setswitchinterval(_SWITCH_INTERVAL_S)


async def collect_when_idle() -> None:
    """Collect recent objects whenever the process is idle, until cancelled. This frees cycles, such as those of
    gRPC's calls."""
    while True:
        used_s = time.process_time()
        await asyncio.sleep(_LOOK_S)
        is_idle = time.process_time() - used_s < _IDLE_SHARE * _LOOK_S
        if is_idle and gc.get_count()[1] >= _WORTH:
            gc.collect(1)
