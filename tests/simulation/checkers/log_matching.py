"""Log matching: a batch that two logs hold at the same offset and epoch is the same batch after the same batches.

Incremental: each batch is compared once, when it becomes durable, with the first one ever seen at its offset and
epoch. So is the batch before it. By induction this compares both logs completely.
"""

from __future__ import annotations

from tests.simulation.checkers.invariant_failure import InvariantFailure
from tests.simulation.durable import BatchKey


class LogMatching:
    """Every batch that was ever durable on any node."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[BatchKey, BatchKey | None]] = {}

    def on_durable(self, node_id: int, before: BatchKey | None, key: BatchKey) -> None:
        """Check `key`, which has become durable on a node, directly after `before`."""
        known = self._known.setdefault((key.base, key.epoch), (key, before))
        if known[0] != key:
            raise InvariantFailure("log_matching", f"node {node_id} holds {key}, elsewhere it is {known[0]}")
        if before is None and key.base > 0:
            # Its log begins here: the part before is in a snapshot, which another checker checks.
            return
        if known[1] is None and key.base > 0:
            self._known[key.base, key.epoch] = (key, before)
        elif known[1] != before:
            raise InvariantFailure("log_matching", f"on node {node_id} {key} follows {before}, elsewhere {known[1]}")
        if before is not None and before.end != key.base:
            raise InvariantFailure("log_matching", f"on node {node_id} {key} follows {before}: there is a gap")
