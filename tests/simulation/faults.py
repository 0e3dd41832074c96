"""The faults: each takes the cluster and 48 bits, from which it makes all its choices.

Must not know: when it comes (`setup`), or the invariants. A fault that ends by itself (a partition heals, a disk is
fast again) schedules its end here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from metadata_log.directory import METADATA_DIRECTORY
from tests.simulation.clock import TRUE_RATE
from tests.simulation.cluster import Cluster
from tests.simulation.fault_names import ALL
from tests.simulation.faults_foreign import another_quorum
from tests.simulation.faults_leader import (
    depose,
    hand_over,
    late_proof,
    may_rot,
    rot_ahead,
    rot_checkpoint,
    slow_leaders_disk,
)
from tests.simulation.faults_rivals import old_tail, rival_leaders
from tests.simulation.faults_upgrade import upgrade_twice, upgrade_unheard
from tests.simulation.faults_voters import change_unheard, early_change, replaced_and_counted, two_changes
from tests.simulation.node import DATA, Node
from tests.simulation.operators import add_voter, remove_leader, remove_voter, replace_disk, upgrade
from tests.simulation.rot import rot
from tests.simulation.world import US_PER_MS

_LONG_MS: Final = (20, 200, 1_000, 3_000, 8_000)


class Pick:
    """Choices from the bits of one step."""

    def __init__(self, bits: int) -> None:
        self._bits = bits * 0x9E3779B97F4A7C15 + 1 & (1 << 128) - 1

    def of(self, count: int) -> int:
        """Return a number from 0 to below `count`."""
        self._bits = (self._bits * 0xD1342543DE82EF95 + 0x2545F4914F6CDD1D) & ((1 << 128) - 1)
        return (self._bits >> 64) % count

    def ms(self) -> int:
        """Return the fault's duration."""
        return 1 + self.of(_LONG_MS[self.of(len(_LONG_MS))])

    def node(self, cluster: Cluster) -> Node:
        """Return any machine, voters more often."""
        nodes = cluster.voters if self.of(4) else cluster.nodes
        return nodes[self.of(len(nodes))]


def _later(cluster: Cluster, ms: int, action: Callable[[], None]) -> None:
    """Do it later, unless the cluster quiesces first, which ends all faults itself."""
    cluster.world.after(ms * US_PER_MS, lambda: None if cluster.is_peaceful else action())


def _end(node: Node, *, power: bool) -> None:
    if node.is_up:
        node.end(power=power)


def _kill(cluster: Cluster, pick: Pick) -> None:
    _end(pick.node(cluster), power=False)


def _power_cut(cluster: Cluster, pick: Pick) -> None:
    """Cut the power of one machine, or of all at once."""
    for node in cluster.nodes if pick.of(8) == 0 else [pick.node(cluster)]:
        _end(node, power=True)


def _kill_leader(cluster: Cluster, pick: Pick) -> None:
    if cluster.active is not None:
        _end(cluster.active, power=False)


def _power_cut_leader(cluster: Cluster, pick: Pick) -> None:
    if cluster.active is not None:
        _end(cluster.active, power=True)


def _dead_at_effect(cluster: Cluster, pick: Pick) -> None:
    node = pick.node(cluster)
    node.fuse, node.dies_by_power = 1 + pick.of(30), bool(pick.of(2))


def _dead_in_file_call(cluster: Cluster, pick: Pick) -> None:
    node = pick.node(cluster)
    node.files.crash_at, node.dies_by_power = node.files.changes + 1 + pick.of(12), bool(pick.of(2))


def _blink(cluster: Cluster, pick: Pick) -> None:
    """Cut a machine's power and bring it back at once."""
    node = pick.node(cluster)
    if node.is_up:
        node.end(power=bool(pick.of(2)))
        node.start()


def _storm(cluster: Cluster, pick: Pick) -> None:
    """Kill the leader; during the election the other voters lose their process or their power too, and come back."""
    _end(cluster.active or cluster.voters[0], power=bool(pick.of(2)))
    within_us = (10, 60, 300)[pick.of(3)] * US_PER_MS
    for _ in range(2 + pick.of(3 * len(cluster.voters))):
        node, power = cluster.voters[pick.of(len(cluster.voters))], bool(pick.of(3))
        delay_us = pick.of(within_us)
        cluster.world.after(delay_us, _blink_now, cluster, node, power)


def _blink_now(cluster: Cluster, node: Node, power: bool) -> None:
    if cluster.is_peaceful:
        return
    _end(node, power=power)
    node.start()


def _clean_stop(cluster: Cluster, pick: Pick) -> None:
    pick.node(cluster).stop()


def _freeze(cluster: Cluster, pick: Pick) -> None:
    node = pick.node(cluster)
    node.freeze()
    _later(cluster, pick.ms(), node.thaw)


def _cut(cluster: Cluster, pick: Pick, pairs: set[tuple[int, int]]) -> None:
    cut = cluster.network.cut
    fresh = pairs - cut
    cut |= fresh
    _later(cluster, pick.ms(), lambda: cut.difference_update(fresh))


def _cut_off(cluster: Cluster, pick: Pick) -> None:
    alone = pick.node(cluster).node_id
    others = [node.node_id for node in cluster.nodes if node.node_id != alone]
    _cut(cluster, pick, {(alone, other) for other in others} | {(other, alone) for other in others})


def _one_way(cluster: Cluster, pick: Pick) -> None:
    """Lose all messages from one machine, or all to it."""
    alone, is_mute = pick.node(cluster).node_id, pick.of(2)
    others = [node.node_id for node in cluster.nodes if node.node_id != alone]
    _cut(cluster, pick, {(alone, other) if is_mute else (other, alone) for other in others})


def _split(cluster: Cluster, pick: Pick) -> None:
    """Split the machines into any two sides; clients reach both."""
    side = {node.node_id for node in cluster.nodes if pick.of(2)}
    other = {node.node_id for node in cluster.nodes} - side
    _cut(cluster, pick, {(a, b) for a in side for b in other} | {(b, a) for a in side for b in other})


def _bridge(cluster: Cluster, pick: Pick) -> None:
    """Split the machines into two sides that only one machine between them reaches."""
    bridge = pick.node(cluster).node_id
    side = {node.node_id for node in cluster.nodes if node.node_id != bridge and pick.of(2)}
    other = {node.node_id for node in cluster.nodes} - side - {bridge}
    _cut(cluster, pick, {(a, b) for a in side for b in other} | {(b, a) for a in side for b in other})


def _manners(cluster: Cluster, pick: Pick, **changed: float) -> None:
    network, usual = cluster.network, cluster.setup.link
    network.manners = msgspec.structs.replace(usual, **changed)
    _later(cluster, pick.ms(), lambda: setattr(network, "manners", usual))


def _flaky(cluster: Cluster, pick: Pick) -> None:
    _manners(cluster, pick, drop=(0.05, 0.2, 0.5)[pick.of(3)], duplicate=(0.0, 0.1)[pick.of(2)])


def _slow_network(cluster: Cluster, pick: Pick) -> None:
    _manners(cluster, pick, spread_us=(50_000, 300_000, 2_500_000)[pick.of(3)])


def _slow_disk(cluster: Cluster, pick: Pick) -> None:
    node = pick.node(cluster)
    node.disk_factor = (5, 40, 300)[pick.of(3)]
    _later(cluster, pick.ms(), lambda: setattr(node, "disk_factor", 1))


def _stalled_disk(cluster: Cluster, pick: Pick) -> None:
    pick_ms = pick.ms()
    pick.node(cluster).stalled_until_us = cluster.world.now_us + pick_ms * US_PER_MS


def _failing_sync(cluster: Cluster, pick: Pick) -> None:
    pick.node(cluster).files.fail_next_fsync()


def _failing_call(cluster: Cluster, pick: Pick) -> None:
    call = ("pwrite", "rename", "fsync_dir", "truncate", "open")[pick.of(5)]
    pick.node(cluster).files.fail_next(call)


def _full_disk(cluster: Cluster, pick: Pick) -> None:
    node = pick.node(cluster)
    node.files.free_bytes = pick.of(400)
    _later(cluster, pick.ms(), lambda: setattr(node.files, "free_bytes", None))


def _bit_rot(cluster: Cluster, pick: Pick) -> None:
    """Flip a bit of a committed batch, on a minority's disks at most.

    Never in a log's last batch, where it looks like a torn write.
    """
    node = cluster.voters[pick.of(len(cluster.voters))]
    if not may_rot(cluster, node):
        return
    places = node.durable.places_before(cluster.checkers.committed.end)
    if not places:
        return
    name, start, end = places[pick.of(len(places))]
    rot(node, f"{DATA}/{METADATA_DIRECTORY}/{name}", start + pick.of(end - start), 1 << pick.of(8))


def _snapshot(cluster: Cluster, pick: Pick) -> None:
    """Let some controllers take a snapshot as soon as there is anything new."""
    for node in cluster.nodes:
        if pick.of(2) and node.is_up:
            node.executor.snapshots.is_forced = True
            node.rearm()


def _left_behind(cluster: Cluster, pick: Pick) -> None:
    """Cut one node off, or take it down, while the others take snapshots and may trim what it lacks.

    Just before it installs the snapshot, it may die at one of its next file calls.
    """
    behind = pick.node(cluster)
    if pick.of(2):
        behind.dies_installing, behind.dies_by_power = 1 + pick.of(25), bool(pick.of(2))
    if pick.of(2):
        _end(behind, power=bool(pick.of(2)))
    else:
        behind_id = behind.node_id
        others = [node.node_id for node in cluster.nodes if node.node_id != behind_id]
        _cut(cluster, pick, {(behind_id, other) for other in others} | {(other, behind_id) for other in others})
    for wait_ms in (50, 200, 800):
        _later(cluster, wait_ms, lambda: _force_others(cluster, behind))


def _force_others(cluster: Cluster, behind: Node) -> None:
    for node in cluster.nodes:
        if node is not behind and node.is_up:
            node.executor.snapshots.is_forced = True
            node.rearm()


def _dead_in_snapshot(cluster: Cluster, pick: Pick) -> None:
    """Let a node take or install a snapshot, and die within its next few file calls."""
    node = pick.node(cluster)
    if node.is_up:
        node.executor.snapshots.is_forced = True
        node.rearm()
    node.files.crash_at, node.dies_by_power = node.files.changes + 1 + pick.of(30), bool(pick.of(2))


def _snapshot_rot(cluster: Cluster, pick: Pick) -> None:
    """Flip a bit of the newest checkpoint, on a minority's disks at most.

    After a restart its process must use its log, or reject the checkpoint by name. A process that goes on must not send
    the checkpoint, and must take another one.
    """
    node = cluster.voters[pick.of(len(cluster.voters))]
    if not may_rot(cluster, node):
        return
    if rot_checkpoint(node, pick.of(1 << 16), pick.of(8)) and pick.of(2):
        _end(node, power=False)
        node.start()


def _clock_rate(cluster: Cluster, pick: Pick) -> None:
    """Let a clock run up to a twentieth too fast or too slow."""
    node = pick.node(cluster)
    node.clock.run_at(TRUE_RATE + (pick.of(100_001) - 50_000))
    cluster.world.note("a clock runs at another rate")
    node.rearm()


def _clock_leap(cluster: Cluster, pick: Pick) -> None:
    node = pick.node(cluster)
    node.clock.leap(pick.ms())
    cluster.world.note("a clock leaps")
    node.rearm()


def _wall_clock_set(cluster: Cluster, pick: Pick) -> None:
    pick.node(cluster).clock.set_wall((-86_400_000, -5_000, 5_000, 86_400_000)[pick.of(4)])
    cluster.world.note("a wall clock is set")


_DO: Final[dict[str, Callable[[Cluster, Pick], None]]] = {
    "kill": _kill,
    "power cut": _power_cut,
    "kill leader": _kill_leader,
    "power cut leader": _power_cut_leader,
    "dead at an effect": _dead_at_effect,
    "dead in a file call": _dead_in_file_call,
    "blink": _blink,
    "storm": _storm,
    "clean stop": _clean_stop,
    "freeze": _freeze,
    "cut off": _cut_off,
    "one way": _one_way,
    "split": _split,
    "bridge": _bridge,
    "flaky": _flaky,
    "slow network": _slow_network,
    "slow disk": _slow_disk,
    "stalled disk": _stalled_disk,
    "failing sync": _failing_sync,
    "failing call": _failing_call,
    "full disk": _full_disk,
    "bit rot": _bit_rot,
    "snapshot": _snapshot,
    "left behind": _left_behind,
    "dead in a snapshot": _dead_in_snapshot,
    "snapshot rot": _snapshot_rot,
    "hand over": lambda cluster, pick: hand_over(cluster, pick.of(1 << 20)),
    "depose": lambda cluster, pick: depose(cluster, pick.of(1 << 20)),
    "rival leaders": lambda cluster, pick: rival_leaders(cluster, pick.of(1 << 20)),
    "rot ahead": lambda cluster, pick: rot_ahead(cluster, pick.of(1 << 20)),
    "late proof": lambda cluster, pick: late_proof(cluster, pick.of(1 << 20)),
    "old tail": lambda cluster, pick: old_tail(cluster, pick.of(1 << 20)),
    "slow leader's disk": lambda cluster, pick: slow_leaders_disk(cluster, pick.of(1 << 20)),
    "clock rate": _clock_rate,
    "clock leap": _clock_leap,
    "wall clock set": _wall_clock_set,
    "add voter": lambda cluster, pick: add_voter(cluster, pick.of(1 << 16)),
    "remove voter": lambda cluster, pick: remove_voter(cluster, pick.of(1 << 16)),
    "remove leader": lambda cluster, pick: remove_leader(cluster),
    "replace disk": lambda cluster, pick: replace_disk(cluster, pick.of(1 << 16)),
    "two changes": lambda cluster, pick: two_changes(cluster, pick.of(1 << 20)),
    "early change": lambda cluster, pick: early_change(cluster, pick.of(1 << 20)),
    "change unheard": lambda cluster, pick: change_unheard(cluster, pick.of(1 << 20)),
    "replaced and counted": lambda cluster, pick: replaced_and_counted(cluster, pick.of(1 << 20)),
    "another quorum": lambda cluster, pick: another_quorum(cluster, pick.of(1 << 24)),
    "upgrade": lambda cluster, pick: upgrade(cluster),
    "upgrade twice": lambda cluster, pick: upgrade_twice(cluster, pick.of(1 << 20)),
    "upgrade unheard": lambda cluster, pick: upgrade_unheard(cluster, pick.of(1 << 20)),
}

if set(_DO) != ALL:
    raise AssertionError("every named fault is done here, and no other")


def inject(cluster: Cluster, fault: str, bits: int) -> None:
    """Do one fault."""
    cluster.world.tell(0, f"fault: {fault}")
    cluster.world.note(f"fault: {fault}")
    _DO[fault](cluster, Pick(bits))


_LOOKS, _LOOK_EVERY_MS = 6, 3_000
"""After quiesce an operator looks after each agent this often."""


def quiesce(cluster: Cluster) -> None:
    """End all faults: links, disks and clocks are normal, every machine is up or coming up."""
    cluster.is_peaceful = True
    cluster.world.tell(0, "peace")
    network = cluster.network
    network.cut.clear()
    network.refused.clear()
    network.late_us.clear()
    network.impostors.clear()
    for client in cluster.clients:
        client.pinned = None
    network.manners = msgspec.structs.replace(cluster.setup.link, drop=0.0, duplicate=0.0)
    for node in cluster.nodes:
        node.fuse = node.dies_installing = None
        node.files.calm()
        node.disk_factor, node.stalled_until_us = 1, 0
        node.is_held = False
        node.clock.run_at(TRUE_RATE)
        node.thaw()
        node.rearm()
        if not node.is_up:
            cluster.restart_later(node)
    for agent in cluster.agents:
        for look in range(1, _LOOKS + 1):
            cluster.world.after(look * _LOOK_EVERY_MS * US_PER_MS, agent.look_for_hold)
