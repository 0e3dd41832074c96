"""Settings of the interpreter that a server's process wants, and a test's does not.

Decides: garbage collection and thread switching. Must not know: what runs.
"""

from __future__ import annotations

import gc
import sys
from typing import Final

_SWITCH_INTERVAL_S: Final = 0.0005
"""The writer thread comes back from a sync and needs the interpreter at once: the default of 5 ms is many commits."""
_YOUNG_OBJECTS: Final = 50_000
"""Collections in between look at young objects only; most of ours are not tracked at all (`gc=False`)."""


def tune() -> None:
    """Call once when a node has started: what is there by now will stay, and is never looked at again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, 20, 50)
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
