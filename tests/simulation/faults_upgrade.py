"""Upgrades of kraft.version at the worst moment: requested twice, or by a leader that the others do not hear.

Must not know: what the leader may respond.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from quorum.raft.states import Leader
from tests.simulation.operators import leader_of, upgrade
from tests.simulation.plans import Plan
from tests.simulation.world import US_PER_MS

if TYPE_CHECKING:
    from tests.simulation.cluster import Cluster
    from tests.simulation.node import Node

_PATIENCE_US: Final = 2_500 * US_PER_MS
"""A voter sends a new leader its directory once a fetch timeout has passed."""


def _able(cluster: Cluster) -> Node | None:
    """Return a leader that knows every voter's directory, or None."""
    leader = leader_of(cluster)
    state = None if leader is None else leader.executor.machine._core.state
    told = state.reported_voters if isinstance(state, Leader) else None
    return leader if told is not None and told.are_dynamic else None


def upgrade_twice(cluster: Cluster, bits: int) -> None:
    """Request it twice: at once, a moment later, or after the first request has timed out."""
    plan = Plan(cluster)
    again_ms = (0, 1, 5, 100, _given_up_ms(cluster))[bits % 5]

    def ask() -> None:
        upgrade(cluster)
        plan.after(again_ms, lambda: upgrade(cluster))

    plan.when(lambda: _able(cluster) is not None, ask, look_us=US_PER_MS, patience_us=_PATIENCE_US)


def _given_up_ms(cluster: Cluster) -> int:
    """Return when a leader no longer waits for the commit of a change."""
    return cluster.setup.raft.request_timeout_ms + 20


def upgrade_unheard(cluster: Cluster, bits: int) -> None:
    """Let only the leader know of the upgrade, request it again, and let others with static voters depose the
    leader."""
    plan = Plan(cluster)
    plan.when(
        lambda: _able(cluster) is not None,
        lambda: _Unheard(cluster, bits).begin(),
        look_us=US_PER_MS,
        patience_us=_PATIENCE_US,
    )


class _Unheard(Plan):
    def __init__(self, cluster: Cluster, bits: int) -> None:
        super().__init__(cluster)
        self._leader = _able(cluster)
        self._again_ms = (1, 20, _given_up_ms(cluster))[bits % 3]
        self._then_ms = (2, 10, 40)[bits // 3 % 3]
        self._away_ms = (30, 100, 400, 3_000)[bits // 9 % 4]

    def begin(self) -> None:
        if self._leader is not None:
            self.mute(self._leader)
            upgrade(self._cluster, of=self._leader)
            self.after(self._again_ms, self._ask_again)

    def _ask_again(self) -> None:
        leader = self._leader
        if leader is not None and leader.is_up and not leader.is_frozen:
            upgrade(self._cluster, of=leader)
        self.after(self._then_ms, self._depose)

    def _depose(self) -> None:
        if self._leader is not None and self._leader.is_up:
            self.part(self._leader, with_reset=True)
        self.after(self._away_ms, self.over)
