"""Invariants that hold in a cluster at every moment, whatever fails.

Each method raises `InvariantFailure`, which names the invariant that does not hold.
"""

from __future__ import annotations

from collections.abc import Iterable

from metadata_log.ids import ReplicaKey
from tests.support.raft_disk import Batch, end_of


class InvariantFailure(AssertionError):
    """An invariant of Raft does not hold."""


class Checkers:
    """All elections, votes and commits of one run."""

    def __init__(self) -> None:
        self.leaders: dict[int, int] = {}
        self.votes: dict[tuple[int, int], ReplicaKey] = {}
        self.committed: list[Batch] = []
        self._high_watermarks: dict[tuple[int, int], int] = {}

    def on_leader(self, node_id: int, epoch: int, log: list[Batch]) -> None:
        """Check that the epoch has one leader, and that its log holds every committed batch."""
        if self.leaders.setdefault(epoch, node_id) != node_id:
            raise InvariantFailure(f"one leader an epoch: {self.leaders[epoch]} and {node_id} lead epoch {epoch}")
        self._check_prefix(node_id, log, "leader completeness")

    def on_vote(self, node_id: int, epoch: int, candidate: ReplicaKey) -> None:
        """Check that no replica forgets a vote that it has sent."""
        earlier = self.votes.setdefault((node_id, epoch), candidate)
        if earlier != candidate:
            raise InvariantFailure(f"no vote forgotten: {node_id} votes for {earlier} and {candidate} in epoch {epoch}")

    def on_high_watermark(
        self,
        node_id: int,
        incarnation: int,
        offset: int,
        log: list[Batch],
        durable: Iterable[list[Batch]],
        majority: int,
    ) -> None:
        """Check that a high watermark only rises, and that a majority holds the same durable batches below it."""
        key = (node_id, incarnation)
        if offset <= self._high_watermarks.get(key, -1):
            raise InvariantFailure(
                f"high watermark never back: {node_id} goes from {self._high_watermarks[key]} to {offset}"
            )
        self._high_watermarks[key] = offset
        prefix = [batch for batch in log if batch.end <= offset]
        if end_of(prefix) != offset:
            raise InvariantFailure(f"high watermark on a batch bound: {node_id} says {offset}")
        known = min(len(prefix), len(self.committed))
        if prefix[:known] != self.committed[:known]:
            raise InvariantFailure(f"committed stays committed: {node_id}'s log differs below {offset}")
        if len(prefix) <= known:
            return
        holders = sum(1 for other in durable if _holds(other, prefix[-1]))
        if holders < majority:
            raise InvariantFailure(
                f"acknowledged is durable: {offset} is committed, and {holders} of {majority} hold it"
            )
        self.committed = prefix

    def on_end(self, logs: dict[int, list[Batch]]) -> None:
        """Check log matching, and that a majority holds every committed batch."""
        ordered = sorted(logs.items())
        for at, (node_id, log) in enumerate(ordered):
            for other_id, other in ordered[at + 1 :]:
                check_matching(node_id, log, other_id, other)
        if self.committed:
            holders = sum(1 for log in logs.values() if _holds(log, self.committed[-1]))
            if holders <= len(logs) // 2:
                raise InvariantFailure(
                    f"committed stays committed: {end_of(self.committed)} is left on {holders} of {len(logs)}"
                )

    def _check_prefix(self, node_id: int, log: list[Batch], what: str) -> None:
        if log[: len(self.committed)] != self.committed:
            raise InvariantFailure(
                f"{what}: the log of {node_id} lacks what is committed up to {end_of(self.committed)}"
            )


def _holds(log: list[Batch], batch: Batch) -> bool:
    return any(own == batch for own in reversed(log))


def check_matching(node_id: int, log: list[Batch], other_id: int, other: list[Batch]) -> None:
    """Check that two logs with the same epoch at an offset are equal up to there."""
    others = {batch.base: batch for batch in other}
    shared = [at for at, batch in enumerate(log) if batch.base in others and others[batch.base].epoch == batch.epoch]
    if shared and log[: shared[-1] + 1] != other[: shared[-1] + 1]:
        raise InvariantFailure(
            f"log matching: {node_id} and {other_id} share {log[shared[-1]].base} and differ before it"
        )
