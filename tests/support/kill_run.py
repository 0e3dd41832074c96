"""Kills of controllers under a write load: real processes, one seed, and the files after all have stopped.

There are three controllers, and an agent without topics that follows the log throughout.

Decides: which node is hurt, when and how. Must not know: what must hold afterwards; the tests check that.
"""

from __future__ import annotations

import random
import re
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from metadata_log.directory.quorum_state import parse_quorum_state
from metadata_log.voters import CONTROLLER_LISTENER, GRPC_LISTENER
from quorum.cli.demo.cluster import Node, wait_until
from quorum.node.config.node_config import INTER_CONTROLLER
from tests.support.kafka.jars import PREVIOUS, RELEASES
from tests.support.local_cluster import Cluster
from tests.support.log_bytes import log_bytes
from tests.support.write_load import Ledger, WriteLoad

LEADER_KILLS: Final = 20
_OTHER_FAULTS: Final = (
    "follower",
    "follower",
    "follower",
    "both followers",
    "both followers",
    "pause",
    "pause",
    "pause",
)
_PATIENCE_S: Final = 30.0
_MOST_ACKNOWLEDGED: Final = 120
"""The next fault comes after a random number of acknowledgements below this."""
_LED: Final = re.compile(r" transition .*\brole=leader epoch=(\d+)\b")


@dataclass
class KillRun:
    """The results of one run.

    Attributes:
        leaderless_s: for each kill of the leader, seconds until a request was acknowledged again.
        statuses: exit statuses of the clean stop at the end, by node.
    """

    cluster: Cluster
    seed: int
    ledger: Ledger
    leaderless_s: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)

    @property
    def directories(self) -> list[Path]:
        """Return each node's directory of the metadata log."""
        return [node.metadata_dir for node in self.cluster.nodes]

    def led_epochs(self) -> list[tuple[int, int]]:
        """Return (epoch, node id) of each time that a node logged itself as leader."""
        return [
            (int(match[1]), node.node_id)
            for node in self.cluster.controllers.values()
            for match in _LED.finditer(node.log_file.read_text())
        ]


def run_kills(root: Path, seed: int) -> KillRun:
    """Kill the leader twenty times, among other faults, then stop all cleanly.

    Controllers use gRPC or Kafka's protocol among themselves, as the seed draws.
    """
    dice = random.Random(seed)
    faults = ["leader"] * LEADER_KILLS + list(_OTHER_FAULTS)
    dice.shuffle(faults)
    among = {INTER_CONTROLLER: dice.choice((GRPC_LISTENER, CONTROLLER_LISTENER))}
    with Cluster(root, agents=(11,), properties=among, agent_properties={INTER_CONTROLLER: GRPC_LISTENER}) as cluster:
        cluster.format("--release-version", RELEASES[PREVIOUS].metadata_version)
        cluster.start()
        with WriteLoad(cluster.bootstrap, cluster.cluster_id, seed=seed) as load:
            run = KillRun(cluster=cluster, seed=seed, ledger=load.ledger, faults=faults)
            for fault in faults:
                _await_acknowledged(load, dice.randrange(_MOST_ACKNOWLEDGED))
                _FAULTS[fault](run, load, dice)
            _await_acknowledged(load, _MOST_ACKNOWLEDGED)
        wait_until("all logs to be of one length", lambda: _are_level(cluster), timeout_s=_PATIENCE_S)
        run.statuses = cluster.stop()
    return run


def leader_of(cluster: Cluster, above_epoch: int = -1) -> tuple[int, Node] | None:
    """Return the newest leader that running nodes know, with its epoch, if it runs and no newer one is known."""
    newest, leader = above_epoch, None
    for node in cluster.controllers.values():
        path = node.metadata_dir / "quorum-state"
        if node.is_running and path.exists():
            state = parse_quorum_state(path.read_bytes(), str(path))
            if state.leader_epoch > newest:
                newest, leader = state.leader_epoch, None
            if state.leader_epoch == newest and state.leader_id >= 0:
                leader = cluster.controllers[state.leader_id]
    return (newest, leader) if leader is not None and leader.is_running else None


def _await_leader(cluster: Cluster, above_epoch: int = -1) -> tuple[int, Node]:
    return wait_until(
        f"a leader of an epoch above {above_epoch}", lambda: leader_of(cluster, above_epoch), timeout_s=_PATIENCE_S
    )


def _await_acknowledged(load: WriteLoad, more: int) -> None:
    goal = load.acknowledged() + more
    wait_until(
        f"{more} more acknowledgements", lambda: load.acknowledged() >= goal, timeout_s=_PATIENCE_S, every_s=0.002
    )


def _kill_leader(run: KillRun, load: WriteLoad, dice: random.Random) -> None:
    epoch, leader = _await_leader(run.cluster)
    killed_at = time.monotonic()
    leader.kill()
    before = load.acknowledged()
    if dice.random() < 0.5:  # otherwise it takes part in the election
        _await_leader(run.cluster, epoch)
        _await_acknowledged(load, 1)
        run.leaderless_s.append(time.monotonic() - killed_at)
    leader.start()
    leader.wait_listening()
    _await_leader(run.cluster, epoch)
    wait_until("an acknowledgement", lambda: load.acknowledged() > before, timeout_s=_PATIENCE_S, every_s=0.002)


def _kill_follower(run: KillRun, load: WriteLoad, dice: random.Random) -> None:
    _, leader = _await_leader(run.cluster)
    follower = dice.choice([node for node in run.cluster.controllers.values() if node is not leader])
    follower.kill()
    _await_acknowledged(load, dice.randrange(_MOST_ACKNOWLEDGED))
    follower.start()
    follower.wait_listening()


def _kill_both_followers(run: KillRun, load: WriteLoad, dice: random.Random) -> None:
    _, leader = _await_leader(run.cluster)
    followers = [node for node in run.cluster.controllers.values() if node is not leader]
    dice.shuffle(followers)
    for follower in followers:
        follower.signal(signal.SIGKILL)
    for follower in followers:
        follower.wait()
        follower.start()
    for follower in followers:
        follower.wait_listening()
    _await_acknowledged(load, 1)


def _pause_leader(run: KillRun, load: WriteLoad, dice: random.Random) -> None:
    epoch, leader = _await_leader(run.cluster)
    leader.signal(signal.SIGSTOP)
    try:
        _await_leader(run.cluster, epoch)
    finally:
        leader.signal(signal.SIGCONT)
    _await_acknowledged(load, 1)


def _are_level(cluster: Cluster) -> bool:
    return len({log_bytes(node.metadata_dir) for node in cluster.nodes}) == 1


_FAULTS: Final = {
    "leader": _kill_leader,
    "follower": _kill_follower,
    "both followers": _kill_both_followers,
    "pause": _pause_leader,
}
