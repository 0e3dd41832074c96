"""The means of a fault that goes step by step: who is unheard, who is down, what is waited for.

Decides: how each is done and undone. Must not know: any plan (`faults_leader`, `faults_rivals`, `faults_voters`).
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
    """One scenario within the scenario. Whatever step does not come about, all is undone."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._held: list[Node] = []
        self._cuts: set[tuple[int, int]] = set()

    def mute(self, node: Node) -> None:
        """Nothing that it sends to other machines arrives."""
        self.cut({(node.node_id, other.node_id) for other in self._cluster.nodes if other is not node})

    def part(self, node: Node, *, with_reset: bool) -> None:
        """Nothing passes between it and the other machines; `with_reset` these are told so whenever they ask it, as
        where a firewall rejects."""
        others = [other for other in self._cluster.nodes if other is not node]
        self.cut({pair for other in others for pair in _both_ways(node, other)})
        for other in others if with_reset else ():
            self._cluster.network.refused.add((other.node_id, node.node_id))
            self._cluster.network.reset(other, node)

    def cut(self, pairs: set[tuple[int, int]]) -> None:
        """Nothing passes from the one to the other of each pair."""
        fresh = pairs - self._cluster.network.cut
        self._cuts |= fresh
        self._cluster.network.cut |= fresh

    def join(self) -> None:
        """Everything passes again."""
        self._cluster.network.cut.difference_update(self._cuts)
        self._cluster.network.refused.difference_update(self._cuts)
        self._cuts.clear()

    def take_down(self, node: Node) -> None:
        """It is killed, and stays down."""
        node.is_held = True
        self._held.append(node)
        self.join()
        if node.is_up:
            node.end(power=False)

    def bring_back(self, node: Node) -> None:
        """It may start, and does."""
        node.is_held = False
        if node in self._held:
            self._held.remove(node)
        node.start()

    def new_leader(self, old: Node) -> Node | None:
        """Another one that holds itself for the leader."""
        leading = (node for node in self._cluster.voters if node is not old and node.is_up)
        return next((node for node in leading if node.executor.machine.is_leader), None)

    def over(self) -> None:
        """Undo all."""
        self.join()
        for node in tuple(self._held):
            self.bring_back(node)

    def after(self, ms: int, then: Callable[[], None]) -> None:
        """So much later, unless peace has come."""
        self._cluster.world.after(ms * US_PER_MS, lambda: self.over() if self._cluster.is_peaceful else then())

    def when(
        self,
        holds: Callable[[], bool],
        then: Callable[[], None],
        *,
        look_us: int = _LOOK_US,
        patience_us: int = _PATIENCE_US,
    ) -> None:
        """As soon as it holds, looked at so often; else, or in peace, the plan is over."""
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
