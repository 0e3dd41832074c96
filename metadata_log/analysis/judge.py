"""What it means that replicas hold different batches at one offset, or name different leaders of one epoch.

Decides: how what Spark found is put to `tools.replicas.judge`, which judges it for `kraft check` as well, and how its
findings are told here. Must not know: Spark, files, and the rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from metadata_log.analysis.findings import KINDS, Finding, Severity
from metadata_log.analysis.replicas import ReplicaFacts, is_voter
from metadata_log.ids import ReplicaKey
from metadata_log.tools.replicas import divergence
from metadata_log.tools.replicas import judge as replica_judge
from metadata_log.tools.replicas.committed_bounds import CommittedBounds
from metadata_log.tools.words import join_names

__all__ = ["MAX_REPLICAS", "Conflict", "Judge", "Variant", "holders_of", "join_names"]

MAX_REPLICAS: Final = 63
"""Holders of a batch are bits of a 64 bit number."""

Variant: TypeAlias = divergence.Held
"""One of several batches at one base offset, and the replicas that hold it."""


class Place(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where a replica has a batch, and the batch's time in ms; -1 if it carries none."""

    replica: int
    file: str
    position: int
    at_ms: int


class Conflict(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A way in which replicas divide: first at `offset`, at `count` offsets in all."""

    offset: int
    count: int
    variants: tuple[Variant, ...]
    places: tuple[Place, ...] = ()
    """Of the batch at `offset`, for each variant."""

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
        views = {facts.index: _view(facts, voters) for facts in replicas}
        self._judge = replica_judge.Judge(views, len(voters), bounds)

    def on_conflict(self, conflict: Conflict) -> Iterator[Finding]:
        """What a conflict means, a finding for each replica that is at fault or must act."""
        put = divergence.Conflict(
            offset=conflict.offset,
            end=conflict.offset + 1,
            count=conflict.count,
            sides=conflict.variants,
            places={},
        )
        for index, found in self._judge.judged(put):
            epoch = -1 if found.epoch is None else found.epoch
            yield self._finding(found.kind, found.severity.value, index, conflict.offset, epoch, found.meaning)

    def majority_of(self, sides: Sequence[frozenset[int]]) -> frozenset[int] | None:
        """The side that a majority of the voters holds, or else most replicas; None in a tie."""
        wrong = list(self._judge.minority(sides))
        return next((side for side in sides if not any(side is other for other in wrong)), None)

    def on_leaders(self, epoch: int, leaders: Mapping[tuple[int, int], frozenset[int]]) -> Iterator[Finding]:
        """An epoch's LeaderChanges, as (leader, offset) → replicas that hold it: more than one breaks the promise."""
        wrong = list(self._judge.minority(list(leaders.values())))
        for (leader_id, offset), holders in sorted(leaders.items()):
            if not any(holders is side for side in wrong):
                continue
            others = [
                f"node {other} at offset {at} on {self._judge.names(held)}"
                for (other, at), held in sorted(leaders.items())
                if (other, at) != (leader_id, offset)
            ]
            meaning = (
                f"epoch {epoch} has node {leader_id} as its leader here, and {', '.join(others)}: one epoch has one"
            )
            for index in sorted(holders):
                yield self._finding("two_leaders", "error", index, offset, epoch, meaning)

    def _finding(self, kind: str, severity: str, index: int, offset: int, epoch: int, meaning: str) -> Finding:
        facts = self._replicas[index]
        return Finding(
            kind=kind,
            severity=Severity(severity),
            node_id=facts.source.key.node_id,
            replica=facts.source.label,
            file=facts.file_at(offset),
            offset=offset,
            epoch=epoch,
            meaning=meaning,
            advice=KINDS[kind].advice,
        )


def _view(facts: ReplicaFacts, voters: Sequence[ReplicaKey]) -> replica_judge.ReplicaView:
    return replica_judge.ReplicaView(
        label=facts.source.label,
        node_id=facts.source.key.node_id,
        is_voter=is_voter(facts, voters),
        last_epoch=facts.last_epoch,
        known_committed=facts.extent.known_committed,
        committed_before=facts.extent.committed_before,
    )
