"""Judges conflicts: replicas hold different batches at one offset, or name different leaders of one epoch.

Decides: which side is wrong, and whether the difference is an uncommitted tail or lost committed records. Must not
know: files, and how the differences were found. Sources: KIP-595; Raft 5.3, 5.4.

Two batches of one offset and epoch must have the same bytes (log matching). Of two epochs at one offset, the lower may
be an old leader's uncommitted tail, which its replica will truncate. It is not if that batch is known to be committed.
If the checksums are equal, it is one batch, and its epoch, which the checksum does not cover, was changed. A side whose
own logs deny its epoch is wrong even if it is the majority: two disks may have the same fault. If nothing shows which
side is wrong, one finding covers all, and names no node. A single log never causes the advice to empty another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from metadata_log.tools.findings.advice import ASK, TIE
from metadata_log.tools.findings.epoch_facts import ONE_BATCH, ChangedEpoch
from metadata_log.tools.findings.facts import Facts
from metadata_log.tools.findings.finding import Finding, Severity, finding
from metadata_log.tools.findings.remedy import Advice
from metadata_log.tools.replicas.committed_bounds import CommittedBounds
from metadata_log.tools.replicas.divergence import Conflict, Held
from metadata_log.tools.words import join_names
from metadata_log.voters import majority_of

LOG_MISMATCH: Final = "log_mismatch"
_NO_PLACES: Final[Mapping[int, tuple[str, int]]] = {}
_Judged: TypeAlias = tuple[int, Finding]
"""The index of a replica, and a finding about it."""


class ReplicaView(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of a replica that the judge needs. `known_committed`, `committed_before`: see `ReplicaExtent`.

    `is_sound`: True if its batches follow one another. `denied_epochs`: offsets of batches whose epoch its own log or
    sidecar files deny. `denied_batches`: file and position of batches that its own log shows to be impossible there.
    """

    label: str
    node_id: int | None
    is_voter: bool
    last_epoch: int
    known_committed: int
    committed_before: int = 0
    is_sound: bool = True
    denied_epochs: frozenset[int] = frozenset()
    denied_batches: frozenset[tuple[str, int]] = frozenset()


class Judge:
    """Judges conflicts among replicas, by their index in `replicas`."""

    def __init__(
        self, replicas: Sequence[ReplicaView] | Mapping[int, ReplicaView], voter_count: int, bounds: CommittedBounds
    ) -> None:
        self._replicas = replicas
        self._majority = majority_of(voter_count)
        self._has_voters = voter_count > 0
        self._bounds = bounds
        self._contradicted = frozenset[int]()
        """The replicas that differ from most others at some offset."""

    def weigh(self, conflicts: Iterable[Conflict]) -> None:
        """Note which replicas differ from most others at some offset; this decides if nothing else does."""
        found = set[int]()
        for conflict in conflicts:
            for sides in _by_epoch(conflict.sides).values():
                reference = self._reference([side.holders for side in sides])
                if reference is not None:
                    found.update(*(side.holders for side in sides if side.holders is not reference))
        self._contradicted = frozenset(found)

    def on_conflict(self, conflict: Conflict) -> Iterator[Finding]:
        """Yield a finding for each replica that is at fault in a conflict, or must act on it."""
        yield from dict.fromkeys(found for _, found in self.judged(conflict))

    def judged(self, conflict: Conflict) -> Iterator[tuple[int, Finding]]:
        """Yield the same findings with the replica's index. A finding that names no node comes with each index."""
        changed = list(self._changed_headers(conflict))
        for side, others, reference in changed:
            yield from self._renamed(conflict, side, others, reference)
        by_epoch = _by_epoch([side for side in conflict.sides if not any(side is other for other, _, _ in changed)])
        for sides in by_epoch.values():
            if len(sides) > 1:
                yield from self._mismatches(conflict, sides)
        if len(by_epoch) > 1:
            yield from self._forks(conflict, [_merged(epoch, sides) for epoch, sides in by_epoch.items()])

    def reference_among(
        self, sides: Sequence[tuple[int, frozenset[int]]], places: Mapping[int, tuple[str, int]]
    ) -> frozenset[int] | None:
        """Return the side that most replicas hold; in a tie, the one that its own logs do not deny; otherwise None.

        Each side is given with its offset. `places`: file and position of each replica's batch.
        """
        return self._most_or_undenied(sides, places)

    def is_tie(self, conflict: Conflict) -> bool:
        """Return True if batches of one epoch differ, and nothing shows which is right."""
        return any(
            len(sides) > 1
            and self.majority_of([side.holders for side in sides]) is None
            and self._rightful_bytes(conflict, sides) is None
            for sides in _by_epoch(conflict.sides).values()
        )

    def names(self, holders: frozenset[int]) -> str:
        """Return the labels as text: `node 1, node 2 and node 3`."""
        return join_names([self._replicas[index].label for index in sorted(holders)])

    def majority_of(self, sides: Sequence[frozenset[int]]) -> frozenset[int] | None:
        """Return the side that a majority of the voters holds, or None."""
        if not self._has_voters:
            return None
        return next((side for side in sides if self._voters_of(side) >= self._majority), None)

    def _voters_of(self, holders: frozenset[int]) -> int:
        return len({self._replicas[index].node_id for index in holders if self._replicas[index].is_voter})

    def _reference(self, sides: Sequence[frozenset[int]]) -> frozenset[int] | None:
        weights = [(self._voters_of(side), len(side)) for side in sides]
        best = max(weights)
        return sides[weights.index(best)] if weights.count(best) == 1 else None

    def _changed_headers(self, conflict: Conflict) -> Iterator[tuple[Held, Sequence[Held], frozenset[int] | None]]:
        """Yield each side whose epoch is wrong, the other sides with the same batch, and the right one of these.

        If it is unknown which is right (None), each of them is yielded.
        """
        by_checksum: dict[int | None, list[Held]] = {}
        for side in conflict.sides:
            by_checksum.setdefault(side.checksum, []).append(side)
        for checksum, sides in by_checksum.items():
            if checksum is None or len({side.epoch for side in sides}) < 2:
                continue
            reference = self._rightful(conflict.offset, sides)
            for side in sides:
                if side.holders is not reference:
                    yield side, [other for other in sides if other is not side], reference

    def _rightful(self, offset: int, sides: Sequence[Held]) -> frozenset[int] | None:
        """Return the side whose epoch its own logs do not deny; of several, the one most hold; None if undecided."""
        borne = [side.holders for side in sides if self._is_undenied(side.holders, offset)]
        reference = self._reference(borne) if borne else None
        if reference is not None:
            return reference
        sound = [holders for holders in borne if any(self._replicas[index].is_sound for index in holders)]
        return sound[0] if len(sound) == 1 else None

    def _rightful_bytes(self, conflict: Conflict, sides: Sequence[Held]) -> frozenset[int] | None:
        return self._most_or_undenied([(conflict.offset, side.holders) for side in sides], conflict.places)

    def _most_or_undenied(
        self, sides: Sequence[tuple[int, frozenset[int]]], places: Mapping[int, tuple[str, int]]
    ) -> frozenset[int] | None:
        """Return the side that most replicas hold; in a tie, the one that its own logs do not deny.

        If that decides nothing, it is the only side with a holder that differs from most others nowhere else.
        """
        reference = self._reference([side for _, side in sides])
        if reference is not None:
            return reference
        undenied = [(offset, side) for offset, side in sides if self._is_undenied(side, offset, places)]
        trusted = [side for _, side in undenied or sides if not side <= self._contradicted]
        return undenied[0][1] if len(undenied) == 1 else trusted[0] if len(trusted) == 1 else None

    def _is_undenied(
        self, holders: Iterable[int], offset: int, places: Mapping[int, tuple[str, int]] = _NO_PLACES
    ) -> bool:
        views = ((self._replicas[index], places.get(index)) for index in holders)
        return any(offset not in view.denied_epochs and place not in view.denied_batches for view, place in views)

    def _renamed(
        self, conflict: Conflict, side: Held, others: Sequence[Held], reference: frozenset[int] | None
    ) -> Iterator[_Judged]:
        """Yield the findings on one batch whose header was changed on some replicas."""
        each = others if reference is not None else sorted((side, *others), key=lambda one: one.epoch)
        where = " and ".join(f"of epoch {one.epoch} on {self.names(one.holders)}" for one in each)
        if reference is None:
            meaning = (
                f"the batch at offset {conflict.offset} is {where}, and nothing says which is right: {ONE_BATCH}; "
                f"nothing that was committed is lost{_also(conflict)}"
            )
            yield from self._of_nobody(side, conflict, meaning)
            return
        facts = ChangedEpoch(
            offset=conflict.offset,
            epoch=side.epoch,
            right=next(one.epoch for one in others if one.holders is reference),
            where=where,
            also=_also(conflict),
        )
        advice = self._advice_against(side, reference, conflict, [side, *others], _NO_PLACES)
        yield from self._for_each(facts, "", side, conflict, advice)

    def _mismatches(self, conflict: Conflict, sides: Sequence[Held]) -> Iterator[_Judged]:
        """Yield a finding for each replica that breaks log matching; in a tie, one finding that names no node."""
        reference = self._rightful_bytes(conflict, sides)
        if reference is None:
            yield from self._undecided(conflict, sides)
            return
        for side in sides:
            if side.holders is reference:
                continue
            others = frozenset[int]().union(*(other.holders for other in sides if other is not side))
            meaning = (
                f"the batch at offset {conflict.offset} of epoch {side.epoch} has other bytes than on "
                f"{self.names(others)}{_also(conflict)}"
            )
            advice = self._advice_against(side, reference, conflict, sides, conflict.places)
            yield from self._for_each(LOG_MISMATCH, meaning, side, conflict, advice)

    def _undecided(self, conflict: Conflict, sides: Sequence[Held]) -> Iterator[_Judged]:
        """Yield one finding for all: two logs contradict each other, and neither is known to be wrong."""
        names = " than on ".join(self.names(side.holders) for side in sides)
        meaning = (
            f"the batch at offset {conflict.offset} of epoch {sides[0].epoch} has other bytes on {names}, and nothing "
            f"says which is right{_also(conflict)}"
        )
        for side in sides:
            yield from self._of_nobody(side, conflict, meaning, sides[0].epoch)

    def _advice_against(
        self,
        side: Held,
        reference: frozenset[int],
        conflict: Conflict,
        sides: Sequence[Held],
        places: Mapping[int, tuple[str, int]],
    ) -> Advice | str | None:
        """Return careful advice if only one other log is against a side that its own logs do not deny; else None."""
        holders = [one.holders for one in sides]
        has_most = len(reference) > 1 and self._reference(holders) is reference
        if has_most or self.majority_of(holders) is reference:
            return None
        return None if not self._is_undenied(side.holders, conflict.offset, places) else ASK

    def _forks(self, conflict: Conflict, sides: Sequence[Held]) -> Iterator[_Judged]:
        knowing = [side for side in sides if self._knows_committed(side, conflict)]
        if not knowing and conflict.offset < self._bounds.lower:
            shown = [side for side in sides if self._shows_committed(side, conflict)]
            knowing = [max(shown or sides, key=lambda side: (self._voters_of(side.holders), side.epoch))]
        if not knowing:
            yield from self._among_uncertain(conflict, sides)
            return
        majority = self.majority_of([side.holders for side in sides])
        for side in sides:
            committed = next((other for other in knowing if other is not side), None)
            if committed is not None:
                yield from self._against_committed(conflict, side, committed, is_majority=side.holders is majority)

    def _knows_committed(self, side: Held, conflict: Conflict) -> bool:
        knowing = [index for index in side.holders if self._replicas[index].known_committed > conflict.offset]
        return self._is_undenied(knowing, conflict.offset, conflict.places)

    def _shows_committed(self, side: Held, conflict: Conflict) -> bool:
        showing = [index for index in side.holders if self._replicas[index].committed_before > conflict.offset]
        return self._is_undenied(showing, conflict.offset, conflict.places)

    def _against_committed(
        self, conflict: Conflict, side: Held, committed: Held, *, is_majority: bool
    ) -> Iterator[_Judged]:
        """Yield a finding for each holder of a batch where another was committed: a stale tail, or lost records.

        A majority's batch is no stale tail: it was restored from older copies, and may have committed its own since.
        """
        where = f"the batch at offset {conflict.offset} is of epoch {side.epoch} here"
        for index in sorted(side.holders):
            replica = self._replicas[index]
            is_behind = replica.last_epoch < committed.epoch and replica.known_committed <= conflict.offset
            if is_behind and not is_majority:
                meaning = f"{where}; epoch {committed.epoch} committed another: from here on nothing was ever committed"
                yield self._finding("uncommitted_tail", Severity.NOTE, index, side, conflict, meaning + _also(conflict))
                continue
            meaning = (
                f"{where}, but {self.names(committed.holders)} committed one of epoch {committed.epoch}: "
                f"committed records are lost on one side{_also(conflict)}"
            )
            yield self._finding("committed_prefix_differs", Severity.ERROR, index, side, conflict, meaning)

    def _among_uncertain(self, conflict: Conflict, sides: Sequence[Held]) -> Iterator[_Judged]:
        """Yield the findings if neither batch is known to be committed.

        The log with the highest last epoch stays; the others will be truncated.
        """
        held = self.majority_of([side.holders for side in sides])
        majority = next((side for side in sides if side.holders is held), None)
        last_epochs = {index: self._replicas[index].last_epoch for side in sides for index in side.holders}
        newest = max(last_epochs.values())
        staying = [side for side in sides if any(last_epochs[index] == newest for index in side.holders)]
        if majority is None and len(staying) > 1:
            yield from self._joined_again(conflict, staying)
        for side in sides:
            for index in sorted(side.holders):
                is_behind = last_epochs[index] < newest
                yield from self._uncertain(conflict, side, index, majority, is_behind, len(staying) > 1)

    def _uncertain(
        self, conflict: Conflict, side: Held, index: int, majority: Held | None, is_behind: bool, stay_several: bool
    ) -> Iterator[_Judged]:
        where = f"the batch at offset {conflict.offset} is of epoch {side.epoch} here"
        if majority is not None and side is not majority and side.epoch > majority.epoch:
            meaning = (
                f"{where}, but a majority ({self.names(majority.holders)}) holds one of epoch {majority.epoch}, which "
                f"may have been committed: if it was, this replica has lost it{_also(conflict)}"
            )
            yield self._finding("committed_prefix_differs", Severity.WARNING, index, side, conflict, meaning)
        elif is_behind and side is not majority:
            meaning = (
                f"{where} and later elsewhere: its tail from here on may never have been committed{_also(conflict)}"
            )
            yield self._finding("uncommitted_tail", Severity.NOTE, index, side, conflict, meaning)
        elif not is_behind and stay_several and majority is not None and side is not majority:
            meaning = (
                f"{where}, and another elsewhere, though both logs go on to the same epoch: "
                f"logs that share a record must share all before it{_also(conflict)}"
            )
            yield self._finding(LOG_MISMATCH, Severity.ERROR, index, side, conflict, meaning)

    def _joined_again(self, conflict: Conflict, sides: Sequence[Held]) -> Iterator[_Judged]:
        """Yield one finding on logs that differ, but go on to the same epoch, if no majority holds either side."""
        where = " and ".join(f"of epoch {side.epoch} on {self.names(side.holders)}" for side in sides)
        meaning = (
            f"the batch at offset {conflict.offset} is {where}, and all these logs go on to the same epoch: logs that "
            f"share a record must share all before it, and nothing says which is right{_also(conflict)}"
        )
        for side in sides:
            yield from self._of_nobody(side, conflict, meaning)

    def _of_nobody(self, side: Held, conflict: Conflict, meaning: str, epoch: int | None = None) -> Iterator[_Judged]:
        """Yield a finding that accuses no node, once for each holder."""
        found = finding(LOG_MISMATCH, meaning, offset=conflict.offset, epoch=epoch, advice=TIE)
        yield from ((index, found) for index in sorted(side.holders))

    def _for_each(
        self, what: Facts | str, meaning: str, side: Held, conflict: Conflict, advice: Advice | str | None
    ) -> Iterator[_Judged]:
        """Yield an error for each holder of a batch, from facts, or from a kind and a sentence."""
        for index in sorted(side.holders):
            yield self._finding(what, Severity.ERROR, index, side, conflict, meaning, advice)

    def _finding(
        self,
        what: Facts | str,
        severity: Severity,
        index: int,
        side: Held,
        conflict: Conflict,
        meaning: str,
        advice: Advice | str | None = None,
    ) -> _Judged:
        file, position = conflict.places.get(index, (None, None))
        found = finding(
            what,
            meaning,
            severity=severity,
            node_id=self._replicas[index].node_id,
            file=file,
            position=position,
            offset=conflict.offset,
            epoch=side.epoch,
            advice=advice,
        )
        return index, found


def leaders_of(
    elections: Mapping[int, Sequence[tuple[int, int, int]]],
) -> Iterator[tuple[int, dict[tuple[int, int], frozenset[int]]]]:
    """Yield each epoch with several leaders, and by (leader, offset) the replicas that name it.

    `elections`: by replica, its LeaderChanges as (epoch, leader, offset).
    """
    by_epoch: dict[int, dict[tuple[int, int], set[int]]] = {}
    for index, changes in elections.items():
        for epoch, leader_id, offset in changes:
            by_epoch.setdefault(epoch, {}).setdefault((leader_id, offset), set()).add(index)
    for epoch in sorted(by_epoch):
        held = by_epoch[epoch]
        if len({leader_id for leader_id, _ in held}) > 1:
            yield epoch, {key: frozenset(holders) for key, holders in sorted(held.items())}


def _by_epoch(sides: Iterable[Held]) -> dict[int, list[Held]]:
    found: dict[int, list[Held]] = {}
    for side in sides:
        found.setdefault(side.epoch, []).append(side)
    return found


def _merged(epoch: int, sides: Sequence[Held]) -> Held:
    return Held(epoch=epoch, holders=frozenset[int]().union(*(side.holders for side in sides)))


def _also(conflict: Conflict) -> str:
    return "" if conflict.count == 1 else f" ({conflict.count} batches in all)"
