"""A cluster of Apache Kafka with combined nodes (`process.roles=broker,controller`), each with a second listener.

Decides: their second listener. Must not know: what is tested on them.
"""

from __future__ import annotations

from pathlib import Path

from quorum.cli.demo.cluster import LOOPBACK, free_ports, wait_until
from tests.support.kafka.cluster import KafkaCluster, KafkaNode
from tests.support.kafka.recovery import Contents
from tests.support.kafka.tools import KafkaTools


class CombinedCluster(KafkaCluster):
    """Three combined nodes; each has its topics and the metadata log in one directory."""

    def __init__(self, root: Path, tools: KafkaTools) -> None:
        # So any one node may die: the consumers' offsets are on the others, too.
        properties = {**Contents.PROPERTIES, "offsets.topic.replication.factor": "3"}
        super().__init__(root, tools, brokers=(), properties=properties)
        self._client_ports = dict(zip(self.nodes, free_ports(len(self.nodes)), strict=True))

    @property
    def running_broker(self) -> KafkaNode:
        """Return the first running node, as clients see it."""
        node = next(node for node in self.nodes.values() if node.is_running)
        return KafkaNode(node.directory, node.node_id, self._client_ports[node.node_id])

    def await_in_sync(self) -> None:
        """Wait until each replica has all the data of its partition's leader."""
        lacking = ("topics", "--describe", "--under-replicated-partitions")
        wait_until("all replicas to be in sync", lambda: not self.admin(*lacking).strip(), timeout_s=90.0, every_s=0.5)

    def configure(self, node_id: int) -> None:
        """Write the node's server.properties."""
        super().configure(node_id)
        node = self.nodes[node_id]
        clients = f"PLAINTEXT://{LOOPBACK}:{self._client_ports[node_id]}"
        with node.properties.open("a") as written:
            written.write(
                f"process.roles=broker,controller\nlisteners=CONTROLLER://{node.address},{clients}\n"
                f"advertised.listeners=CONTROLLER://{node.address},{clients}\n"
            )
