"""Whether one set of voters may follow another in a log.

Decides: how many of them may change at a time. Must not know: files, batches, and who wrote a set.

Source: KIP-853. A leader adds or removes one voter, waits until that is committed, and only then takes the next: with
two at once a majority of the old set and one of the new need not share a voter, so that both could elect. A disk that
is replaced is one removed and, later, one added.
"""

from __future__ import annotations

from collections.abc import Sequence

from metadata_log.ids import ReplicaKey, id_text
from metadata_log.tools.agreement import join_names


def voters_step_fault(before: Sequence[ReplicaKey], after: Sequence[ReplicaKey]) -> str | None:
    """What changes from one set to the next, in words, where it is more than one voter; None: it may follow."""
    gone = [voter for voter in before if voter not in after]
    new = [voter for voter in after if voter not in before]
    if len(gone) + len(new) <= 1:
        return None
    parts = [f"{what} {_named(voters)}" for what, voters in (("removes", gone), ("adds", new)) if voters]
    return f"{' and '.join(parts)} at once, where a leader changes one voter at a time"


def _named(voters: Sequence[ReplicaKey]) -> str:
    return join_names([f"node {voter.node_id} (directory {id_text(voter.directory_id)})" for voter in voters])
