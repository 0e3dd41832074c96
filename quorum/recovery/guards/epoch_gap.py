"""The epoch in which a repair writes.

Decides: its distance above all other epochs.
"""

from __future__ import annotations

from metadata_log.offsets import LARGEST_EPOCH
from quorum.recovery.evidence.conflicts import LEAST_GAP
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.journal.errors import RefusedError, WrongOptionError


def check_gap(gap: int) -> None:
    """Refuse a distance above all other epochs that elections could span.

    Raises:
        WrongOptionError: it is too short.
    """
    if gap < LEAST_GAP:
        raise WrongOptionError(
            f"--epoch-gap {gap}: once the repaired log is trimmed, a shorter distance looks as elections do, so give "
            f"{LEAST_GAP} or more, or leave the option out"
        )


def new_epoch(known: RepairEvidence, gap: int) -> int:
    """Return the epoch in which a repair writes: above every epoch that any copy shows.

    Raises:
        WrongOptionError: `gap` is too short, or leads past the last epoch.
        RefusedError: too few epochs are left.
    """
    check_gap(gap)
    room = LARGEST_EPOCH - 1 - known.greatest_epoch
    if room < LEAST_GAP:
        holders = ", ".join(copy.label for copy in known.copies if copy.greatest_epoch == known.greatest_epoch)
        raise RefusedError(
            f"epoch {known.greatest_epoch}{f' of {holders}' if holders else ''} leaves no room for a new one: epochs "
            f"end at {LARGEST_EPOCH}, and no cluster comes there by elections. Compare its quorum-state with the "
            "epochs of its log (kraft log timeline): where the logs have no such epoch, `kraft recover epoch` resets "
            "that file"
        )
    if gap > room:
        raise WrongOptionError(
            f"--epoch-gap {gap}: epoch {known.greatest_epoch} + {gap} is more than an epoch can be ({LARGEST_EPOCH}): "
            f"give {room} at most"
        )
    return known.greatest_epoch + gap
