"""Replicas with equal logs, which pictures show as one line, and the names of replicas in sentences.

Decides: which replicas are equal. Must not know: how they are drawn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from metadata_log.analysis.report.verdict import Difference, ReplicaSummary, Verdict
from metadata_log.tools.words import join_names

_NODE: Final = re.compile(r"node (\d+)")
_RANGE_FROM: Final = 4
"""The least number of consecutive ids that are written as a range."""


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Replicas with equal logs: the same batches from the same start to the same end.

    `apart`: the first difference in which these replicas are not on the majority's side; None if there is no such one.
    """

    replicas: tuple[ReplicaSummary, ...]
    apart: Difference | None

    @property
    def first(self) -> ReplicaSummary:
        return self.replicas[0]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(replica.label for replica in self.replicas)

    @property
    def name(self) -> str:
        """`nodes 2, 3 and 4`."""
        return names_of(self.labels)

    @property
    def role(self) -> str:
        """`voter`, `3 voters`, or `3 voters, 2 observers`."""
        voters = sum(replica.is_voter for replica in self.replicas)
        counts = ((voters, "voter"), (len(self.replicas) - voters, "observer"))
        if len(self.replicas) == 1:
            return "voter" if voters else "observer"
        return ", ".join(f"{count} {role}{'s' if count > 1 else ''}" for count, role in counts if count)


def groups_of(verdict: Verdict) -> list[Group]:
    """Return the replicas as groups of equal ones: first the largest group that agrees with the majority."""
    found: dict[tuple[object, ...], list[ReplicaSummary]] = {}
    for replica in verdict.replicas:
        found.setdefault(_log_of(verdict, replica), []).append(replica)
    groups = [Group(replicas=tuple(held), apart=_apart(verdict, held[0])) for held in found.values()]
    return sorted(groups, key=lambda group: (group.apart is not None, -len(group.replicas), _number_of(group.first)))


def _number_of(replica: ReplicaSummary) -> int:
    """Return the node id; unnamed replicas go first."""
    return -1 if replica.node_id is None else replica.node_id


def names_of(labels: Sequence[str]) -> str:
    """Return `node 1`, `nodes 1, 2 and 4`, `nodes 2 to 7`; other labels as they are."""
    nodes = [_NODE.fullmatch(label) for label in labels]
    ids = sorted(int(found[1]) for found in nodes if found)
    if len(labels) < 2 or len(ids) < len(labels):
        return join_names(labels)
    if len(ids) >= _RANGE_FROM and ids == list(range(ids[0], ids[0] + len(ids))):
        return f"nodes {ids[0]} to {ids[-1]}"
    return f"nodes {join_names([str(each) for each in ids])}"


def _log_of(verdict: Verdict, replica: ReplicaSummary) -> tuple[object, ...]:
    """Return a key that is equal for equal logs: extent and sizes, and the side in each difference."""
    sides = tuple(
        next((number for number, side in enumerate(difference.sides) if replica.label in side.replicas), -1)
        for difference in verdict.differences
    )
    sizes = (replica.batches, replica.records, replica.size_in_bytes)
    return replica.start_offset, replica.end_offset, replica.last_epoch, *sizes, sides


def _apart(verdict: Verdict, replica: ReplicaSummary) -> Difference | None:
    return next(
        (
            difference
            for difference in verdict.differences
            for side in difference.sides
            if replica.label in side.replicas and not side.is_majority
        ),
        None,
    )
