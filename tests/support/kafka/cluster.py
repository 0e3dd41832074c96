"""A real cluster of Apache Kafka on loopback: each node is a process that a test formats, starts and kills.

Decides: configuration, ports, when a node counts as started. Works with every release from 3.3 on (`static_voters`
before 3.9), and with nodes of several releases. Nodes below 10 are controllers, the others brokers.
"""

from __future__ import annotations

import base64
import json
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

from quorum.cli.demo.cluster import LOOPBACK, free_ports, wait_until
from tests.support.kafka.archive import java
from tests.support.kafka.jars import RELEASES, Release
from tests.support.kafka.tools import KafkaTools

CLUSTER_ID = "TmV3bHlNYWRlQ2x1c3Rlcg"
START_S = 90.0
STOP_S = 30.0
_FIRST_BROKER = 10
_STARTED = "Kafka Server started"
"""The line that a controller and a broker log once they are up; a broker is unfenced by then."""

_LOOKS: Final = 10


class KafkaNode:
    """One node: its directory, and its process while it runs."""

    def __init__(self, directory: Path, node_id: int, port: int) -> None:
        self.directory = directory
        self.node_id = node_id
        self.port = port
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    @property
    def is_controller(self) -> bool:
        return self.node_id < _FIRST_BROKER

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    @property
    def log_dir(self) -> Path:
        return self.directory / "data"

    @property
    def metadata_dir(self) -> Path:
        return self.log_dir / "__cluster_metadata-0"

    @property
    def properties(self) -> Path:
        return self.directory / "server.properties"

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """Return its process, while it is not known to have ended."""
        if self._process is None:
            raise RuntimeError(f"node {self.node_id} is not running")
        return self._process

    def start(self, java: Sequence[str]) -> None:
        """Start it; `java` is the command without the configuration's path."""
        with (self.directory / "server.log").open("ab") as log:
            self._log_start = log.tell()
            self._process = subprocess.Popen(
                [*java, str(self.properties)], stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def said(self) -> str:
        """Return its log output since its last start."""
        with (self.directory / "server.log").open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")

    def wait_started(self, *, every_s: float = 0.1) -> None:
        """Wait until it is up, and look every `every_s` seconds.

        Raises:
            RuntimeError: it ended instead; with its last lines.
        """

        def started() -> bool:
            if not self.is_running:
                raise RuntimeError(f"node {self.node_id} ended: {self.said()[-3000:]}")
            return _STARTED in self.said()

        wait_until(f"node {self.node_id} to start", started, timeout_s=START_S, every_s=every_s)

    def kill(self) -> None:
        """Kill it, as a crash does."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(STOP_S)
        self._process = None

    def ask_to_stop(self) -> None:
        """Send SIGTERM for a clean stop, and do not wait."""
        if self._process is not None:
            self._process.terminate()

    def stop(self) -> None:
        """Stop it cleanly; kill it if that takes too long."""
        self.ask_to_stop()
        if self._process is not None:
            try:
                self._process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self.kill()
        self._process = None


class KafkaCluster:
    """Controllers and brokers under one root directory, as a context manager that leaves no process behind."""

    def __init__(
        self,
        root: Path,
        tools: KafkaTools,
        *,
        others: Mapping[int, KafkaTools] | None = None,
        controllers: Sequence[int] = (1, 2, 3),
        brokers: Sequence[int] = (11, 12),
        static_voters: bool = False,
        properties: Mapping[str, str] | None = None,
        ports: Mapping[int, int] | None = None,
        heap: str = "256m",
        cluster_id: str = CLUSTER_ID,
        jbod: bool = False,
    ) -> None:
        """Prepare the nodes; none is formatted yet.

        Args:
            tools: the release of all nodes, except those in `others`, by node.
            properties: added to the configuration of every node.
            ports: by node; free ones by default.
            jbod: give brokers two log directories.
        """
        self.root = root.absolute()
        self.tools = tools
        self._others = dict(others or {})
        self.static_voters = static_voters
        self.heap = heap
        self.cluster_id = cluster_id
        self.jbod = jbod
        ids = (*controllers, *brokers)
        chosen = ports or dict(zip(ids, free_ports(len(ids)), strict=True))
        self.nodes = {node: KafkaNode(self.root / f"node-{node}", node, chosen[node]) for node in ids}
        self._properties = dict(properties or {})

    def tools_of(self, node_id: int) -> KafkaTools:
        """Return the tools of the node's release."""
        return self._others.get(node_id, self.tools)

    @property
    def lowest_release(self) -> Release:
        """Return the lowest release among its nodes."""
        return min((RELEASES[self.tools_of(node_id).version] for node_id in self.nodes), key=lambda one: one.level)

    @property
    def controllers(self) -> list[KafkaNode]:
        return [node for node in self.nodes.values() if node.is_controller]

    @property
    def brokers(self) -> list[KafkaNode]:
        return [node for node in self.nodes.values() if not node.is_controller]

    @property
    def running_broker(self) -> KafkaNode:
        """Return the first running broker."""
        return next(node for node in self.brokers if node.is_running)

    def start(self, *node_ids: int) -> None:
        """Format nodes that need it, start these nodes (all by default), and wait until they are up."""
        chosen = [self.nodes[node_id] for node_id in node_ids or self.nodes]
        for node in chosen:
            if not (node.log_dir / "meta.properties").exists():
                self.format(node.node_id)
        for wave in ([n for n in chosen if n.is_controller], [n for n in chosen if not n.is_controller]):
            for node in wave:
                self.launch(node.node_id)
            for node in wave:
                node.wait_started()
            self.leader()

    def launch(self, node_id: int) -> None:
        """Start a node from its directory and configuration; do not wait."""
        self.nodes[node_id].start([*java(self.tools_of(node_id).version, heap=self.heap), "kafka.Kafka"])

    def format(self, node_id: int) -> None:
        """Write the node's configuration and format its directory; a controller is one of the first voters."""
        node = self.nodes[node_id]
        self.configure(node_id)
        words = ["format", "-t", self.cluster_id, "-c", str(node.properties)]
        if node.is_controller and not self.static_voters:
            voters = ",".join(f"{n.node_id}@{n.address}:{directory_id(n.node_id)}" for n in self.controllers)
            words += ["--initial-controllers", voters]
        self.tools_of(node_id).run("storage", *words)

    def configure(self, node_id: int) -> None:
        """Write the node's server.properties."""
        node = self.nodes[node_id]
        node.directory.mkdir(parents=True, exist_ok=True)
        listener = "CONTROLLER" if node.is_controller else "PLAINTEXT"
        at = [f"{n.node_id}@{n.address}" if self.static_voters else n.address for n in self.controllers]
        config = {
            "node.id": str(node_id),
            "process.roles": "controller" if node.is_controller else "broker",
            "listeners": f"{listener}://{node.address}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "controller.quorum." + ("voters" if self.static_voters else "bootstrap.servers"): ",".join(at),
            "log.dirs": ",".join(map(str, self.log_dirs(node_id))),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            **self._properties,
        }
        node.properties.write_text("".join(f"{key}={value}\n" for key, value in config.items()))

    def log_dirs(self, node_id: int) -> list[Path]:
        """Return all log directories of a node; the metadata log is in the first."""
        node = self.nodes[node_id]
        more = [node.directory / "data-2"] if self.jbod and not node.is_controller else []
        return [node.log_dir, *more]

    def admin(self, tool: str, *words: str) -> str:
        """Return the standard output of a tool that asks a running broker."""
        return self.tools.run(tool, "--bootstrap-server", self.running_broker.address, *words)

    def topics(self) -> set[str]:
        """Return the topics that the asked broker lists."""
        return set(self.admin("topics", "--list").split())

    def await_topics(self, *names: str) -> None:
        """Wait until every broker lists them: a tool asks any broker, so several responses in a row must agree."""
        wanted = set(names)
        wait_until(f"{names} to be listed", lambda: all(wanted <= self.topics() for _ in range(_LOOKS)), timeout_s=60.0)

    def leader(self) -> KafkaNode:
        """Return the running controller that the newest quorum-state names as leader."""

        def found() -> KafkaNode | None:
            states = [_quorum_state(node) for node in self.controllers if node.is_running]
            newest = max(states, key=lambda state: state[0], default=(-1, -1))
            leader = self.nodes.get(newest[1])
            return leader if leader is not None and leader.is_running else None

        return wait_until("a leader", found, timeout_s=START_S, every_s=0.05)

    def stop(self) -> None:
        """Stop everything cleanly, brokers first."""
        for wave in (self.brokers, self.controllers):
            for node in wave:
                node.ask_to_stop()
            for node in wave:
                node.stop()

    def end(self) -> None:
        """Stop the brokers cleanly, then kill all controllers at once, as a power cut does.

        A leader that is asked to stop and has no successor would wait 5 s for one.
        """
        for node in self.brokers:
            node.ask_to_stop()
        for node in self.brokers:
            node.stop()
        for node in self.controllers:
            node.kill()

    def copied_to(self, root: Path, source: Path | None = None) -> KafkaCluster:
        """Return the same cluster on a copy of its directories (or of `source`, an earlier copy of them).

        The voters' ports are in the log: run one cluster at a time.
        """
        copy = KafkaCluster(
            root,
            self.tools,
            others=self._others,
            controllers=[node.node_id for node in self.controllers],
            brokers=[node.node_id for node in self.brokers],
            static_voters=self.static_voters,
            properties=self._properties,
            ports={node.node_id: node.port for node in self.nodes.values()},
            heap=self.heap,
            cluster_id=self.cluster_id,
            jbod=self.jbod,
        )
        shutil.copytree(source or self.root, copy.root)
        for node_id in copy.nodes:
            copy.configure(node_id)
        return copy

    def __enter__(self) -> KafkaCluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for node in self.nodes.values():
            node.kill()


def directory_id(node_id: int) -> str:
    """Return the directory id of a controller that is one of the first voters."""
    return base64.urlsafe_b64encode(f"directory-id-{node_id:03}".encode()).decode().rstrip("=")


def _quorum_state(node: KafkaNode) -> tuple[int, int]:
    """Return epoch and leader; -1 for both while the file is missing or incomplete."""
    try:
        state = json.loads((node.metadata_dir / "quorum-state").read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return -1, -1
    return int(state["leaderEpoch"]), int(state["leaderId"])
