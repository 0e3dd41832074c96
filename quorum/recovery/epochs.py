"""The epoch in which a repair writes.

Decides: how far above all others it is. Must not know: the repair.
"""

from __future__ import annotations

from typing import Final

from quorum.recovery.conflicts import LEAST_GAP
from quorum.recovery.errors import RefusedError
from quorum.recovery.survey import Survey

MAX_EPOCH: Final = (1 << 31) - 1


def check_gap(gap: int) -> None:
    """Let a distance pass that leads above all other epochs.

    Raises:
        RefusedError: it is too short.
    """
    if gap < LEAST_GAP:
        raise RefusedError(
            f"--epoch-gap {gap}: once the repaired log is trimmed, a shorter distance looks as elections do, so give "
            f"{LEAST_GAP} or more, or leave the option out"
        )


def new_epoch(known: Survey, gap: int) -> int:
    """The epoch in which a repair writes: above every one that any copy knows of.

    Raises:
        RefusedError: `gap` is too short, or epochs run out.
    """
    check_gap(gap)
    if known.greatest_epoch + gap > MAX_EPOCH - 1:
        raise RefusedError(
            f"--epoch-gap {gap}: epoch {known.greatest_epoch} + {gap} is more than an epoch can be ({MAX_EPOCH}): "
            "give less"
        )
    return known.greatest_epoch + gap
