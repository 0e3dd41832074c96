"""Tools for a fault with several steps: cut a node off, take it down, wait for a condition.

Must not know: any plan (`faults_leader`, `faults_rivals`, `faults_voters`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tests.simulation.world import US_PER_MS

if TYPE_CHECKING:
    from tests.simulation.cluster import Cluster
    from tests.simulation.node import Node

_LOOK_US: Final = 40
_PATIENCE_US: Final = 700 * US_PER_MS


class Plan:
    """A fault with several steps. If a step does not come about, everything is undone."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._held: list[Node] = []
        self._cuts: set[tuple[int, int]] = set()

    def mute(self, node: Node) -> None:
        """Lose all its messages to other machines."""
        self.cut({(node.node_id, other.node_id) for other in self._cluster.nodes if other is not node})

    def part(self, node: Node, *, with_reset: bool) -> None:
        """Cut it off from the other machines; `with_reset`, their requests to it fail at once, as with a rejecting
        firewall."""
        others = [other for other in self._cluster.nodes if other is not node]
        self.cut({pair for other in others for pair in _both_ways(node, other)})
        for other in others if with_reset else ():
            self._cluster.network.refused.add((other.node_id, node.node_id))
            self._cluster.network.reset(other, node)

    def cut(self, pairs: set[tuple[int, int]]) -> None:
        """Cut each pair from the first to the second."""
        fresh = pairs - self._cluster.network.cut
        self._cuts |= fresh
        self._cluster.network.cut |= fresh

    def join(self) -> None:
        """Let all messages pass again."""
        self._cluster.network.cut.difference_update(self._cuts)
        self._cluster.network.refused.difference_update(self._cuts)
        self._cuts.clear()

    def take_down(self, node: Node) -> None:
        """Kill it, and keep it down."""
        node.is_held = True
        self._held.append(node)
        self.join()
        if node.is_up:
            node.end(power=False)

    def bring_back(self, node: Node) -> None:
        """Start it again."""
        node.is_held = False
        if node in self._held:
            self._held.remove(node)
        node.start()

    def new_leader(self, old: Node) -> Node | None:
        """Return another node that believes itself leader, or None."""
        leading = (node for node in self._cluster.voters if node is not old and node.is_up)
        return next((node for node in leading if node.executor.machine.is_leader), None)

    def over(self) -> None:
        """Undo everything."""
        self.join()
        for node in tuple(self._held):
            self.bring_back(node)

    def after(self, ms: int, then: Callable[[], None]) -> None:
        """Do it later, unless the cluster quiesces first."""
        self._cluster.world.after(ms * US_PER_MS, lambda: self.over() if self._cluster.is_peaceful else then())

    def when(
        self,
        holds: Callable[[], bool],
        then: Callable[[], None],
        *,
        look_us: int = _LOOK_US,
        patience_us: int = _PATIENCE_US,
    ) -> None:
        """Do it as soon as the condition holds; after `patience_us`, or when the cluster quiesces, end the plan."""
        world = self._cluster.world
        end_us = world.now_us + patience_us

        def look() -> None:
            if self._cluster.is_peaceful or world.now_us > end_us:
                self.over()
            elif holds():
                then()
            else:
                world.after(look_us, look)

        look()


def _both_ways(node: Node, other: Node) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.node_id, other.node_id), (other.node_id, node.node_id)
