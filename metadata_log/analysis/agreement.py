"""What it means that replicas hold different batches at one offset, or name different leaders of one epoch.

Decides: whose batch is the odd one, and whether a difference is an uncommitted tail, a broken promise, or may be
either. Must not know: Spark, files, and how the differences were found.

Two batches of one offset and epoch must be the same bytes (log matching). Of two epochs at one offset the lower may be
the tail of a deposed leader, which the replica will cut off; unless it, or the majority, knows it to be committed.
Sources: KIP-595; Raft 5.3, 5.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from metadata_log.analysis.findings import KINDS, Finding, Severity
from metadata_log.analysis.replicas import ReplicaFacts, is_voter
from metadata_log.ids import ReplicaKey
from metadata_log.tools.bounds import CommittedBounds

MAX_REPLICAS: Final = 63
"""Holders of a batch are bits of a 64 bit number."""


class Variant(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One of several batches at one base offset, and the replicas that hold it."""

    epoch: int
    holders: frozenset[int]


class Conflict(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A way in which replicas divide: first at `offset`, at `count` offsets in all."""

    offset: int
    count: int
    variants: tuple[Variant, ...]

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Every two replicas that differ."""
        for number, one in enumerate(self.variants):
            for other in self.variants[number + 1 :]:
                yield from ((a, b) for a in one.holders for b in other.holders)


def holders_of(bits: int) -> frozenset[int]:
    """The replicas whose bits are set."""
    return frozenset(index for index in range(MAX_REPLICAS) if bits >> index & 1)


class Judge:
    """Judges conflicts among a set of replicas."""

    def __init__(self, replicas: Sequence[ReplicaFacts], voters: Sequence[ReplicaKey], bounds: CommittedBounds) -> None:
        self._replicas = {facts.index: facts for facts in replicas}
        self._voting = frozenset(facts.index for facts in replicas if is_voter(facts, voters))
        self._majority = len(voters) // 2 + 1
        self._bounds = bounds

    def on_conflict(self, conflict: Conflict) -> Iterator[Finding]:
        """What a conflict means, a finding for each replica that is at fault or must act."""
        by_epoch: dict[int, list[Variant]] = {}
        for variant in conflict.variants:
            by_epoch.setdefault(variant.epoch, []).append(variant)
        for variants in by_epoch.values():
            if len(variants) > 1:
                yield from self._mismatches(conflict, variants)
        if len(by_epoch) > 1:
            merged = [
                Variant(epoch=epoch, holders=frozenset().union(*(variant.holders for variant in variants)))
                for epoch, variants in by_epoch.items()
            ]
            yield from self._forks(conflict, merged)

    def on_leaders(self, epoch: int, leaders: Mapping[tuple[int, int], frozenset[int]]) -> Iterator[Finding]:
        """An epoch's LeaderChanges, as (leader, offset) → replicas that hold it: more than one breaks the promise."""
        variants = [Variant(epoch=epoch, holders=holders) for holders in leaders.values()]
        reference = self._reference(variants)
        for (leader_id, offset), holders in sorted(leaders.items()):
            if reference is not None and holders == reference.holders:
                continue
            others = [
                f"node {other} at offset {at} on {self._names(held)}"
                for (other, at), held in sorted(leaders.items())
                if (other, at) != (leader_id, offset)
            ]
            meaning = (
                f"epoch {epoch} has node {leader_id} as its leader here, and {', '.join(others)}: one epoch has one"
            )
            for index in sorted(holders):
                yield self._finding("two_leaders", Severity.ERROR, index, offset, epoch, meaning)

    def _mismatches(self, conflict: Conflict, variants: Sequence[Variant]) -> Iterator[Finding]:
        """Log matching: the replicas in the minority hold the wrong bytes; without one, nobody can say who does."""
        reference = self._reference(variants)
        for variant in variants:
            if variant is reference:
                continue
            others = frozenset().union(*(other.holders for other in variants if other is not variant))
            tie = "" if reference is not None else ", and nothing says which is right"
            meaning = (
                f"the batch at offset {conflict.offset} of epoch {variant.epoch} has other bytes than on "
                f"{self._names(others)}{tie}{_also(conflict)}"
            )
            for index in sorted(variant.holders):
                yield self._finding("log_mismatch", Severity.ERROR, index, conflict.offset, variant.epoch, meaning)

    def _reference(self, variants: Sequence[Variant]) -> Variant | None:
        """The variant that most voters hold, then most replicas; None in a tie."""
        weights = [(len(variant.holders & self._voting), len(variant.holders)) for variant in variants]
        best = max(weights)
        return variants[weights.index(best)] if weights.count(best) == 1 else None

    def _forks(self, conflict: Conflict, variants: Sequence[Variant]) -> Iterator[Finding]:
        knowing = [variant for variant in variants if self._knows_committed(variant, conflict.offset)]
        if not knowing and conflict.offset < self._bounds.lower:
            knowing = [max(variants, key=lambda variant: (len(variant.holders & self._voting), variant.epoch))]
        if knowing:
            for variant in variants:
                others = [other for other in knowing if other is not variant]
                if others:
                    yield from self._against_committed(conflict, variant, others[0])
            return
        yield from self._among_uncertain(conflict, variants)

    def _knows_committed(self, variant: Variant, offset: int) -> bool:
        return any(self._replicas[index].extent.known_committed > offset for index in variant.holders)

    def _against_committed(self, conflict: Conflict, variant: Variant, committed: Variant) -> Iterator[Finding]:
        """A variant of a batch that was committed as another: a stale tail if its replica never went past it."""
        where = f"the batch at offset {conflict.offset} is of epoch {variant.epoch} here"
        for index in sorted(variant.holders):
            facts = self._replicas[index]
            stale = facts.last_epoch < committed.epoch and facts.extent.known_committed <= conflict.offset
            if stale:
                meaning = f"{where}; epoch {committed.epoch} committed another: from here on nothing was ever committed"
                yield self._finding(
                    "uncommitted_tail", Severity.NOTE, index, conflict.offset, variant.epoch, meaning + _also(conflict)
                )
                continue
            meaning = (
                f"{where}, but {self._names(committed.holders)} committed one of epoch {committed.epoch}: "
                f"committed records are lost on one side{_also(conflict)}"
            )
            yield self._finding(
                "committed_prefix_differs", Severity.ERROR, index, conflict.offset, variant.epoch, meaning
            )

    def _among_uncertain(self, conflict: Conflict, variants: Sequence[Variant]) -> Iterator[Finding]:
        """Nobody knows either to be committed. The log with the highest last epoch stays; the others will be cut."""
        last_epochs = {index: self._replicas[index].last_epoch for variant in variants for index in variant.holders}
        newest = max(last_epochs.values())
        majority = next((v for v in variants if len(v.holders & self._voting) >= self._majority), None)
        staying = [variant for variant in variants if any(last_epochs[index] == newest for index in variant.holders)]
        for variant in variants:
            for index in sorted(variant.holders):
                yield from self._uncertain(conflict, variant, index, majority, staying, last_epochs[index] < newest)

    def _uncertain(
        self,
        conflict: Conflict,
        variant: Variant,
        index: int,
        majority: Variant | None,
        staying: Sequence[Variant],
        is_behind: bool,
    ) -> Iterator[Finding]:
        offset = conflict.offset
        where = f"the batch at offset {offset} is of epoch {variant.epoch} here"
        if majority is not None and variant is not majority and variant.epoch > majority.epoch:
            meaning = (
                f"{where}, but a majority ({self._names(majority.holders)}) holds one of epoch {majority.epoch}, which "
                f"may have been committed: if it was, this replica has lost it{_also(conflict)}"
            )
            yield self._finding("committed_prefix_differs", Severity.WARNING, index, offset, variant.epoch, meaning)
        elif is_behind and variant is not majority:
            meaning = (
                f"{where} and later elsewhere: its tail from here on may never have been committed{_also(conflict)}"
            )
            yield self._finding("uncommitted_tail", Severity.NOTE, index, offset, variant.epoch, meaning)
        elif not is_behind and len(staying) > 1:
            meaning = (
                f"{where}, and another elsewhere, though both logs go on to the same epoch: "
                f"logs that share a record must share all before it{_also(conflict)}"
            )
            yield self._finding("log_mismatch", Severity.ERROR, index, offset, variant.epoch, meaning)

    def _names(self, indexes: frozenset[int]) -> str:
        return join_names([self._replicas[index].source.label for index in sorted(indexes)])

    def _finding(self, kind: str, severity: Severity, index: int, offset: int, epoch: int, meaning: str) -> Finding:
        facts = self._replicas[index]
        return Finding(
            kind=kind,
            severity=severity,
            node_id=facts.source.key.node_id,
            replica=facts.source.label,
            file=facts.file_at(offset),
            offset=offset,
            epoch=epoch,
            meaning=meaning,
            advice=KINDS[kind].advice,
        )


def join_names(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _also(conflict: Conflict) -> str:
    return "" if conflict.count == 1 else f" ({conflict.count} batches in all)"
