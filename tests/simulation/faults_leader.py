"""Faults of leaders: transferred, deposed while cut off, slowed down, corrupted where others still must read.

Must not know: the invariants. Each fault ends early if a step does not come about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.storage.checkpoint import checkpoint_name, newest_checkpoint
from quorum.api.calls import PeerCall, PeerResponse
from quorum.api.error_codes import Error
from quorum.api.transfer_messages import TransferLeadershipRequest
from quorum.node.core.ports import PeerRequested
from tests.simulation.plans import Plan
from tests.simulation.rot import rot
from tests.simulation.world import US_PER_MS

if TYPE_CHECKING:
    from tests.simulation.cluster import Cluster
    from tests.simulation.node import Node

_REQUEST_IDS: Final = 1 << 50


def hand_over(cluster: Cluster, bits: int) -> None:
    """Ask the leader for a transfer: to a live voter, a dead one, or any."""
    leader = cluster.active
    if leader is None or leader.is_frozen:
        return
    others = [node for node in cluster.voters if node is not leader]
    to = None if not others or bits % 4 == 0 else others[bits // 4 % len(others)].key.node_id
    timeout_ms = (50, 500, 3_000)[bits // 64 % 3]

    wait_ms = 0
    if bits // 256 % 2:  # its own disk is the last to write
        leader.stalled_until_us = cluster.world.now_us + 100 * US_PER_MS
        wait_ms = bits // 512 % 12

    def respond(response: PeerResponse) -> None:
        leader.burn()
        if response.error is Error.NONE:
            cluster.world.note("leadership is handed over")
        cluster.world.tell(0, f"handed over: {response.error.name}, {response.leader_id} leads")

    call = PeerCall(request=TransferLeadershipRequest(to=to, timeout_ms=timeout_ms), cluster_id=cluster.cluster_id)
    asked = PeerRequested(request_id=_REQUEST_IDS + cluster.world.events, call=call, respond=respond)
    cluster.world.after(wait_ms * US_PER_MS, leader.deliver, leader.boot, asked)


def depose(cluster: Cluster, bits: int) -> None:
    """Cut the leader off from the other voters, but not from the clients, so that the others elect another one.

    Or reset all connections to it for a moment, so that another one is elected at once. Sometimes only readers still
    reach it, so that no uncommitted request blocks them. Sometimes it is deaf first, so that the others have committed
    records that it does not know to be committed.
    """
    leader = cluster.active
    if leader is None:
        return
    plan, is_quick = Plan(cluster), bits % 4 > 0
    stay_ms = (20, 60, 200, 1_000)[bits // 4 % 4] if is_quick else 2_200 + bits // 4 % 2_000
    _visit(cluster, leader, max(stay_ms, 1_000))
    if bits // 16 % 2:
        plan.cut({(client.client_id, leader.node_id) for client in cluster.clients if not client.only_reads})
    elif bits // 32 % 2:
        plan.cut({(node.node_id, leader.node_id) for node in cluster.nodes if node is not leader})
    plan.after(20, lambda: _part(plan, leader, with_reset=is_quick))
    plan.after(20 + stay_ms, plan.over)


def _part(plan: Plan, leader: Node, *, with_reset: bool) -> None:
    if leader.is_up:
        plan.part(leader, with_reset=with_reset)


def _visit(cluster: Cluster, node: Node, for_ms: int) -> None:
    """Let the reading clients ask only this controller for a while."""
    for client in cluster.clients:
        if client.only_reads:
            client.pinned = node
            cluster.world.after(for_ms * US_PER_MS, setattr, client, "pinned", None)


def late_proof(cluster: Cluster, bits: int) -> None:
    """Delay the responses to a leader; meanwhile it is deposed while cut off, and another leader commits.

    Then the late responses reach the former leader, which gets reads all the time.
    """
    leader = cluster.active
    if leader is None:
        return
    late = cluster.network.late_us
    pairs = [(node.node_id, leader.node_id) for node in cluster.nodes if node is not leader]
    late_us = (200, 500, 800, 900)[bits % 4] * US_PER_MS
    late.update({pair: late_us + at * 3_000 for at, pair in enumerate(pairs)})
    plan, stay_ms = Plan(cluster), 1_200
    _visit(cluster, leader, stay_ms)

    def undo() -> None:
        for pair in pairs:
            late.pop(pair, None)
        plan.over()

    plan.after((20, 60, 120)[bits // 7 % 3], lambda: _part(plan, leader, with_reset=True))
    cluster.world.after(stay_ms * US_PER_MS, undo)


def slow_leaders_disk(cluster: Cluster, bits: int) -> None:
    """Slow the leader's disk far below the others, then cut the leader's power."""
    leader = cluster.active
    if leader is None:
        return
    leader.disk_factor = (10, 40, 300)[bits % 3]

    def end() -> None:
        leader.disk_factor = 1
        if not cluster.is_peaceful and bits // 3 % 2 and leader.is_up:
            leader.end(power=True)

    cluster.world.after((20, 100, 600)[bits // 6 % 3] * US_PER_MS, end)


def may_rot(cluster: Cluster, node: Node) -> bool:
    """Return True if a voter's files may be corrupted now: they are valid, and the corrupt replicas stay a minority."""
    rotten = sum(1 for other in cluster.voters if other.is_rotten)
    return not node.is_rotten and rotten < (len(cluster.voters) - 1) // 2


def rot_checkpoint(node: Node, at: int, bit: int) -> bool:
    """Flip a bit of a node's newest checkpoint; return False if it has none that covers any of the log."""
    directory = f"/data/{METADATA_DIRECTORY}"
    newest = newest_checkpoint(node.files, directory)
    if newest is None or newest.offset == 0:
        return False
    path = f"{directory}/{checkpoint_name(newest)}"
    rot(node, path, at % len(node.files.content(path)), 1 << bit)
    return True


def rot_ahead(cluster: Cluster, bits: int) -> None:
    """Cut a follower off, and corrupt on the leader's disk what the leader commits meanwhile.

    The corruption is in the log, or in the checkpoint from which the follower would have to begin.
    """
    leader = cluster.active
    followers = [node for node in cluster.voters if node is not leader and node.is_up]
    if leader is None or len(followers) < 2 or not may_rot(cluster, leader):
        return
    behind = followers[bits % len(followers)]
    others = [node.node_id for node in cluster.nodes if node is not behind]
    pairs = {(behind.node_id, other) for other in others} | {(other, behind.node_id) for other in others}
    cluster.network.cut |= pairs
    end = behind.durable.end

    def strike() -> None:
        cluster.network.cut.difference_update(pairs)
        if cluster.is_peaceful or cluster.active is not leader or not may_rot(cluster, leader):
            return
        if leader.executor.log.start_offset > end and rot_checkpoint(leader, bits, bits % 8):
            return
        places = leader.durable.places_between(end, cluster.checkers.committed.end)
        if places:
            name, start, stop = places[bits // 7 % len(places)]
            path = f"/data/{METADATA_DIRECTORY}/{name}"
            rot(leader, path, start + bits % (stop - start), 1 << bits % 8)

    def take_snapshot() -> None:
        if leader.is_up:
            leader.executor.snapshots.is_forced = True
            leader.rearm()

    wait_us = (200 + bits % 800) * US_PER_MS
    if bits // 11 % 2:
        cluster.world.after(wait_us - 100 * US_PER_MS, take_snapshot)
    cluster.world.after(wait_us, strike)
