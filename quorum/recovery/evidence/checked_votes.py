"""The findings of `kraft check` on the votes and leaders of these copies.

Decides: which of its findings keep a node from starting. Must not know: the rules, which are those of `check.votes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from metadata_log.tools.check.leaders import check_lacking_leaders, check_leaders
from metadata_log.tools.check.votes import check_votes
from metadata_log.tools.findings.advice import LEADER_HELD
from metadata_log.tools.findings.epoch_facts import ChangedEpoch, LeaderWithoutEpoch
from metadata_log.tools.findings.facts import ForgottenVote
from metadata_log.tools.findings.finding import Cause, Finding, with_advice
from metadata_log.tools.prefix.prefix_parts import CheckpointFile
from metadata_log.tools.replicas.diff import judged_sides
from metadata_log.tools.replicas.judge import LOG_MISMATCH
from metadata_log.tools.replicas.replica_set import ReplicaSet
from metadata_log.tools.replicas.voters_in_force import VotersInForce, is_voter
from metadata_log.tools.verify.voters import against_own_log, among_replicas
from quorum.recovery.copies.log_copy import Copy, by_node
from quorum.recovery.evidence.conflicts import is_passed_over


class Barred(msgspec.Struct, frozen=True, kw_only=True):
    """A voter's copy from which the node must not start, although its records count, by a finding of `kraft check`."""

    copy: Copy
    found: Finding

    def __str__(self) -> str:
        return f"{self.copy.label}: {self.found.meaning}"


class CheckedVotes:
    """The votes and leaders of copies of one log, as `kraft check` judges them.

    A copy that was not read to its end is no witness.
    """

    def __init__(self, copies: Iterable[Copy]) -> None:
        copies = by_node(copies)
        view = self._view = ReplicaSet([copy.replica for copy in copies if copy.replica is not None])
        judged, self.tie = judged_sides(view)
        """`tie`: the first offset at which these logs part and nothing shows which side committed, or None."""
        logs = [one.voters_log for one in view.replicas]
        own = (one for log in logs for one in against_own_log(log.facts, log.node_id))
        # A repair names its voters itself: the others' checkpoints are no proof against what it wrote.
        repaired = [one for one in copies if one.repair is not None or _is_after_repair(copies, one)]
        quorum = [one for one in (*own, *among_replicas(logs)) if not any(_is_about(one, copy) for copy in repaired)]
        self._findings = (*check_votes(view), *check_leaders(view), *quorum)
        self._outrun = tuple(check_lacking_leaders(view, {index for index, _ in judged}))
        accused = (found for _, found in judged if found.kind == LOG_MISMATCH and not found.bars_start)
        accused = (found for found in accused if not isinstance(found.facts, ChangedEpoch))  # the records are the same
        # A repair replaces what it lacks, on few copies: the others' bytes are no proof against it.
        self._wrong = () if any(copy.repair is not None for copy in copies) else tuple(accused)

    @property
    def voters(self) -> VotersInForce:
        """The voters in force by these logs; without a record or a configuration, those of the last election."""
        return self._view.voters

    def doubting(self, copy: Copy) -> Finding | None:
        """Return the finding by which the copy may not be its voter's last state, or None.

        A forgotten vote is the least of them: the log may be whole. In a damaged log the damage is judged, and not the
        files that differ from it.
        """
        found = [one for one in self.barring(copy) if one.doubts_vote]
        return min(found, key=lambda one: isinstance(one.facts, ForgottenVote), default=None)

    def contradicted(self, copy: Copy) -> Finding | None:
        """Return the finding that the copy is at fault where logs differ, or None. In a tie none is."""
        return next((one for one in self._wrong if _is_about(one, copy)), None)

    def outrun(self, copy: Copy) -> Finding | None:
        """Return the finding that other logs have more of the epoch that the copy's node led last, or None."""
        return next((one for one in self._outrun if _is_about(one, copy)), None)

    def barring(self, copy: Copy) -> tuple[Finding, ...]:
        """Return the findings by which the copy's node must not start from it.

        The plan has its own steps for a log that is damaged, lost its end or cannot be replayed, for unusable files and
        for checkpoints.
        """
        is_whole = copy.state is not None and not copy.held_more
        own = copy.replica.facts.findings if copy.replica is not None and is_whole else ()
        own = tuple(one for one in own if one.cause is not Cause.RECORDS)  # `impossible` has what no majority runs with
        impossible = () if copy.impossible is None else (copy.impossible.found,)
        mended = {one.path for one in copy.unread}
        mended |= {f"{copy.place.metadata}/{one.name}" for one in copy.prefix.checkpoints if _is_mended(one)}
        found = (one for one in (*self._findings, *own) if one.bars_start and _is_about(one, copy))
        return (*(one for one in found if one.file not in mended), *self._of_leader(copy), *impossible)

    def unbarred(self, barred: Sequence[Barred]) -> tuple[Finding, ...]:
        """Return the findings on a leader without its epoch whose node starts nevertheless: it is not among `barred`.

        Then a majority of the others holds all records, or the node is no voter.
        """
        held = {one.copy.node_id for one in barred}
        return tuple(
            one
            for one in self._findings
            if isinstance(one.facts, LeaderWithoutEpoch) and one.facts.leader_id not in held
        )

    def _of_leader(self, copy: Copy) -> Iterator[Finding]:
        """Yield the findings that the copy's node led an epoch of which its directory knows nothing."""
        for one in self._findings:
            if isinstance(one.facts, LeaderWithoutEpoch) and one.facts.leader_id == copy.node_id:
                own = msgspec.structs.replace(one, node_id=copy.node_id, meaning=one.facts.of_leader())
                yield with_advice(own, LEADER_HELD)


def barred_copies(
    checked: CheckedVotes, copies: Sequence[Copy], stale: Sequence[Copy], in_force: VotersInForce
) -> Iterator[Barred]:
    """Yield the voters' copies of one log, apart from the stale ones, from which no node must start."""
    counting = [copy for copy in copies if not any(one is copy for one in stale)]
    for copy in counting:
        if copy.used_by is not None or not any(is_voter(copy.place.key, voters) for voters in in_force.sets):
            continue
        found = checked.barring(copy)
        if found and all(one.is_until_compared for one in found):
            found = () if _hold_all(counting, copy, in_force) else found
        if found:
            yield Barred(copy=copy, found=min(found, key=lambda one: one.is_until_compared))


def _hold_all(copies: Sequence[Copy], lacking: Copy, in_force: VotersInForce) -> bool:
    """Return True if a majority of the voters holds all that is known, without this copy, which may have lost its end.

    Then no vote of its node makes a leader that lacks a committed record.
    """
    furthest = max(copy.rank for copy in copies)
    holding = [copy for copy in copies if copy is not lacking and not copy.held_more and copy.rank == furthest]
    return in_force.has_majority(copy.place.key for copy in holding)


def _is_after_repair(copies: Sequence[Copy], late: Copy) -> bool:
    """Return True if a repair that no copy shows may lie before the beginning of this log."""
    return any(is_passed_over(copies, late, early) for early in copies if early is not late)


def _is_mended(checkpoint: CheckpointFile) -> bool:
    return checkpoint.problem is not None or checkpoint.is_misnamed


def _is_about(found: Finding, copy: Copy) -> bool:
    return (found.file or "").startswith(f"{copy.place.log_dir}/")
