"""Faults of hosts, links, processes, disks and clocks.

Must not know: when a fault comes, with which others, and what must hold afterwards.

`NETWORK` holds faults of links, which `Hosts.heal` ends; `ACTS` the others: each begins, and returns the function that
ends it.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterable
from itertools import combinations, permutations
from typing import Final

import msgspec

from quorum.cli.demo.cluster import wait_until
from tests.chaos.cluster import CLIENTS, CONTROLLERS, HostedCluster, HostedNode
from tests.chaos.disks import LoopDisk, SmallDisk
from tests.chaos.history import Progress
from tests.chaos.hosts import Hosts
from tests.chaos.relay import Link
from tests.support.kill_run import leader_of

PATIENCE_S: Final = 60.0
_LOOKS, _LOOK_EVERY_S = 3000, 0.02
"""The looks within which a quorum must work again: on a machine without free time, looks are rare for the test, too."""
_WIDEST_SKEW_S: Final = 86_400


def await_in_looks(what: str, condition: Callable[[], bool]) -> None:
    """Wait as long as a quorum may take until it works again.

    Raises:
        TimeoutError: it did not; with `what`.
    """
    for _ in range(_LOOKS):
        if condition():
            return
        time.sleep(_LOOK_EVERY_S)
    raise TimeoutError(f"looked {_LOOKS} times, {_LOOK_EVERY_S} s apart, in vain: {what}")


class Scene(msgspec.Struct, kw_only=True):
    """The objects of faults, and the random draws."""

    cluster: HostedCluster
    hosts: Hosts
    progress: Progress
    dice: random.Random
    hold_s: float | None = None
    """The duration of faults, if it is not drawn."""

    def leader(self) -> HostedNode:
        """Return the newest running leader, or any running node while there is no leader."""
        found = leader_of(self.cluster)  # type: ignore[arg-type]
        running = [node for node in self.cluster.controllers.values() if node.is_running]
        return found[1] if found is not None else self.dice.choice(running)  # type: ignore[return-value]

    def follower(self) -> HostedNode:
        """Return any other running node."""
        leader = self.leader()
        return self.dice.choice([node for node in self.cluster.controllers.values() if node is not leader])

    def await_write(self) -> None:
        """Wait until another write is acknowledged."""
        before = self.progress.look()
        await_in_looks("an acknowledged write", lambda: self.progress.look() > before)

    def let_write(self, more: int, seconds: float) -> None:
        """Let the clients work until this many more writes are acknowledged, or for this time on a slow machine."""
        goal, end = self.progress.look() + more, time.monotonic() + seconds
        wait_until(
            "writes, or time", lambda: self.progress.look() >= goal or time.monotonic() >= end, timeout_s=2 * seconds
        )

    def hold(self, least_s: float, most_s: float) -> None:
        """Let the present faults last for a while."""
        drawn_s = self.dice.uniform(least_s, most_s)
        time.sleep(drawn_s if self.hold_s is None else self.hold_s)


Finish = Callable[[], None]


# --- links


def _sound(scene: Scene) -> None:
    """Leave all links as they are."""


def _slow(scene: Scene) -> None:
    """Delay every link, each direction differently."""
    for source, destination in permutations((*CONTROLLERS, *CLIENTS), 2):
        delay = scene.dice.uniform(0.002, 0.06)
        scene.hosts.relay.set_link(source, destination, Link(delay_s=delay, jitter_s=delay))


def _lossy(scene: Scene) -> None:
    """Let every link lose, duplicate and reorder packets."""
    link = Link(
        jitter_s=scene.dice.uniform(0.001, 0.03),
        loss=scene.dice.uniform(0.01, 0.12),
        duplicates=0.05,
        is_unordered=True,
    )
    for source, destination in permutations((*CONTROLLERS, *CLIENTS), 2):
        scene.hosts.relay.set_link(source, destination, link)


def _apart(scene: Scene, pairs: Iterable[tuple[int, int]]) -> None:
    for one, other in pairs:
        scene.hosts.blackhole(one, other)
        scene.hosts.blackhole(other, one)


def _others(node_id: int) -> list[int]:
    return [other for other in CONTROLLERS if other != node_id]


def _leader_apart(scene: Scene) -> None:
    """Cut the leader off from the followers; clients still reach it."""
    leader = scene.leader().node_id
    _apart(scene, ((leader, other) for other in _others(leader)))


def _follower_apart(scene: Scene) -> None:
    follower = scene.follower().node_id
    _apart(scene, ((follower, other) for other in _others(follower)))


def _all_apart(scene: Scene) -> None:
    _apart(scene, combinations(CONTROLLERS, 2))


def _bridge(scene: Scene) -> None:
    """Cut two nodes off from each other; the third reaches both."""
    one, other = _others(scene.dice.choice(CONTROLLERS))
    _apart(scene, [(one, other)])


def _leader_mute(scene: Scene) -> None:
    """Lose what the leader sends to the others, but not what they send to it."""
    leader = scene.leader().node_id
    for other in _others(leader):
        scene.hosts.relay.set_link(leader, other, Link(is_cut=True))


def _leader_deaf(scene: Scene) -> None:
    """Lose what the others send to the leader, but not what it sends to them."""
    leader = scene.leader().node_id
    for other in _others(leader):
        scene.hosts.relay.set_link(other, leader, Link(is_cut=True))


def _clients_apart(scene: Scene) -> None:
    """Cut the clients off from a healthy leader."""
    leader = scene.leader().node_id
    _apart(scene, ((host, leader) for host in CLIENTS))


def _split(scene: Scene) -> None:
    """Leave some clients with the leader and the others with the followers, so that a deposed leader does not learn
    it."""
    leader, (one, other) = scene.leader().node_id, CLIENTS
    followers = _others(leader)
    _apart(scene, [(leader, host) for host in (*followers, other)] + [(host, one) for host in followers])


# --- processes, disks, clocks


def _nothing(scene: Scene) -> Finish:
    return lambda: None


def _kill(nodes: list[HostedNode]) -> Finish:
    for node in nodes:
        node.signal(signal.SIGKILL)
    for node in nodes:
        node.wait()

    def restart() -> None:
        for node in nodes:
            node.start()
        for node in nodes:
            node.wait_listening()

    return restart


def _kill_leader(scene: Scene) -> Finish:
    return _kill([scene.leader()])


def _kill_follower(scene: Scene) -> Finish:
    return _kill([scene.follower()])


def _kill_all(scene: Scene) -> Finish:
    return _kill(list(scene.cluster.controllers.values()))


def _pause(node: HostedNode) -> Finish:
    node.signal(signal.SIGSTOP)
    return lambda: node.signal(signal.SIGCONT)


def _pause_leader(scene: Scene) -> Finish:
    return _pause(scene.leader())


def _pause_follower(scene: Scene) -> Finish:
    return _pause(scene.follower())


def _break_disk(scene: Scene, kind: type[SmallDisk | LoopDisk]) -> Finish:
    ((node_id, disk),) = ((at, disk) for at, disk in scene.cluster.disks.items() if isinstance(disk, kind))
    node = scene.cluster.controllers[node_id]
    disk.fail()

    def mend() -> None:
        scene.hosts.heal()  # it ends at a write, and may get none while it is cut off
        complaint = node.wait_failed()
        if str(node.metadata_dir) not in complaint:
            raise RuntimeError(f"{node.name} does not name its directory: {complaint}")
        disk.mend()
        node.start()
        node.wait_listening()

    return mend


def _full_disk(scene: Scene) -> Finish:
    return _break_disk(scene, SmallDisk)


def _failing_sync(scene: Scene) -> Finish:
    return _break_disk(scene, LoopDisk)


def _jump_clocks(scene: Scene) -> Finish:
    """Let the wall clocks jump, each separately, forth and back; they keep their last offset."""
    for node in scene.cluster.controllers.values():
        node.set_clock(scene.dice.randint(-_WIDEST_SKEW_S, _WIDEST_SKEW_S))
    return lambda: None


NETWORK: Final[dict[str, Callable[[Scene], None]]] = {
    "sound": _sound,
    "slow": _slow,
    "lossy": _lossy,
    "leader apart": _leader_apart,
    "follower apart": _follower_apart,
    "all apart": _all_apart,
    "bridge": _bridge,
    "leader mute": _leader_mute,
    "leader deaf": _leader_deaf,
    "clients apart from the leader": _clients_apart,
    "split": _split,
}
ACTS: Final[dict[str, Callable[[Scene], Finish]]] = {
    "nothing": _nothing,
    "kill leader": _kill_leader,
    "kill follower": _kill_follower,
    "kill all": _kill_all,
    "pause leader": _pause_leader,
    "pause follower": _pause_follower,
    "full disk": _full_disk,
    "failing sync": _failing_sync,
    "clocks jump": _jump_clocks,
}
