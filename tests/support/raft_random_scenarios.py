"""Random scenarios of the core: a seed draws faults, then the cluster must recover once it quiesces.

Run as a program, it runs seeds in order and prints the first that breaks an invariant: `python -m
tests.support.raft_random_scenarios FIRST COUNT [executor defect]`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from metadata_log.errors import InvariantViolation
from quorum.raft.config import RaftConfig
from tests.support.raft_cluster import Cluster, Defects, Faults, committed_offset

C = TypeVar("C", bound=Cluster)

LIVENESS_MS = 20_000
"""The virtual time in which a cluster must recover once all faults have ended."""


def _crash(cluster: Cluster, pick: int) -> None:
    node_id = _voter(cluster, pick)
    if cluster.nodes[node_id].machine is not None:
        cluster.crash(node_id, silently=pick % 3 == 0)


def _crash_leader(cluster: Cluster, pick: int) -> None:
    leader = cluster.leader()
    if leader is not None:
        cluster.crash(leader, silently=pick % 5 == 0)


def _blink(cluster: Cluster, pick: int) -> None:
    """Cut the power of a voter that has writes under way, and start it again at once."""
    busy = [node_id for node_id in cluster.voter_set.node_ids if cluster.nodes[node_id].disk.pending]
    if busy and cluster.nodes[busy[pick % len(busy)]].machine is not None:
        cluster.crash(busy[pick % len(busy)])
        cluster.start(busy[pick % len(busy)])


def _start(cluster: Cluster, pick: int) -> None:
    node_id = _voter(cluster, pick)
    if cluster.nodes[node_id].machine is None:
        cluster.start(node_id)


def _stop(cluster: Cluster, pick: int) -> None:
    node_id = _voter(cluster, pick)
    if cluster.nodes[node_id].machine is not None:
        cluster.stop(node_id)


def _propose(cluster: Cluster, pick: int) -> None:
    for node_id, node in cluster.nodes.items():
        if node.machine is not None and node.machine.is_leader:
            cluster.propose(node_id, f"{cluster.now_ms}:{pick}".encode())


def _cut(cluster: Cluster, pick: int) -> None:
    """Cut one voter off from the others, in both directions or in one."""
    node_id = _voter(cluster, pick)
    for other in cluster.nodes:
        if other != node_id:
            cluster.faults.cut.add((node_id, other))
            if pick % 3:
                cluster.faults.cut.add((other, node_id))


def _heal(cluster: Cluster, pick: int) -> None:
    cluster.faults.cut.clear()


def _noise(cluster: Cluster, pick: int) -> None:
    faults = cluster.faults
    faults.drop = (0.0, 0.05, 0.3)[pick % 3]
    faults.duplicate = (0.0, 0.1)[pick % 2]
    faults.delay_ms = ((1, 3), (1, 60), (1, 900))[pick % 3]


def _slow_disk(cluster: Cluster, pick: int) -> None:
    cluster.faults.slow_flush = (0.0, 0.3)[pick % 2]


def _wait(cluster: Cluster, pick: int) -> None:
    cluster.run((3, 10, 30, 100, 400, 2500)[pick % 6])


ACTIONS: dict[str, Callable[[Cluster, int], None]] = {
    "crash": _crash,
    "crash leader": _crash_leader,
    "blink": _blink,
    "start": _start,
    "stop": _stop,
    "propose": _propose,
    "cut": _cut,
    "heal": _heal,
    "noise": _noise,
    "slow disk": _slow_disk,
    "wait": _wait,
}


def _voter(cluster: Cluster, pick: int) -> int:
    ids = cluster.voter_set.node_ids
    return ids[pick % len(ids)]


def run_actions(
    cluster: C, actions: Sequence[tuple[str, int]], do: Mapping[str, Callable[[C, int], None]] | None = None
) -> C:
    """Start every replica, do the actions with a little time between them, then let the cluster recover."""
    for node_id in cluster.nodes:
        cluster.start(node_id)
    for name, pick in actions:
        (do or ACTIONS)[name](cluster, pick)
        cluster.run(cluster.chance.randint(0, 8))
    recover(cluster)
    return cluster


def recover(cluster: Cluster) -> None:
    """End all faults, then check that the cluster recovers.

    Within the liveness bound there is a leader, and a new record is committed on every replica.
    """
    cluster.faults = Faults()
    deadline_ms = cluster.now_ms + LIVENESS_MS
    target = None
    while cluster.now_ms < deadline_ms:
        for node_id, node in cluster.nodes.items():
            if node.machine is None:  # also a replica that only now ends its clean stop
                cluster.start(node_id)
        cluster.run(50)
        leader = cluster.leader()
        if leader is None:
            continue
        if target is None:
            target = committed_offset(cluster) + 1
            cluster.propose(leader, b"peace")
        marks = [node.machine.high_watermark for node in cluster.nodes.values() if node.machine is not None]
        if min(marks) >= target and committed_offset(cluster) == min(marks):
            break
        if cluster.now_ms % 1000 == 0:
            cluster.propose(leader, b"peace again")
    else:
        raise AssertionError(f"no recovery in {LIVENESS_MS} ms:\n{cluster.describe()}")
    cluster.checkers.on_end(cluster.final_logs())


def run_scenario(seed: int, defects: Defects | None = None, watch: Callable[[str], object] | None = None) -> Cluster:
    """Run the scenario of a seed, which draws the size, the faults and the length."""
    chance = Cluster(seed).chance
    cluster = Cluster(
        seed,
        voters=chance.choice((1, 2, 3, 3, 3, 5)),
        observers=chance.choice((0, 0, 1)),
        config=RaftConfig(fetch_max_bytes=chance.choice((1, 300, 1 << 20))),
        defects=defects,
    )
    cluster.watch = watch
    weights = [chance.choice((0, 1, 1, 3)) for _ in ACTIONS]
    weights[list(ACTIONS).index("propose")] += 2
    weights[list(ACTIONS).index("wait")] += 1
    weights[list(ACTIONS).index("start")] += 1
    names = chance.choices(list(ACTIONS), weights, k=chance.randint(20, 120))
    return run_actions(cluster, [(name, chance.getrandbits(16)) for name in names])


def first_failure(first: int, count: int, defects: Defects | None = None) -> tuple[int, str] | None:
    """Return the first seed that breaks an invariant, and the message; None if no seed does."""
    for seed in range(first, first + count):
        try:
            run_scenario(seed, defects)
        except (AssertionError, InvariantViolation) as broken:
            return seed, f"{type(broken).__name__}: {broken}"
    return None


if __name__ == "__main__":
    defect = dict.fromkeys(sys.argv[3:], True)
    found = first_failure(int(sys.argv[1]), int(sys.argv[2]), Defects(**defect))
    print("clean" if found is None else f"seed {found[0]}: {found[1]}")
    sys.exit(found is not None)
