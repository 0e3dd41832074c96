"""Settings of the interpreter that a server's process wants, and a test's does not.

Decides: garbage collection and thread switching. Must not know: what runs.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_SWITCH_INTERVAL_S: Final = 0.0005
"""The writer thread comes back from a sync and needs the interpreter at once: the default of 5 ms is many commits."""
_YOUNG_OBJECTS: Final = 10_000
"""Collections in between look at young objects only, and at few enough that nobody waits for one: the nodes of the
image's maps have up to 32 children each, and 50,000 of them take 60 ms. Most of what is ours is not tracked at all
(`gc=False`)."""
_YOUNG_BEFORE_ALL_RECENT: Final = 100


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
    gc.set_threshold(_YOUNG_OBJECTS, _YOUNG_BEFORE_ALL_RECENT, 50)
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
