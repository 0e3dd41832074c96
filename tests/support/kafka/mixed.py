"""Controllers of Apache Kafka and of this project in one quorum, and stock brokers: real processes on loopback."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from quorum.cli.demo.cluster import LOOPBACK, Node, NodeFailedError, free_ports, wait_until
from quorum.client.quorum_status import describe_at
from tests.support.kafka.cluster import CLUSTER_ID, KafkaCluster, KafkaNode, directory_id
from tests.support.kafka.tools import KafkaTools, ToolFailedError
from tests.support.log_bytes import log_bytes
from tests.support.voter_processes import kraft
from tests.support.warm_nodes import WarmNode

_NOT_REPLAYED: Final = "irect-to-controller communication is not supported"
"""The error of a Java controller before it has replayed the metadata.version. 4.4 words its start otherwise."""
_TRIES: Final = 3
_NOT_YET: Final = ("RequestTimedOut", "TimeoutException", _NOT_REPLAYED)


class MixedQuorum:
    """A mixed quorum, as a context manager that leaves no process. Controllers have ids below 10."""

    def __init__(
        self,
        root: Path,
        tools: KafkaTools,
        *,
        java: Sequence[int],
        ours: Sequence[int],
        joining: Sequence[int] = (),
        brokers: Sequence[int] = (11,),
        properties: Mapping[str, str] | None = None,
        java_properties: Mapping[str, str] | None = None,
        static_voters: bool = False,
        others: Mapping[int, KafkaTools] | None = None,
    ) -> None:
        """Prepare the nodes.

        Args:
            joining: controllers that are no first voters.
            properties: for this project's controllers; `java_properties` are for Kafka's.
            static_voters: kraft.version 0, with the voters in every configuration.
            others: the tools of Java nodes of another release, by id.
        """
        self.tools = tools
        self._static_voters = static_voters
        ids = (*java, *ours, *brokers)
        ports = dict(zip(ids, free_ports(len(ids)), strict=True))
        self._voters = [node_id for node_id in (*java, *ours) if node_id not in joining]
        self._ports = ports
        self.addresses = ",".join(f"{LOOPBACK}:{ports[node_id]}" for node_id in (*java, *ours))
        finding = {"controller.quorum.bootstrap.servers": self.addresses}
        if static_voters:
            voters = ",".join(f"{node_id}@{LOOPBACK}:{ports[node_id]}" for node_id in (*java, *ours))
            finding = {"controller.quorum.voters": voters}
        self._finding = finding
        self.kafka = KafkaCluster(
            root / "kafka",
            tools,
            controllers=java,
            brokers=brokers,
            ports={node_id: ports[node_id] for node_id in (*java, *brokers)},
            properties={**finding, **(java_properties or {})},
            static_voters=static_voters,
            others=others,
        )
        more = iter(free_ports(2 * len(ours)))
        self.ours = {node_id: self._node(root, node_id, next(more), next(more), properties or {}) for node_id in ours}

    def _node(self, root: Path, node_id: int, grpc: int, http: int, properties: Mapping[str, str]) -> Node:
        at = root / f"ours-{node_id}"
        own = {"CONTROLLER": self._ports[node_id], "GRPC": grpc, "HTTP": http}
        return WarmNode(
            "controller", node_id, at, own,
            {
                "process.roles": "controller",
                "node.id": str(node_id),
                "listeners": f"CONTROLLER://{LOOPBACK}:{own['CONTROLLER']},GRPC://{LOOPBACK}:{grpc}",
                "controller.listener.names": "CONTROLLER,GRPC",
                "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,GRPC:PLAINTEXT",
                **self._finding,
                "log.dirs": str(at / "data"),
                "http.listener": f"HTTP://{LOOPBACK}:{http}",
                **properties,
            },
        )  # fmt: skip

    @property
    def initial_controllers(self) -> str:
        """Return one text for all: Kafka's controllers know no second listener, ours put theirs in the log."""
        return ",".join(f"{each}@{LOOPBACK}:{self._ports[each]}:{directory_id(each)}" for each in self._voters)

    def format(self, *node_ids: int, release: str | None = None) -> None:
        """Format these nodes (all by default) at the level of `release`, or the highest that all of Kafka's nodes
        support."""
        release = release or self.kafka.lowest_release.metadata_version
        for node_id in node_ids or (*self.kafka.nodes, *self.ours):
            is_first = node_id in self._voters
            how = ("--initial-controllers", self.initial_controllers) if is_first else ("--no-initial-controllers",)
            if self._static_voters:
                how = ()
            if node_id in self.ours:
                node = self.ours[node_id]
                node.write_config()
                where = ("-c", str(node.config_file), "-t", CLUSTER_ID, "--release-version", release)
                status, out, err = kraft("storage", "format", *where, *how)
                assert status == 0, out + err
                continue
            self.kafka.configure(node_id)
            words = ["format", "-t", CLUSTER_ID, "-c", str(self.kafka.nodes[node_id].properties)]
            words += ["--release-version", release]
            self.kafka.tools_of(node_id).run(
                "storage", *words, *(how if self.kafka.nodes[node_id].is_controller else ())
            )

    def start(self, *node_ids: int) -> None:
        """Start these nodes and wait until they are up; a Java controller is up once it knows a leader."""
        for node_id in node_ids:
            if node_id in self.ours:
                self.ours[node_id].start()
            else:
                self.kafka.launch(node_id)
        for node_id in node_ids:
            if node_id in self.ours:
                self.ours[node_id].wait_listening()
            else:
                self.kafka.nodes[node_id].wait_started()

    def node(self, node_id: int) -> Node | KafkaNode:
        """Return any of the nodes."""
        return self.ours[node_id] if node_id in self.ours else self.kafka.nodes[node_id]

    def log_dir(self, node_id: int) -> Path:
        """Return its log directory."""
        return self.node(node_id).log_dir

    def quorum_state(self, node_id: int) -> tuple[int, int]:
        """Return epoch and leader in the node's quorum-state file; -1 for both while it is missing."""
        try:
            state = json.loads((self.log_dir(node_id) / "__cluster_metadata-0" / "quorum-state").read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return -1, -1
        return int(state["leaderEpoch"]), int(state["leaderId"])

    def controllers_running(self) -> list[int]:
        """Return the ids of the running controllers."""
        return [each for each in (*self.kafka.nodes, *self.ours) if each < 10 and self.node(each).is_running]

    def leader(self, *, other_than: int = -1, timeout_s: float = 60.0) -> int:
        """Return the leader that all running controllers follow, in one epoch."""

        def found() -> int | None:
            states = {self.quorum_state(each) for each in self.controllers_running()}
            if len(states) != 1:
                return None
            _, leader = states.pop()
            return leader if leader in self.controllers_running() and leader != other_than else None

        return wait_until("a leader whom all follow", found, timeout_s=timeout_s, every_s=0.02)

    def let_ours_lead(self) -> int:
        """Wait until one of this project's controllers leads; return its id."""
        for _ in range(_TRIES):
            leader = self.leader()
            if leader in self.ours:
                return leader
            self._depose(leader)
        raise NodeFailedError(f"no controller of this project leads after {_TRIES} tries")

    def let_java_lead(self, topic: str) -> int:
        """Let the Java controller of three lead; return the leader before it, which is stopped.

        Only the Java controller has `topic` when our leader dies, so that the other one cannot win.
        """
        leader = self.let_ours_lead()
        (java,) = (node.node_id for node in self.kafka.controllers)
        (other,) = set(self.ours) - {leader}
        self.node(other).kill()
        self.create(topic)
        wait_until("the Java controller to have it", lambda: self.log_bytes(java) == self.log_bytes(leader))
        self.node(leader).kill()
        self.start(other)
        assert self.leader() == java
        return leader

    def _depose(self, leader: int) -> None:
        """Let one of our controllers win, by stopping every node that could win instead.

        While the former leader starts again, a Java voter whose fetch timeout was delayed may campaign again.
        """
        running = self.controllers_running()
        mine = [each for each in running if each in self.ours]
        behind = next((each for each in running if each != leader and each not in self.ours), None)
        if 2 * len(mine) > len(running) or behind is None:
            self.node(leader).kill()
        else:
            # A Java leader writes a NoOp every 500 ms: a controller that is down lacks the end of the log.
            self.node(behind).kill()
            wait_until("ours to have more", lambda: self.log_bytes(mine[0]) > self.log_bytes(behind))
            self.node(leader).kill()
            self.start(behind)
        assert self.leader(other_than=leader) in self.ours
        self.start(leader)

    def log_bytes(self, node_id: int) -> int:
        """Return the size of its log in bytes."""
        return log_bytes(self.node(node_id).metadata_dir)

    def kraft(self, *words: str) -> tuple[int, str, str]:
        """Run `kraft words` against our running controllers."""
        at = ",".join(node.grpc_address for node in self.ours.values() if node.is_running)
        return kraft(*words, "--bootstrap-controller", at)

    def create(self, topic: str) -> None:
        """Create a topic through a broker."""
        words = ("--create", "--topic", topic, "--partitions", "2", "--replication-factor", "1")
        self.kafka.admin("topics", *words)

    def voters(self) -> dict[int, list[str]]:
        """Return the voters' listeners that `kafka-metadata-quorum describe --status` reports."""
        lines = self._quorum_tool("describe", "--status").splitlines()
        told = next(line.partition(":")[2] for line in lines if line.startswith("CurrentVoters:"))
        return {each["id"]: sorted(each["endpoints"]) for each in json.loads(told)}

    def change(self, *words: str, command_config: Path | None = None) -> None:
        """Run `kafka-metadata-quorum add-controller` or `remove-controller`, until it succeeds."""
        config = () if command_config is None else ("--command-config", str(command_config))
        _, *rest = words
        at = ("--bootstrap-controller", self.running_addresses)

        def is_done() -> bool:
            try:
                self.tools.run("metadata-quorum", *at, *config, words[0], *rest)
            except ToolFailedError as error:
                if "DuplicateVoter" in str(error) or "VoterNotFound" in str(error):
                    return True
                if not any(word in str(error) for word in _NOT_YET):
                    raise
                return False
            return True

        wait_until(" ".join(words), is_done, timeout_s=60, every_s=0.5)

    def named(self, node_id: int) -> tuple[str, ...]:
        """Return the options that name a voter for `remove-controller`: its directory id is in its own files."""
        meta = dict(
            line.split("=", 1)
            for line in (self.log_dir(node_id) / "meta.properties").read_text().splitlines()
            if "=" in line
        )
        return ("--controller-id", str(node_id), "--controller-directory-id", meta["directory.id"])

    @property
    def running_addresses(self) -> str:
        """Return the CONTROLLER listeners of the running controllers."""
        return ",".join(f"{LOOPBACK}:{self._ports[each]}" for each in self.controllers_running())

    def _quorum_tool(self, *words: str) -> str:
        """Run the tool against the running controllers; repeat it while a controller has not loaded its image."""

        def said() -> str | None:
            try:
                return self.tools.run("metadata-quorum", "--bootstrap-controller", self.running_addresses, *words)
            except ToolFailedError as error:
                if _NOT_REPLAYED not in str(error):
                    raise
                return None

        return wait_until(" ".join(words), said, timeout_s=60, every_s=0.2)

    def replicas(self) -> dict[int, tuple[int, str]]:
        """Return log end and role of every replica that `kafka-metadata-quorum describe --replication` reports."""
        rows = [line.split() for line in self._quorum_tool("describe", "--replication").splitlines()[1:] if line]
        return {int(row[0]): (int(row[2]), row[-1]) for row in rows}

    def silence_ms(self, leader: int) -> int:
        """Return the ms since our leader got the last Fetch of another voter."""
        status = asyncio.run(describe_at(self.ours[leader].grpc_address, 10.0))
        others = [voter for voter in status.voters if voter.replica.node_id != leader]
        return time.time_ns() // 1_000_000 - max(voter.last_fetch_timestamp_ms for voter in others)

    def committed(self) -> int:
        """Return the high watermark that the leader reports: a new one reports it after its first commit."""

        def told() -> int:
            lines = self._quorum_tool("describe", "--status").splitlines()
            return max(0, int(next(line.split()[-1] for line in lines if line.startswith("HighWatermark:"))))

        return wait_until("a high watermark", told, timeout_s=60)

    def signal(self, number: int, *node_ids: int) -> None:
        """Send a signal to these processes."""
        for node_id in node_ids:
            process = self.node(node_id).process
            assert process is not None
            process.send_signal(number)

    def timed_kill(self, node_id: int) -> float:
        """Kill -9 a controller; return the seconds until all others follow another leader."""
        began_s = time.monotonic()
        self.node(node_id).kill()
        self.leader(other_than=node_id)
        return time.monotonic() - began_s

    def stop(self) -> None:
        """Stop the brokers cleanly, then all controllers at once."""
        for node in self.kafka.brokers:
            node.stop()
        for each in (*self.kafka.controllers, *self.ours.values()):
            each.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> Any:
        for node in self.kafka.nodes.values():
            node.kill()
        for each in self.ours.values():
            if each.is_running:
                each.kill()
