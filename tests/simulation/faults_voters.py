"""Voter changes at the worst moment: two at once, before an epoch has a commit, on a leader that the others do not
hear.

And a replaced disk where the node is needed for a majority. Must not know: what the leader may respond.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.operators import add_voter, leader_of, move_voter, remove_voter, replace_disk
from tests.simulation.plans import Plan

if TYPE_CHECKING:
    from metadata_log.ids import ReplicaKey
    from tests.simulation.cluster import Cluster
    from tests.simulation.node import Node


def two_changes(cluster: Cluster, bits: int) -> None:
    """Send several changes at once, some of them later, to a leader that may be cut off.

    Or one after the other, until only the leader is left.
    """
    leader = leader_of(cluster)
    if leader is None:
        return
    plan = Plan(cluster)
    if bits // 64 % 4 == 0:
        _DownToOne(cluster, leader).begin()
        return
    if bits % 2:
        plan.mute(leader)
    for at in range(3):
        wait_ms = (0, 0, 1, 5, 2_100)[bits // (5 * 7**at) % 5]
        change = (add_voter, add_voter, remove_voter, move_voter)[(bits >> 2 * at + 3) % 4]
        plan.after(wait_ms, lambda change=change, at=at: change(cluster, bits >> 3 + at))  # type: ignore[misc]
    plan.after(2_600 if bits % 4 == 1 else 60, plan.over)


class _DownToOne(Plan):
    """Each other voter falls silent and is removed."""

    def __init__(self, cluster: Cluster, leader: Node) -> None:
        super().__init__(cluster)
        self._leader = leader

    def begin(self) -> None:
        leader, others = self._leader, []
        if leader.is_up and leader.executor.machine.is_leader:
            others = [key for key in leader.executor.machine.voters.keys if key.node_id != leader.node_id]
        if not others:
            self.after(300, self.over)
            return
        silent = others[0].node_id
        self.cut({(leader.node_id, silent), (silent, leader.node_id)})
        self.after(40, lambda: self._remove(others[0]))

    def _remove(self, key: ReplicaKey) -> None:
        voters = self._leader.executor.machine.voters
        if leader_of(self._cluster) is self._leader and key in voters.keys:
            remove_voter(self._cluster, voters.keys.index(key))
            self.after(40, self.begin)
        else:
            self.over()


def early_change(cluster: Cluster, bits: int) -> None:
    """Kill the leader; send the next one a change as soon as it leads, before its epoch has a commit."""
    leader = leader_of(cluster)
    if leader is None or leader.is_held:
        return
    plan = Plan(cluster)
    plan.take_down(leader)

    def ask() -> None:
        change = add_voter if bits % 3 == 0 else remove_voter
        change(cluster, bits >> 3)
        plan.after(30, plan.over)

    plan.when(lambda: plan.new_leader(leader) is not None, ask)


def change_unheard(cluster: Cluster, bits: int) -> None:
    """Let only the leader know of a change; another leader does not have it, and the first must drop it."""
    leader = leader_of(cluster)
    if leader is None:
        return
    plan = Plan(cluster)
    plan.mute(leader)
    change = add_voter if bits % 3 == 0 else remove_voter
    change(cluster, bits >> 3)

    def depose() -> None:
        if leader.is_up:
            plan.part(leader, with_reset=True)
        plan.after((30, 100, 400)[bits // 5 % 3], plan.over)

    plan.after((2, 10, 40)[bits // 9 % 3], depose)


def replaced_and_counted(cluster: Cluster, bits: int) -> None:
    """Give a voter an empty disk and let it fetch the whole log; then the others must go on without each other.

    Its new directory must not count for promises of its old disk.
    """
    node = replace_disk(cluster, bits)
    if node is not None:
        _Replaced(cluster, node).begin()


class _Replaced(Plan):
    def __init__(self, cluster: Cluster, node: Node) -> None:
        super().__init__(cluster)
        self._node = node

    def begin(self) -> None:
        self.when(self._is_caught_up, self._part_the_others, look_us=1_000)

    def _is_caught_up(self) -> bool:
        node, leader = self._node, leader_of(self._cluster)
        return node.is_up and leader is not None and node.durable.end >= leader.executor.machine.high_watermark > 0

    def _part_the_others(self) -> None:
        leader = leader_of(self._cluster)
        for other in self._cluster.voters:
            if other not in (leader, self._node):
                self.mute(other)
        self.after(200, self.over)
