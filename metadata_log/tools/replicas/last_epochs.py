"""Finds replicas whose epoch is near the largest possible one.

Decides: the severity. If the log itself has such an epoch, no reset helps, and it is a note. Must not know: files.
"""

from __future__ import annotations

from collections.abc import Iterator

from metadata_log.directory import QUORUM_STATE_FILE
from metadata_log.offsets import epochs_left, is_near_last_epoch
from metadata_log.tools.findings.finding import Finding, Severity, finding
from metadata_log.tools.findings.last_epochs import meaning_of, what_to_do
from metadata_log.tools.replicas.replica import Replica
from metadata_log.tools.replicas.replica_set import ReplicaSet


def near_last_epoch(view: ReplicaSet) -> Iterator[Finding]:
    """Yield a finding for each `quorum-state` after whose epoch few or no elections are possible."""
    for replica in view.replicas:
        state = replica.facts.quorum_state
        if state is not None and is_near_last_epoch(state.leader_epoch):
            yield _finding(view, replica, int(state.leader_epoch))


def _finding(view: ReplicaSet, replica: Replica, epoch: int) -> Finding:
    in_log, is_observer = int(replica.last_epoch), not view.may_be_voter(replica) and len(view.voters.keys) > 0
    is_grave = epochs_left(epoch) == 0 or (is_observer and epoch > in_log)
    is_lasting = is_near_last_epoch(in_log) and epoch <= in_log + 1
    return finding(
        "quorum_state_ahead",
        meaning_of(epoch, in_log=in_log, is_observer=is_observer),
        severity=Severity.ERROR if is_grave else Severity.NOTE if is_lasting else None,
        node_id=replica.source.node_id,
        file=f"{replica.facts.directory}/{QUORUM_STATE_FILE}",
        epoch=epoch,
        advice=what_to_do(epoch, in_log=in_log, is_observer=is_observer),
    )
