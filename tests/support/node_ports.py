"""A node's ports over simulated files, network and time; each effect on the world is counted before it happens."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from metadata_log.errors import MetadataLogError
from metadata_log.files.simulated_files import SimulatedCrash
from quorum.api.calls import ClientAnswer, PeerCall, PeerResponse
from quorum.node.core.checkpoint_jobs import CheckpointJob, CheckpointJobDone
from quorum.node.core.ports import (
    ControllerAnswered,
    ControllerCall,
    DiskDone,
    DiskFailed,
    DiskJob,
    LogRead,
    OutgoingRequest,
    PeerAnswered,
    PeerFailed,
    PeerRequested,
    ReadDone,
    Replies,
)
from quorum.raft.inputs import Clock
from quorum.raft.ready import Destination
from tests.support.node_requests import WALL_START_MS
from tests.support.peer_failures import EXPIRED, RESET

if TYPE_CHECKING:
    from tests.support.node_cluster import Cluster
    from tests.support.simulated_node import Node


class Crashed(Exception):
    """The replica died just before an effect."""


class VirtualClock:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def now(self) -> Clock:
        return Clock(monotonic_ms=self._cluster.now_ms, wall_ms=WALL_START_MS + self._cluster.now_ms)


class SeededEntropy:
    def __init__(self, node: Node) -> None:
        self._random = random.Random(node.cluster.random.getrandbits(64))

    def draw(self) -> int:
        return self._random.getrandbits(64)

    def new_id(self) -> bytes:
        return b"\x10" + self._random.randbytes(15)


class SimulatedDisk:
    """Takes jobs, and makes all waiting jobs durable together, a little later."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self._boot = node.boot
        self._disk = node.opened.disk
        self._jobs: list[DiskJob] = []
        self._is_busy = False

    def write(self, jobs: Sequence[DiskJob]) -> None:
        self.node.cluster.before_effect()
        self._jobs += jobs
        if not self._is_busy:
            self._is_busy = True
            self.node.cluster.later(self.node.disk_latency_ms, self._run)

    def execute(self, jobs: Sequence[DiskJob]) -> int:
        return self._disk.execute(jobs)

    def finish(self) -> None:
        """Write what is queued before the log is closed, as a real disk's threads do at a clean stop."""
        jobs, self._jobs = self._jobs, []
        if jobs:
            self.execute(jobs)

    def done(self, sequence: int) -> None:
        self.node.post(self._boot, 0, DiskDone(sequence=sequence))

    def _run(self) -> None:
        node = self.node
        if node.boot != self._boot or not node.is_up:
            return
        jobs, self._jobs, self._is_busy = self._jobs, [], False
        try:
            node.cluster.before_effect()
            sequence = self.execute(jobs)
            node.disk_changed()
            node.cluster.before_effect()
        except (Crashed, SimulatedCrash):
            node.crash()
        except MetadataLogError as error:
            node.post(self._boot, 0, DiskFailed(error=error))
        else:
            self.done(sequence)

    def read(self, read: LogRead) -> None:
        self.node.post(self._boot, 1, ReadDone(read_id=read.read_id, data=read.plan.run()))

    def work(self, job: CheckpointJob) -> None:
        self.node.cluster.before_effect()
        self.node.cluster.later(self.node.disk_latency_ms, lambda: self._work(job))

    def _work(self, job: CheckpointJob) -> None:
        node = self.node
        if node.boot != self._boot or not node.is_up:
            return
        try:
            node.cluster.before_effect()
            result = job.op.run()
            node.cluster.before_effect()
        except (Crashed, SimulatedCrash):
            node.crash()
        except MetadataLogError as error:
            node.post(self._boot, 0, DiskFailed(error=error))
        else:
            node.post(self._boot, 0, CheckpointJobDone(job_id=job.job_id, result=result))


class SimulatedNetwork:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._boot = node.boot

    def attach(self, replies: Replies) -> None:
        """Connect the events for responses."""

    def send(self, request: OutgoingRequest) -> None:
        node, cluster = self._node, self._node.cluster
        cluster.before_effect()
        cluster.promises.on_send(node, request)
        target = _target(cluster, request.destination)
        if (node.node_id, target.node_id) in cluster.cut:
            self._fail(request, request.timeout_ms, disconnected=False)
            return
        cluster.later(cluster.random.randint(1, 2), lambda: self._deliver(target, request))

    def _deliver(self, target: Node, request: OutgoingRequest) -> None:
        if not target.is_up:
            self._fail(request, 1, disconnected=True)
            return
        node, cluster = self._node, self._node.cluster
        call = PeerCall(request=request.request, cluster_id=request.cluster_id, topic_id=request.topic_id)
        answered: list[bool] = []

        def respond(response: PeerResponse) -> None:
            cluster.before_effect()
            cluster.promises.on_answer(target, call, response)
            answered.append(True)
            if (target.node_id, node.node_id) not in cluster.cut:
                event = PeerAnswered(
                    destination_id=request.destination.node_id, correlation=request.correlation, response=response
                )
                node.post(self._boot, cluster.random.randint(1, 2), event)

        def expire() -> None:
            if not answered:
                self._fail(request, 0, disconnected=False)

        cluster._sequence += 1
        cluster.later(request.timeout_ms, expire)
        target.in_flight.append((answered, lambda: self._fail(request, 1, disconnected=True)))
        target.turn([PeerRequested(request_id=cluster._sequence, call=call, respond=respond)])

    def _fail(self, request: OutgoingRequest, delay_ms: int, *, disconnected: bool) -> None:
        event = PeerFailed(
            destination_id=request.destination.node_id,
            correlation=request.correlation,
            failure=RESET if disconnected else EXPIRED,
        )
        self._node.post(self._boot, delay_ms, event)

    def send_to_controller(self, call: ControllerCall) -> None:
        node, cluster = self._node, self._node.cluster
        cluster.before_effect()
        target = _target(cluster, call.destination)

        def respond(answer: ClientAnswer) -> None:
            node.post(self._boot, 1, ControllerAnswered(correlation=call.correlation, answer=answer))

        def deliver() -> None:
            if target.is_up:
                target.call(call.request, respond)
            else:
                node.post(self._boot, 1, ControllerAnswered(correlation=call.correlation, answer=None))

        cluster.later(1, deliver)


def _target(cluster: Cluster, destination: Destination) -> Node:
    host = destination.endpoints[0].host
    return cluster.node(int(host[1:]))
