"""Controllers of Apache Kafka and of ours in one quorum, and stock brokers: all real processes on loopback."""

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
"""A Java controller that has just started says so, until it has replayed the metadata.version. 4.4 begins otherwise."""
_TRIES: Final = 3
_NOT_YET: Final = ("RequestTimedOut", "TimeoutException", _NOT_REPLAYED)


class MixedQuorum:
    """As a context manager it leaves no process behind. Controllers have ids below 10."""

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
        """`joining`: of these, those that are no first voters; `properties` go to ours, `java_properties` to Kafka's.
        `static_voters`: kraft.version 0, the voters in everybody's configuration. `others`: the tools of Java nodes,
        by id, that are of another release."""
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
        """One text for all of them: Kafka's knows no second listener, ours tell theirs in the log."""
        return ",".join(f"{each}@{LOOPBACK}:{self._ports[each]}:{directory_id(each)}" for each in self._voters)

    def format(self, *node_ids: int, release: str | None = None) -> None:
        """Format these; all, if none is named. `release`: the level, else the highest of all of Kafka's nodes."""
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
        """Start these and wait until they are up; a Java controller is once it has heard of a leader."""
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
        """Any of them."""
        return self.ours[node_id] if node_id in self.ours else self.kafka.nodes[node_id]

    def log_dir(self, node_id: int) -> Path:
        """Its directory."""
        return self.node(node_id).log_dir

    def quorum_state(self, node_id: int) -> tuple[int, int]:
        """Epoch and leader, as the node's own file has them; -1 for both while it has none."""
        try:
            state = json.loads((self.log_dir(node_id) / "__cluster_metadata-0" / "quorum-state").read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return -1, -1
        return int(state["leaderEpoch"]), int(state["leaderId"])

    def controllers_running(self) -> list[int]:
        """Ids of the controllers that run."""
        return [each for each in (*self.kafka.nodes, *self.ours) if each < 10 and self.node(each).is_running]

    def leader(self, *, other_than: int = -1, timeout_s: float = 60.0) -> int:
        """Whom all running controllers follow, in one epoch."""

        def found() -> int | None:
            states = {self.quorum_state(each) for each in self.controllers_running()}
            if len(states) != 1:
                return None
            _, leader = states.pop()
            return leader if leader in self.controllers_running() and leader != other_than else None

        return wait_until("a leader whom all follow", found, timeout_s=timeout_s, every_s=0.02)

    def let_ours_lead(self) -> int:
        """Until one of ours leads; its id."""
        for _ in range(_TRIES):
            leader = self.leader()
            if leader in self.ours:
                return leader
            self._depose(leader)
        raise NodeFailedError(f"none of ours leads after {_TRIES} tries")

    def let_java_lead(self, topic: str) -> int:
        """Let the Java controller of three lead; return the leader before it, which is stopped.

        It alone has `topic` when our leader dies, so that the other cannot be elected.
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
        """Let one of ours win. Nothing is left to chance: whoever else lives then cannot. But as long as the former
        leader starts anew, a Java voter that has no processor for its fetch timeout may stand once more."""
        running = self.controllers_running()
        mine = [each for each in running if each in self.ours]
        behind = next((each for each in running if each != leader and each not in self.ours), None)
        if 2 * len(mine) > len(running) or behind is None:
            self.node(leader).kill()
        else:
            # A Java leader writes a NoOp every half second: one that is away lacks the end of the log.
            self.node(behind).kill()
            wait_until("ours to have more", lambda: self.log_bytes(mine[0]) > self.log_bytes(behind))
            self.node(leader).kill()
            self.start(behind)
        assert self.leader(other_than=leader) in self.ours
        self.start(leader)

    def log_bytes(self, node_id: int) -> int:
        """How long its log is."""
        return log_bytes(self.node(node_id).metadata_dir)

    def kraft(self, *words: str) -> tuple[int, str, str]:
        """`kraft words` asked of our controllers that run."""
        at = ",".join(node.grpc_address for node in self.ours.values() if node.is_running)
        return kraft(*words, "--bootstrap-controller", at)

    def create(self, topic: str) -> None:
        """A topic, through a broker."""
        words = ("--create", "--topic", topic, "--partitions", "2", "--replication-factor", "1")
        self.kafka.admin("topics", *words)

    def voters(self) -> dict[int, list[str]]:
        """The voters' listeners, as `kafka-metadata-quorum describe --status` has them of the leader."""
        lines = self._quorum_tool("describe", "--status").splitlines()
        told = next(line.partition(":")[2] for line in lines if line.startswith("CurrentVoters:"))
        return {each["id"]: sorted(each["endpoints"]) for each in json.loads(told)}

    def change(self, *words: str, command_config: Path | None = None) -> None:
        """`kafka-metadata-quorum add-controller` or `remove-controller`, until it is done."""
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
        """How `remove-controller` is told which one: its directory id stands in its own files."""
        meta = dict(
            line.split("=", 1)
            for line in (self.log_dir(node_id) / "meta.properties").read_text().splitlines()
            if "=" in line
        )
        return ("--controller-id", str(node_id), "--controller-directory-id", meta["directory.id"])

    @property
    def running_addresses(self) -> str:
        """CONTROLLER listeners of the controllers that run."""
        return ",".join(f"{LOOPBACK}:{self._ports[each]}" for each in self.controllers_running())

    def _quorum_tool(self, *words: str) -> str:
        """Of the controllers that run; asked again where one has not loaded its image yet."""

        def said() -> str | None:
            try:
                return self.tools.run("metadata-quorum", "--bootstrap-controller", self.running_addresses, *words)
            except ToolFailedError as error:
                if _NOT_REPLAYED not in str(error):
                    raise
                return None

        return wait_until(" ".join(words), said, timeout_s=60, every_s=0.2)

    def replicas(self) -> dict[int, tuple[int, str]]:
        """Log end and role of every replica, as `kafka-metadata-quorum describe --replication` has them."""
        rows = [line.split() for line in self._quorum_tool("describe", "--replication").splitlines()[1:] if line]
        return {int(row[0]): (int(row[2]), row[-1]) for row in rows}

    def silence_ms(self, leader: int) -> int:
        """For how long one of ours, which leads, has heard no Fetch of any other voter."""
        status = asyncio.run(describe_at(self.ours[leader].grpc_address, 10.0))
        others = [voter for voter in status.voters if voter.replica.node_id != leader]
        return time.time_ns() // 1_000_000 - max(voter.last_fetch_timestamp_ms for voter in others)

    def committed(self) -> int:
        """The high watermark, as the leader tells it: a new one does once it has committed in its epoch."""

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
        """Kill -9, and the seconds until all others follow another leader."""
        began_s = time.monotonic()
        self.node(node_id).kill()
        self.leader(other_than=node_id)
        return time.monotonic() - began_s

    def stop(self) -> None:
        """Stop everything: brokers cleanly, then all controllers at once."""
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
