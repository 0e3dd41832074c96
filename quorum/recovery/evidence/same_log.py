"""Copies of one log, by the rules of `metadata_log.tools.replicas.same_log`.

Decides: which copies may be compared.
"""

from __future__ import annotations

from metadata_log.tools.replicas import same_log
from metadata_log.tools.replicas.same_log import SameLog, traces_of_prefix
from quorum.recovery.copies.log_copy import Copy


def shows_one_log(one: Copy, other: Copy) -> bool:
    """Return True if something shows that both copies are of one log.

    An empty log counts as part of any log: it holds nothing that could be lost or contradicted.
    """
    if one is other or one.end.offset == 0 or other.end.offset == 0:
        return True
    return same_log.same_log(traces_of_prefix(one.prefix), traces_of_prefix(other.prefix)) is SameLog.SHOWN


def contradiction(one: Copy, other: Copy) -> str | None:
    """Return how the metadata of both copies rules out one log; None if it does not, or if they share a batch."""
    return same_log.contradiction(traces_of_prefix(one.prefix), traces_of_prefix(other.prefix))
