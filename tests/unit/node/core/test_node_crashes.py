"""Check that nothing is promised before it is durable (DESIGN 1.5).

A replica crashes before every single effect of a scenario. Every promise that was sent (a vote, a fetch offset, a
response to a client) must then rest on durable bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from metadata_log.directory.quorum_state import QuorumState
from metadata_log.errors import InvariantViolation
from metadata_log.offsets import Epoch
from quorum.api.calls import ClientAnswer
from quorum.node.core.effects import Effects
from quorum.node.core.executor import Executor
from quorum.node.core.ports import DiskDone, DiskJob, StateWrite
from quorum.raft.ready import Effect
from tests.support.node_cluster import Cluster
from tests.support.node_ports import SimulatedDisk
from tests.support.node_requests import REGISTER_BROKER
from tests.support.simulated_node import Node

TOPICS = 4
_STEP_MS = 40
_RESTART_MS = 150


class Scenario:
    """Clients that want topics, a leader that is killed half way, and replicas that come back whenever they died."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.answers: list[ClientAnswer] = []
        cluster.restart_after_ms = _RESTART_MS
        self._next = 0
        self._is_killed = False

    def run(self) -> None:
        """To its end: every topic was asked for; then all replicas live, and agree."""
        cluster = self.cluster
        cluster.start()
        for _ in range(200):
            cluster.run_for(_STEP_MS)
            self._act(cluster.leader)
            if self._next == TOPICS:
                break
        cluster.crash_at = None
        cluster.run_until(self._is_settled)
        cluster.run_for(50)

    def _act(self, leader: Node | None) -> None:
        if leader is None:
            return
        if not leader.executor.image.cluster.brokers:
            leader.call(REGISTER_BROKER, self.answers.append)
        elif leader.executor.image.cluster.brokers[100].fenced:  # type: ignore[index]
            leader.unfence_broker()
        elif self._next == TOPICS // 2 and not self._is_killed:
            self._is_killed = True
            leader.crash()
        else:
            self._next += 1
            self.cluster.create(leader, f"topic-{self._next}")

    def _is_settled(self) -> bool:
        cluster = self.cluster
        leader = cluster.leader
        if leader is None or not all(node.is_up for node in cluster.nodes):
            return False
        end = leader.executor.machine.log_end_offset
        return all(node.executor.image.offset_and_epoch.offset == end for node in cluster.nodes)


def _play(
    seed: int, crash_at: int | None, *, executor: type[Executor] = Executor, disk: type[SimulatedDisk] = SimulatedDisk
) -> Cluster:
    cluster = Cluster(seed=seed, executor=executor, disk=disk)
    cluster.crash_at = crash_at
    Scenario(cluster).run()
    return cluster


def _check(cluster: Cluster) -> None:
    cluster.check()
    for node in cluster.nodes:
        by_name = node.executor.image.topics.by_name
        for name, topic_id in cluster.promises.acknowledged.items():
            assert by_name.get(name) == topic_id, f"{name} was acknowledged, node {node.node_id} has not got it"
    assert cluster.nodes[0].executor.image == cluster.nodes[1].executor.image == cluster.nodes[2].executor.image


@pytest.mark.parametrize(
    ("seed", "step"),
    [
        (1, 3),
        pytest.param(1, 1, marks=pytest.mark.campaign),
        pytest.param(2, 1, marks=pytest.mark.campaign),
    ],
)
def test_a_crash_between_any_two_effects_breaks_no_promise(seed: int, step: int) -> None:
    """Between one pair of `step`; the campaign takes each."""
    quiet = _play(seed, None)
    _check(quiet)
    assert len(quiet.promises.acknowledged) >= TOPICS - 1
    total = quiet.effects
    assert total > 100
    for crash_at in range(1, total, step):
        _check(_play(seed, crash_at))


def test_a_crash_in_any_call_of_the_file_system_breaks_no_promise() -> None:
    quiet = _play(3, None)
    before = Cluster(seed=3).node(1).files.changes
    for change in range(before + 1, quiet.node(1).files.changes):
        cluster = Cluster(seed=3)
        cluster.node(1).files.crash_at = change
        Scenario(cluster).run()
        _check(cluster)


class _Eager(Effects):
    """Planted: what must wait for the disk does not."""

    def _hold(self, token: int, effect: Effect) -> None:
        self._do(effect)


class _EagerExecutor(Executor):
    effects_type = _Eager


class _EarlyDisk(SimulatedDisk):
    """Planted: says that a write is durable before it is."""

    def write(self, jobs: Sequence[DiskJob]) -> None:
        super().write(jobs)
        self.node.post(self.node.boot, 0, DiskDone(sequence=jobs[-1].sequence))

    def done(self, sequence: int) -> None:
        """It was said already."""


class _ForgetfulDisk(SimulatedDisk):
    """Planted: the vote is not written, nor in which epoch it was given."""

    def execute(self, jobs: Sequence[DiskJob]) -> int:
        return super().execute([_forgotten(job) if isinstance(job, StateWrite) else job for job in jobs])


def _forgotten(job: StateWrite) -> StateWrite:
    return msgspec.structs.replace(job, state=QuorumState(leader_epoch=Epoch(0)))


PLANTED = {
    "effects do not wait for their write": (_EagerExecutor, SimulatedDisk, ("votes in epoch",)),
    "flushed before it is": (Executor, _EarlyDisk, ("votes in epoch", "fetches from", "acknowledged")),
    "a vote that is not written": (Executor, _ForgetfulDisk, ("votes in epoch",)),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_wrong_order_is_caught(name: str) -> None:
    executor, disk, expected = PLANTED[name]
    cluster = Cluster(seed=1, executor=executor, disk=disk)
    for node in cluster.nodes:
        node.disk_latency_ms = 15
    try:
        Scenario(cluster).run()
    except (InvariantViolation, AssertionError):
        assert cluster.promises.violations
    for words in expected:
        assert any(words in violation for violation in cluster.promises.violations), (
            words,
            cluster.promises.violations,
        )
