"""Stock brokers of Apache Kafka on three controllers of this project: real processes on loopback."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from quorum.cli.demo.cluster import LOOPBACK, Node, wait_until
from tests.support.kafka.cluster import KafkaCluster, KafkaNode
from tests.support.kafka.tools import KafkaTools
from tests.support.local_cluster import Cluster
from tests.support.voter_processes import kraft

_ANSWER_S: Final = 5.0


class KafkaOnOurs:
    """The cluster, as a context manager that leaves no process."""

    def __init__(
        self,
        root: Path,
        tools: KafkaTools,
        *,
        brokers: Sequence[int] = (11, 12),
        others: Mapping[int, KafkaTools] | None = None,
        properties: Mapping[str, str] | None = None,
        broker_properties: Mapping[str, str] | None = None,
        jbod: bool = False,
    ) -> None:
        """Prepare the nodes.

        Args:
            properties: for the controllers; `broker_properties` are for the brokers.
            others: the tools of brokers of another version, by id.
            jbod: two log directories for each broker.
        """
        self.tools = tools
        self.ours = Cluster(root / "ours", agents=(), properties=properties)
        self.kafka = KafkaCluster(
            root / "kafka",
            tools,
            others=others,
            controllers=(),
            brokers=brokers,
            properties={"controller.quorum.bootstrap.servers": self.addresses, **(broker_properties or {})},
            cluster_id=self.ours.cluster_id,
            jbod=jbod,
        )

    @property
    def addresses(self) -> str:
        """Return the controllers' listeners of Kafka's protocol."""
        return ",".join(f"{LOOPBACK}:{node.ports['CONTROLLER']}" for node in self.ours.controllers.values())

    def start_controllers(self, *words: str) -> None:
        """Format the controllers, with these further options of `kraft storage format`, and start them."""
        self.ours.format(*words)
        self.ours.start()

    def start_brokers(self, *broker_ids: int) -> None:
        """Format these brokers if needed, start them, and wait until they are unfenced and serve."""
        for broker_id in broker_ids:
            if not (self.kafka.nodes[broker_id].log_dir / "meta.properties").exists():
                self.kafka.format(broker_id)
            self.kafka.launch(broker_id)
        for broker_id in broker_ids:
            self.kafka.nodes[broker_id].wait_started()

    def admin(self, tool: str, *words: str) -> str:
        """Return the standard output of a tool that asks a running broker."""
        return self.kafka.admin(tool, *words)

    @property
    def running_addresses(self) -> str:
        """Return the addresses of the running controllers: a tool may wait a minute for a dead one."""
        running = [node for node in self.ours.controllers.values() if node.is_running]
        return ",".join(f"{LOOPBACK}:{node.ports['CONTROLLER']}" for node in running)

    def leader_id(self) -> int:
        """Return the leader's id from the leader itself; -1 while none responds.

        Kafka's tool, run during an election, may repeat its request to the wrong controller for a minute.
        """
        at = ",".join(node.grpc_address for node in self.ours.controllers.values() if node.is_running)
        status, out, _ = kraft("quorum", "describe", "--bootstrap-controller", at, "-o", "json", "--timeout", "5")
        found = json.loads(out) if status == 0 else {}
        return int(found["answered_by"]) if found and found["answered_by"] == found["status"]["leader_id"] else -1

    def leader(self, *, other_than: int = -1) -> Node:
        """Return the controller that leads, other than `other_than`, once there is one."""

        def found() -> Node | None:
            leader = self.leader_id()
            return None if leader in (-1, other_than) else self.ours.controllers.get(leader)

        return wait_until("a leader", found, timeout_s=90, every_s=0.1)

    def observers(self) -> set[int]:
        """Return the brokers that fetch the log."""
        words = ("--bootstrap-controller", self.running_addresses, "describe", "--replication")
        rows = [line.split() for line in self.tools.run("metadata-quorum", *words).splitlines() if line]
        return {int(row[0]) for row in rows[1:] if row[-1] == "Observer"}

    def await_in_sync(self, topic: str) -> None:
        """Wait until all replicas of the topic are in sync."""
        words = ("--describe", "--topic", topic, "--under-replicated-partitions")
        wait_until(f"{topic} to be in sync", lambda: not self.admin("topics", *words).strip(), timeout_s=90)

    def broker(self, broker_id: int) -> KafkaNode:
        """Return one of the brokers."""
        return self.kafka.nodes[broker_id]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> Any:
        for node in self.kafka.nodes.values():
            node.kill()
        self.ours.kill_all()


def is_ready(node: Node) -> bool:
    """Return True if our controller reports that it is ready: it follows or leads, and has caught up."""
    node.check_running()
    try:
        with urllib.request.urlopen(f"http://{node.http_address}/readyz", timeout=_ANSWER_S):
            return True
    except OSError:  # no listener yet, or status 503
        return False
