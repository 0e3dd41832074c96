"""Random scenarios with changing voters: the faults of `raft_random_scenarios`, and operators, replaced disks, moved
nodes and upgrades.

`python -m tests.support.voter_random_scenarios FIRST COUNT` runs seeds in order and prints the first that breaks an
invariant.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import msgspec

from metadata_log.errors import InvariantViolation
from metadata_log.voters import Endpoint
from quorum.raft.config import RaftConfig
from quorum.raft.states import Leader
from tests.support.raft_random_scenarios import ACTIONS, run_actions
from tests.support.voter_cluster import VoterCluster


def _add(cluster: VoterCluster, pick: int) -> None:
    """Ask the leader to add any node, voter or not: the leader must find out."""
    node_ids = list(cluster.nodes)
    cluster.add(node_ids[pick % len(node_ids)])


def _add_spare(cluster: VoterCluster, pick: int) -> None:
    spares = [node_id for node_id in cluster.nodes if node_id not in cluster.latest_voters()]
    if spares:
        cluster.add(spares[pick % len(spares)])


def _remove(cluster: VoterCluster, pick: int) -> None:
    """Remove any voter, if a majority of the remaining voters is up."""
    voters = cluster.latest_voters()
    if len(voters) > 1:
        node_id = voters.node_ids[pick % len(voters)]
        if cluster.keeps_majorities(now=voters.without(node_id)):
            cluster.remove(node_id)


def _remove_leader(cluster: VoterCluster, pick: int) -> None:
    leader, voters = cluster.leader(), cluster.latest_voters()
    if leader is not None and len(voters) > 1 and cluster.keeps_majorities(now=voters.without(leader)):  # type: ignore[arg-type]
        cluster.remove(leader)


def _burst(cluster: VoterCluster, pick: int) -> None:
    """Make several changes at once."""
    if pick % 2:
        _remove(cluster, pick)
    _add_spare(cluster, pick >> 4)
    node_ids = list(cluster.nodes)
    cluster.update(node_ids[pick % len(node_ids)], 9094 + pick % 7)
    _remove(cluster, pick >> 8)


def _replace_disk(cluster: VoterCluster, pick: int) -> None:
    """Replace a disk, if the other voters can go on and no voter is being added."""
    node_ids = list(cluster.nodes)
    node = cluster.nodes[node_ids[pick % len(node_ids)]]
    cores = [other.machine._core for other in cluster.nodes.values() if other.machine is not None]
    is_changing = any(type(core.state) is Leader and core.state.change is not None for core in cores)
    if not is_changing and cluster.keeps_majorities(without=node.key):
        cluster.replace_disk(node.key.node_id)


def _move(cluster: VoterCluster, pick: int) -> None:
    """Let a node come back at another port."""
    node_ids = list(cluster.nodes)
    node_id = node_ids[pick % len(node_ids)]
    node = cluster.nodes[node_id]
    if node.machine is not None:
        cluster.crash(node_id)
    node.endpoints = (Endpoint(name="GRPC", host=f"n{node_id}", port=9094 + pick % 7),)
    cluster.start(node_id)


def _upgrade(cluster: VoterCluster, pick: int) -> None:
    cluster.upgrade()


def _wait_long(cluster: VoterCluster, pick: int) -> None:
    """Wait long enough for followers to send their UpdateRaftVoter, and to join."""
    cluster.run((2100, 4500, 7000)[pick % 3])


VOTER_ACTIONS: dict[str, Callable[[VoterCluster, int], None]] = {
    **ACTIONS,
    "add": _add,
    "add spare": _add_spare,
    "remove": _remove,
    "remove leader": _remove_leader,
    "burst": _burst,
    "replace disk": _replace_disk,
    "move": _move,
    "upgrade": _upgrade,
    "wait long": _wait_long,
}


def run_voter_scenario(seed: int) -> VoterCluster:
    """Run the scenario of a seed, which draws the size, kraft.version, the faults and the length."""
    chance = VoterCluster(seed).chance
    cluster = VoterCluster(
        seed,
        voters=chance.choice((1, 2, 3, 3, 3, 4)),
        spares=chance.choice((0, 1, 1, 2)),
        config=RaftConfig(fetch_max_bytes=chance.choice((1, 300, 1 << 20))),
        auto_join=chance.random() < 0.3,
        static=chance.random() < 0.25,
    )
    cluster.config = msgspec.structs.replace(cluster.config, request_timeout_ms=chance.choice((300, 2000)))
    weights = [chance.choice((0, 1, 1, 3)) for _ in VOTER_ACTIONS]
    for name, more in (("propose", 2), ("wait", 2), ("start", 1), ("wait long", 1), ("add spare", 1), ("remove", 1)):
        weights[list(VOTER_ACTIONS).index(name)] += more
    names = chance.choices(list(VOTER_ACTIONS), weights, k=chance.randint(20, 100))
    return run_actions(cluster, [(name, chance.getrandbits(16)) for name in names], VOTER_ACTIONS)


def first_failure(first: int, count: int) -> tuple[int, str] | None:
    """Return the first seed that breaks an invariant, and the message; None if no seed does."""
    for seed in range(first, first + count):
        try:
            run_voter_scenario(seed)
        except (AssertionError, InvariantViolation) as broken:
            return seed, f"{type(broken).__name__}: {broken}"
    return None


if __name__ == "__main__":
    found = first_failure(int(sys.argv[1]), int(sys.argv[2]))
    print("clean" if found is None else f"seed {found[0]}: {found[1]}")
    sys.exit(found is not None)
