"""One leader an epoch: no two replicas lead the same epoch, and no replica leads it in two processes."""

from __future__ import annotations

from tests.simulation.checkers.invariant_failure import InvariantFailure


class OneLeader:
    """Every leader of the scenario."""

    def __init__(self) -> None:
        self._leaders: dict[int, tuple[int, int]] = {}

    def on_leader(self, node_id: int, boot: int, epoch: int) -> None:
        """Check a replica that has become leader."""
        first = self._leaders.setdefault(epoch, (node_id, boot))
        if first != (node_id, boot):
            raise InvariantFailure(
                "one_leader",
                f"epoch {epoch} is led by node {node_id} (process {boot}), was by {first[0]} (process {first[1]})",
            )
