"""Records that accepted repairs discarded and copies here may still hold: the sentences and steps about them.

Decides: whether a start of the voters could destroy such records. Must not know: which repair is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from metadata_log.ids import ReplicaKey
from metadata_log.tools.replicas.voters_in_force import is_voter
from metadata_log.tools.words import offsets
from metadata_log.voters import majority_of
from quorum.recovery.advice.obstacles import undo_lines
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.abandoned_branch import repair_beside
from quorum.recovery.evidence.historical_extents import accepted_losses_of, holds, is_last
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.journal.accepted_loss import Accepted, AcceptedLoss
from quorum.recovery.journal.next_steps import Step, command, step_of
from quorum.recovery.journal.repair_facts import LostRecords

_COMMITTED = {"was": "committed", "partly": "committed in part"}


class DiscardedRecords(msgspec.Struct, frozen=True, kw_only=True):
    """Records that a repair of `copy` discarded, and the copies here that still hold some of them."""

    copy: Copy
    done: Accepted
    lost: AcceptedLoss
    holders: tuple[Copy, ...]

    @property
    def is_usable(self) -> bool:
        """Return True if a node could go on with the records from a copy here: no record before them fails."""
        stops = [copy.prefix.unplayed for copy in self.holders]
        return any(at is None or at > self.lost.start for at in stops)

    def __str__(self) -> str:
        committed = _COMMITTED.get(self.lost.committed, "which may have been committed")
        names = ", ".join(copy.label for copy in self.holders)
        them = "them" if self.lost.end - self.lost.start > 1 else "it"
        hold = "hold" if len(self.holders) > 1 else "holds"
        kept = f"{names} still {hold} {them}" if names else f"no copy here holds {them}"
        whose = "" if self.lost.node_id == self.copy.node_id else f" of {self.lost.label}"
        what = f"{offsets(self.lost.start, self.lost.end)}{whose}"
        name = name_of(self.copy, self.done)
        if self.lost.held_by:
            voters = ", ".join(map(str, self.lost.held_by))
            return f"{name} cut {what} ({committed}), which voters {voters} held then; {kept}"
        return f"{name} discarded {what} ({committed}), as its operator accepted; {kept}"


def name_of(copy: Copy, done: Accepted) -> str:
    """Return the name of a repair in sentences."""
    return f"`kraft recover {done.action}` of {done.at} on {copy.label}"


def discarded_records(known: RepairEvidence) -> list[DiscardedRecords]:
    """Return all discarded records."""
    return [
        DiscardedRecords(
            copy=copy,
            done=done,
            lost=_judged(known, copy, done, lost),
            holders=tuple(other for other in known.copies if other is not copy and holds(other, done, lost)),
        )
        for copy in known.copies
        for done, lost in accepted_losses_of(copy)
    ]


def _judged(known: RepairEvidence, copy: Copy, done: Accepted, lost: AcceptedLoss) -> AcceptedLoss:
    """Return the loss as it is known now: other copies may prove that the records were committed."""
    best = known.best
    is_held = best.end.offset >= lost.end and holds(best, done, lost) and is_last(copy, done, lost)
    is_committed = is_held and known.bounds.lower >= lost.end
    return msgspec.structs.replace(lost, committed="was") if is_committed else lost


def is_fetched_again(known: RepairEvidence, one: DiscardedRecords) -> bool:
    """Return True if every majority of the voters has a voter that holds the records.

    Then that voter leads, and the one that was cut fetches them again.
    """
    if not known.voters or not is_last(one.copy, one.done, one.lost):
        return False
    return all(_without(known, one, voters) < majority_of(len(voters)) for voters in known.in_force.sets)


def endangered(known: RepairEvidence) -> list[DiscardedRecords]:
    """Return discarded records that a copy here still holds, but that a leader without them could destroy.

    Records that no node could go on with are left out.
    """
    return [
        one
        for one in discarded_records(known)
        if one.is_usable and known.is_voter(one.copy) and is_last(one.copy, one.done, one.lost)
        if not is_fetched_again(known, one)
    ]


def _without(known: RepairEvidence, one: DiscardedRecords, voters: Sequence[ReplicaKey]) -> int:
    """Return how many of these voters do not hold the records, or may not.

    A voter that was proven to hold them counts even if it is not here. A damaged copy does not count, since its node
    does not start. Of two copies of a node, the one that was cut may be the one that starts.
    """
    cut = {
        copy.node_id
        for copy in known.copies
        for done, lost in accepted_losses_of(copy)
        if is_last(copy, done, lost) and lost.start < one.lost.end and one.lost.start < lost.end
    }
    last = [copy for copy in one.holders if known.is_authoritative(copy) and is_voter(copy.place.key, voters)]
    whole = [copy for copy in last if copy.stop is None and copy.short is None]
    held = {copy.node_id for copy in whole if copy.end.offset >= one.lost.end} - cut
    here = {copy.node_id for copy in known.copies}
    return len(voters) - len(held | {node for node in one.lost.held_by if node not in here})


def not_whole(known: RepairEvidence) -> tuple[str, ...]:
    """Return sentences about metadata that is or may be lost, by the audit files of these directories."""
    said = [str(one) for one in discarded_records(known) if not one.holders or not is_fetched_again(known, one)]
    for copy in known.copies:
        for done in copy.audited.accepted:
            if done.new_epoch is None or done.may_lose is None:
                continue
            if known.best.end.epoch >= done.new_epoch:
                may_lose = done.may_lose.as_read_later
                said.append(f"{name_of(copy, done)} may have lost, as it said then, {may_lose}")
    said += elsewhere(known)
    return tuple(dict.fromkeys(said))


def left_behind_here(known: RepairEvidence, loses: Sequence[LostRecords]) -> list[str]:
    """Return sentences about records of copies here that the kept log lacks, unless they were never committed.

    These need no audit file. `loses`: records that other copies hold and the kept one does not.
    """
    beside = [copy.label for copy in known.copies if repair_beside(known.copies, copy) is not None]
    left = [one for one in loses if one.committed != "never"]
    by_repair = [one.label in beside and not one.is_uncompared for one in left]
    return [f"{'a repair left behind ' if is_so else ''}{one}" for one, is_so in zip(left, by_repair, strict=True)]


def elsewhere(known: RepairEvidence) -> list[str]:
    """Return sentences about repairs by audit files of which no copy has a record: a running quorum may have them."""
    return [
        f"{name_of(copy, done)} began epoch {done.new_epoch}, and no copy here has anything of it: another log lies "
        "there now"
        for copy in known.copies
        for done in copy.audited.accepted
        if done.new_epoch is not None and done.new_epoch > known.best.end.epoch
    ]


def danger(known: RepairEvidence, found: Sequence[DiscardedRecords]) -> str:
    """Return a sentence, without its period, about the records that a start would destroy."""
    voters = dict.fromkeys(str(one.copy.node_id) for one in found)
    holders = dict.fromkeys(copy.label for one in found for copy in one.holders)
    start, end = min(one.lost.start for one in found), max(one.lost.end for one in found)
    them, are = ("it", "it is") if end - start == 1 else ("them", "they are")
    return (
        f"Voter{'s' if len(voters) > 1 else ''} {', '.join(voters)} once held {offsets(start, end)}, which "
        f"repairs discarded, and {', '.join(holders)} still {'hold' if len(holders) > 1 else 'holds'} {them}. A "
        f"majority of the {len(known.voters)} voters can elect a leader without {them}, and then {are} cut there, too"
    )


def keep_first(known: RepairEvidence) -> list[Step]:
    """Return the steps before any node starts from these copies."""
    found = discarded_records(known)
    risky = endangered(known)
    steps = [*_take_back(known, risky)] if risky else []
    others = [one for one in found if one.is_usable and one not in risky and not is_fetched_again(known, one)]
    if others:
        names = ", ".join(dict.fromkeys(copy.label for one in others for copy in one.holders))
        undo = dict.fromkeys(undo_lines(known, (one.copy for one in others if not one.lost.held_by)))
        back = " To go on from these records instead, undo the repair, and inspect all again" if undo else ""
        steps.append(
            step_of(
                text=f"Keep a copy of {names} for good before it starts, or is moved away: nothing else here holds "
                f"the discarded records.{back}",
                commands=tuple(undo),
            )
        )
    if elsewhere(known):
        steps.append(
            Step(
                text=f"Start nothing before you know the outcome of that repair: {'; '.join(elsewhere(known))}. If "
                "nodes run with that epoch, these are old copies, and would form a second quorum"
            )
        )
    absent = [f"voter {node}" for node in known.absent_voters] + [f"broker {node}" for node in known.absent_brokers]
    if absent and any(not one.holders and is_last(one.copy, one.done, one.lost) for one in found):
        steps.append(
            Step(
                text=f"Look for copies of what is not here ({', '.join(absent)}), and inspect them with these before "
                "anything starts: one may still hold the discarded records"
            )
        )
    return steps


def _take_back(known: RepairEvidence, risky: Sequence[DiscardedRecords]) -> Iterator[Step]:
    dirs = [copy.place.log_dir for copy in known.copies]
    names = ", ".join(dict.fromkeys(one.copy.label for one in risky))
    holders = ", ".join(dict.fromkeys(copy.label for one in risky for copy in one.holders))
    lines = dict.fromkeys(undo_lines(known, (one.copy for one in risky if not one.lost.held_by)))
    look = command("kraft", "recover", "inspect", *dirs)
    yield step_of(
        text=f"Start none of {names}: a leader that they elect lacks records that {holders} still holds"
        f"{'. Undo the loss there, the latest repair first, and inspect all again' if lines else ''}",
        commands=(*lines, look) if lines else (),
    )
    other = "Or, if that cannot be undone, go on" if lines else "That cannot be undone: go on"
    yield Step(text=f"{other} from {holders} in a new epoch, as follows")
