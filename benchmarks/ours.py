"""Three of our controllers with their defaults, and the stub broker on which topics can be created.

Decides: how they are started and asked, by gRPC or in Kafka's protocol. Must not know: what is measured.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import grpc

from benchmarks.broker import FakeBroker
from benchmarks.side import page, samples, send_signal
from kraft.v1 import controller_pb2, controller_pb2_grpc
from metadata_log.voters import CONTROLLER_LISTENER
from quorum.cli.demo.cluster import LOOPBACK, Cluster, Node, wait_until
from quorum.node.config.node_config import INTER_CONTROLLER, KEYS

_TIMEOUT_S: Final = 30.0


class KraftSide:
    """See `side.Side`."""

    kind = "kraft"
    title = "this project"
    warm_s = 0.0

    takes_checkpoints = "metadata.log.max.record.bytes.between.snapshots" in KEYS

    def __init__(self, root: Path) -> None:
        self._root = root
        self._cluster: Cluster | None = None
        self._broker: FakeBroker | None = None

    @property
    def cluster(self) -> Cluster:
        """The running cluster."""
        if self._cluster is None:
            raise RuntimeError("not started")
        return self._cluster

    @property
    def members(self) -> tuple[str, ...]:
        """See `Side`."""
        return ("controller-1", "controller-2", "controller-3")

    def start(self, properties: Mapping[str, str] | None = None) -> None:
        """See `Side`."""
        shutil.rmtree(self._root, ignore_errors=True)
        self._cluster = self._new_cluster(properties)
        self._cluster.format()
        self._cluster.start()
        self.leader()
        self._broker = FakeBroker(self._cluster.bootstrap, self._cluster.cluster_id)
        self._broker.start()

    def stop(self) -> None:
        """See `Side`."""
        self.stop_broker()
        if self._cluster is not None:
            self._cluster.kill_all()
        shutil.rmtree(self._root, ignore_errors=True)

    def stop_broker(self) -> None:
        """End the broker's heartbeats; it stays unfenced until a controller has waited for them."""
        if self._broker is not None:
            self._broker.stop()

    def address(self, member: str) -> str:
        """See `Side`."""
        return self._node(member).grpc_address

    def pid(self, member: str) -> int:
        """See `Side`."""
        return self._process(member).pid

    def leader(self) -> str:
        """See `Side`."""

        def found() -> str | None:
            for member in self.members:
                self._check(member)
                if self._is_active(member):
                    return member
            return None

        return wait_until("an active controller", found, timeout_s=_TIMEOUT_S)

    def directory(self, member: str) -> Path:
        """See `Side`."""
        return self._node(member).metadata_dir

    def signal(self, member: str, number: signal.Signals) -> int:
        """See `Side`."""
        return send_signal(self._process(member), number)

    def restart(self, member: str) -> None:
        """See `Side`."""
        self._node(member).start()

    def await_replayed(self, member: str) -> None:
        """See `Side`."""
        wanted = self._image_end(self.leader(), 0)
        wait_until(
            f"{member} to replay up to {wanted}",
            lambda: self._image_end(member, wanted) >= wanted,
            timeout_s=60.0,
            every_s=0.01,
        )

    def syncs(self, member: str) -> int:
        """See `Side`."""
        return int(samples(page(self._node(member).http_address, "/metrics"))["kraft_log_sync_seconds_count"])

    def _new_cluster(self, properties: Mapping[str, str] | None) -> Cluster:
        return Cluster(self._root, agents=(), properties=properties)

    def _process(self, member: str) -> subprocess.Popen[bytes]:
        process = self._node(member).process
        if process is None:
            raise RuntimeError(f"{member} was never started")
        return process

    def _node(self, member: str) -> Node:
        return self.cluster.controllers[int(member.rpartition("-")[2])]

    def _check(self, member: str) -> None:
        node = self._node(member)
        if node.process is not None and node.process.returncode is None:
            node.check_running()

    def _is_active(self, member: str) -> bool:
        """Return True if the member answers a request that only the active controller answers."""
        if not self._node(member).is_running:
            return False
        with grpc.insecure_channel(self._node(member).grpc_address) as channel:
            asked = controller_pb2.DescribeTopicsRequest(names=["none"])
            try:
                answer = controller_pb2_grpc.ControllerStub(channel).DescribeTopics(asked, timeout=2.0)
            except grpc.RpcError:
                return False
            return not answer.outcome.error_code

    def _image_end(self, member: str, at_least: int) -> int:
        """Return the offset of the member's image once it is at least `at_least`, or -1 if it does not answer."""
        with grpc.insecure_channel(self._node(member).grpc_address) as channel:
            asked = controller_pb2.DescribeTopicsRequest(names=["none"], at_least_offset=at_least)
            try:
                answer = controller_pb2_grpc.ControllerStub(channel).DescribeTopics(asked, timeout=30.0)
            except grpc.RpcError:
                return -1
            return -1 if answer.outcome.error_code else int(answer.outcome.image_offset)


class KafkaDoorSide(KraftSide):
    """The same three, asked in Kafka's protocol on their CONTROLLER listeners, where they ask one another, too."""

    kind = "kafka"
    title = "this project, Kafka's protocol"

    def start(self, properties: Mapping[str, str] | None = None) -> None:
        """See `Side`."""
        super().start({INTER_CONTROLLER: CONTROLLER_LISTENER, **(properties or {})})

    def address(self, member: str) -> str:
        """See `Side`."""
        return f"{LOOPBACK}:{self._node(member).ports[CONTROLLER_LISTENER]}"
