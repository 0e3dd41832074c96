"""The sentences on an epoch near the largest possible one: the elections left, and the advice.

Must not know: how an epoch is reset, and files.

An epoch above the log's last comes from a foreign node's request or a changed file, and can be reset. An epoch that the
log itself has cannot be lowered.
"""

from __future__ import annotations

from metadata_log.offsets import LARGEST_EPOCH, epochs_left, is_near_last_epoch
from metadata_log.tools.findings.advice import EPOCHS_ENDED, EPOCHS_IN_LOG, OBSERVER_ENDED


def elections_left(epoch: int) -> str:
    """Return the start of a sentence that says how many elections are possible above this epoch."""
    left = epochs_left(epoch)
    if left == 0:
        return "No election is possible any more"
    return f"Only {left} more election{' is' if left == 1 else 's are'} possible"


def what_to_do(epoch: int, *, in_log: int, is_observer: bool) -> str:
    """Return the advice for a node of this epoch. `in_log`: the last epoch of its log."""
    if is_near_last_epoch(in_log) and epoch <= in_log + 1:
        return EPOCHS_IN_LOG
    return OBSERVER_ENDED if is_observer else EPOCHS_ENDED


def meaning_of(epoch: int, *, in_log: int, is_observer: bool) -> str:
    """Return the sentences on a node's epoch near the largest one. `in_log`: the last epoch of its log."""
    said = f"it is of epoch {epoch}, and epochs end at {LARGEST_EPOCH}"
    if is_observer and epoch > in_log:
        said += ": it ignores every leader of a lower epoch"
    else:
        left = elections_left(epoch)
        said += f": {left[0].lower()}{left[1:]}"
    if is_near_last_epoch(in_log):
        return f"{said}. The log itself has records of epoch {in_log}"
    return f"{said}. A request from outside the cluster, or a changed file, raised the epoch"
