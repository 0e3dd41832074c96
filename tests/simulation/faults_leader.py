"""Faults that need a plan: leadership handed over, rival leaders whose logs part again and again, rot where a follower
still has to read.

Decides: what each does, step by step. Must not know: what must hold. Each gives up where a step does not come about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from metadata_log.directory import METADATA_DIRECTORY
from quorum.node.ports import PeerCall, PeerRequested, PeerResponse
from quorum.raft.transfer_messages import TransferLeadershipRequest
from tests.simulation.world import US_PER_MS

if TYPE_CHECKING:
    from tests.simulation.cluster import Cluster
    from tests.simulation.node import Node

_REQUEST_IDS: Final = 1 << 50
_LOOK_US: Final = 40
_PATIENCE_US: Final = 700 * US_PER_MS


def hand_over(cluster: Cluster, bits: int) -> None:
    """Somebody asks the leader to hand over: to a voter that lives, to one that does not, or to any."""
    leader = cluster.active
    if leader is None or leader.is_frozen:
        return
    others = [node for node in cluster.voters if node is not leader]
    to = None if not others or bits % 4 == 0 else others[bits // 4 % len(others)].key.node_id
    timeout_ms = (50, 500, 3_000)[bits // 64 % 3]

    if bits // 256 % 2:  # its own disk is the last to be done
        leader.stalled_until_us = cluster.world.now_us + 100 * US_PER_MS

    def respond(response: PeerResponse) -> None:
        leader.burn()
        cluster.world.tell(0, f"handed over: {response.error.name}, {response.leader_id} leads")

    call = PeerCall(request=TransferLeadershipRequest(to=to, timeout_ms=timeout_ms), cluster_id=cluster.cluster_id)
    request_id = _REQUEST_IDS + cluster.world.events
    leader.deliver(leader.boot, PeerRequested(request_id=request_id, call=call, respond=respond))


def depose(cluster: Cluster, bits: int) -> None:
    """The leader is cut off from the others, not from the clients, for long enough that there is another."""
    leader = cluster.active
    if leader is None:
        return
    others = [node.node_id for node in cluster.nodes if node is not leader]
    fresh = {(leader.node_id, other) for other in others} | {(other, leader.node_id) for other in others}
    fresh -= cluster.network.cut
    cluster.network.cut |= fresh
    cluster.world.after((2_200 + bits % 2_000) * US_PER_MS, cluster.network.cut.difference_update, fresh)


def rot_ahead(cluster: Cluster, bits: int) -> None:
    """A follower is cut off; what the leader commits meanwhile rots on the leader's disk before the follower has it."""
    leader = cluster.active
    followers = [node for node in cluster.voters if node is not leader and node.is_up]
    rotten = sum(1 for node in cluster.voters if node.is_rotten)
    if leader is None or len(followers) < 2 or rotten >= (len(cluster.voters) - 1) // 2:
        return
    behind = followers[bits % len(followers)]
    others = [node.node_id for node in cluster.nodes if node is not behind]
    pairs = {(behind.node_id, other) for other in others} | {(other, behind.node_id) for other in others}
    cluster.network.cut |= pairs
    end = behind.durable.end

    def rot() -> None:
        cluster.network.cut.difference_update(pairs)
        if cluster.is_peaceful or cluster.active is not leader or leader.is_rotten:
            return
        places = leader.durable.places_between(end, cluster.checkers.committed.end)
        if places:
            name, start, stop = places[bits // 7 % len(places)]
            leader.is_rotten, leader.durable.is_trusted = True, False
            path = f"/data/{METADATA_DIRECTORY}/{name}"
            leader.files.rot(path, start + bits % (stop - start), 1 << bits % 8)

    cluster.world.after((200 + bits % 800) * US_PER_MS, rot)


def rival_leaders(cluster: Cluster, bits: int) -> None:
    """Two voters lead in turn, each unheard by the rest, and each dies with a tail that nobody else has; the one that
    was last comes back to the one that has the others' votes. Every second time the first leads twice."""
    first = cluster.active
    if first is None or not 3 <= len(cluster.voters) <= 4 or any(node.is_held for node in cluster.voters):
        return
    _Rivals(cluster, first, leads_twice=bool(bits % 2), is_cut_short=bool(bits // 2 % 2)).begin()


class _Rivals:
    """One such story within the story."""

    def __init__(self, cluster: Cluster, first: Node, *, leads_twice: bool, is_cut_short: bool) -> None:
        self._cluster = cluster
        self._first = first
        self._second: Node | None = None
        self._leads_twice = leads_twice
        self._is_cut_short = is_cut_short
        self._muted: set[tuple[int, int]] = set()

    def begin(self) -> None:
        self._mute(self._first)
        base = self._first.executor.machine.log_end_offset
        self._when(lambda: self._first.durable.end > base, self._first_has_tail)

    def _first_has_tail(self) -> None:
        self._take_down(self._first)
        self._when(lambda: self._new_leader(self._first) is not None, self._second_leads)

    def _second_leads(self) -> None:
        second = self._second = self._new_leader(self._first)
        if second is None:
            self._over()
            return
        self._mute(second)
        self._when(lambda: second.durable.end >= second.executor.machine.log_end_offset, self._second_has_tail)

    def _second_has_tail(self) -> None:
        second = self._second
        if second is None:
            return
        self._take_down(second)
        self._bring_back(self._first)
        self._when(lambda: self._new_leader(second) is self._first, self._first_leads_again)

    def _first_leads_again(self) -> None:
        first = self._first
        if not self._leads_twice or self._second is None:
            self._bring_back_last(self._second)
            return
        self._mute(first)
        self._when(lambda: first.durable.end >= first.executor.machine.log_end_offset, self._first_is_last)

    def _first_is_last(self) -> None:
        second = self._second
        if second is None:
            return
        self._take_down(self._first)
        self._bring_back(second)
        self._when(lambda: self._new_leader(self._first) is second, lambda: self._bring_back_last(self._first))

    def _bring_back_last(self, last: Node | None) -> None:
        if last is None:
            self._over()
            return
        before = last.durable.end
        self._bring_back(last)
        self._over()
        if self._is_cut_short:  # its power fails when it has cut its log, and has begun to write another one
            self._when(lambda: last.durable.end < before, lambda: self._blink_when_it_grows(last))

    def _blink_when_it_grows(self, node: Node) -> None:
        self._when(lambda: bool(node.durable.added), lambda: self._blink(node))

    def _blink(self, node: Node) -> None:
        if node.is_up:
            node.end(power=True)
            node.start()

    # --- the means

    def _mute(self, node: Node) -> None:
        """Nothing that it sends arrives."""
        fresh = {(node.node_id, other.node_id) for other in self._cluster.nodes if other is not node}
        self._muted |= fresh
        self._cluster.network.cut |= fresh

    def _take_down(self, node: Node) -> None:
        node.is_held = True
        self._unmute()
        if node.is_up:
            node.end(power=False)

    def _bring_back(self, node: Node) -> None:
        node.is_held = False
        node.start()

    def _unmute(self) -> None:
        self._cluster.network.cut.difference_update(self._muted)
        self._muted.clear()

    def _new_leader(self, old: Node) -> Node | None:
        leading = (node for node in self._cluster.voters if node is not old and node.is_up)
        return next((node for node in leading if node.executor.machine.is_leader), None)

    def _over(self) -> None:
        self._unmute()
        for node in (self._first, self._second):
            if node is not None and node.is_held:
                self._bring_back(node)

    def _when(self, holds: Callable[[], bool], then: Callable[[], None]) -> None:
        """As soon as it holds; else, or in peace, the story is over."""
        world = self._cluster.world
        end_us = world.now_us + _PATIENCE_US

        def look() -> None:
            if self._cluster.is_peaceful or world.now_us > end_us:
                self._over()
            elif holds():
                then()
            else:
                world.after(_LOOK_US, look)

        look()
