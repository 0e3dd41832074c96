"""A cluster on this machine: controllers and agents as real processes, each with its own directory.

Decides: ports, configuration files, and how a process is started, awaited and killed. Must not know: the acts of the
demo, or the claims of a test.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from metadata_log.ids import DirectoryId, id_text
from quorum.cli.demo.interrupts import shielded
from quorum.node.process.system_ports import SystemEntropy

LOOPBACK: Final = "127.0.0.1"
LOG_NAME: Final = "node.log"
"""The log in a node's directory, from its first start on."""
PORTS = range(20_000, 29_000)
"""Below the ports that the kernel uses for outgoing connections, and below those in the logs of recorded clusters."""

MOST_MARKS: Final = 200
"""The ports of some ten clusters. Those of an older cluster are bound, or its nodes are gone."""
_marks: Final = deque[socket.socket]()

LAUNCHER: Final = (sys.executable, "-m", "quorum.cli.demo.child")
"""The words before the parent's pid and a node's command."""

T = TypeVar("T")


class Process(Protocol):
    """A node's process: the part of `subprocess.Popen` that is used."""

    pid: int
    returncode: int | Any  # as of a Popen: None while it runs

    def poll(self) -> int | None:
        """Return the exit status, or None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status, when it has ended."""

    def send_signal(self, sig: int) -> None:
        """Send a signal, if it runs."""

    def kill(self) -> None:
        """Send SIGKILL, if it runs."""


class NodeFailedError(RuntimeError):
    """A process ended, or did not do something in time. The message has its last lines."""


def free_ports(count: int) -> list[int]:
    """Return free ports of loopback that no other caller has received and not bound yet.

    The UDP port of the same number, which no node uses, marks each as taken. The marks last until this process ends or
    has given out many more.
    """
    found: list[int] = []
    with contextlib.ExitStack() as held:
        for port in random.sample(PORTS, len(PORTS)):
            probe, mark = held.enter_context(socket.socket()), socket.socket(type=socket.SOCK_DGRAM)
            try:
                probe.bind((LOOPBACK, port))
                mark.bind((LOOPBACK, port))
            except OSError:
                mark.close()
                continue
            _marks.append(mark)
            found.append(port)
            if len(found) == count:
                while len(_marks) > MOST_MARKS:
                    _marks.popleft().close()
                return found
    raise NodeFailedError(f"there are not {count} free ports between {PORTS.start} and {PORTS.stop}")


def _takes_connections(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, port)) == 0


def wait_until(what: str, condition: Callable[[], T | None], *, timeout_s: float = 30.0, every_s: float = 0.02) -> T:
    """Call `condition` until it returns a true value, and return that.

    Raises:
        TimeoutError: it returned none within `timeout_s`; `what` names the awaited event.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout_s:g} s in vain: {what}")
        time.sleep(every_s)


def _end(process: subprocess.Popen[str]) -> None:
    """Kill a process that still runs, and close its pipes."""
    with process:
        process.kill()


class Node:
    """One process: its directory, configuration and ports."""

    def __init__(
        self, role: str, node_id: int, root: Path, ports: Mapping[str, int], properties: Mapping[str, str]
    ) -> None:
        self.role = role
        """`controller` or `agent`."""
        self.node_id = node_id
        self.root = root
        self.ports = dict(ports)
        """The ports by listener name, and `HTTP`."""
        self.properties = dict(properties)
        self.launcher: Sequence[str] = LAUNCHER
        """The words that start the process. A test starts another release with other ones."""
        self.process: Process | None = None

    @property
    def name(self) -> str:
        """The node's name, such as `controller 1`."""
        return f"{self.role} {self.node_id}"

    @property
    def config_file(self) -> Path:
        """The node's .properties file."""
        return self.root / "node.properties"

    @property
    def command(self) -> list[str]:
        """The words after `kraft` that start the node."""
        return [self.role, "start", "--config", str(self.config_file)]

    @property
    def log_file(self) -> Path:
        """The file with its standard output and error, over all its starts."""
        return self.root / LOG_NAME

    @property
    def log_dir(self) -> Path:
        """The first log directory."""
        return self.root / "data"

    @property
    def metadata_dir(self) -> Path:
        """The directory of the metadata log."""
        return self.log_dir / "__cluster_metadata-0"

    @property
    def grpc_address(self) -> str:
        """The `host:port` of the GRPC listener."""
        return f"{LOOPBACK}:{self.ports['GRPC']}"

    @property
    def http_address(self) -> str:
        """The `host:port` of /livez, /readyz and /metrics."""
        return f"{LOOPBACK}:{self.ports['HTTP']}"

    @property
    def pid(self) -> int:
        """The process id of the latest start."""
        if self.process is None:
            raise NodeFailedError(f"{self.name} was never started")
        return self.process.pid

    @property
    def is_running(self) -> bool:
        """Return True if the process runs."""
        return self.process is not None and self.process.poll() is None

    @property
    def is_listening(self) -> bool:
        """Return True if the GRPC listener and the health page accept connections. The page opens last."""
        return all(_takes_connections(port) for name, port in self.ports.items() if name in ("GRPC", "HTTP"))

    def write_config(self) -> None:
        """Write the configuration file."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.config_file.write_text("".join(f"{key}={value}\n" for key, value in self.properties.items()))

    def start(self, *, environment: Mapping[str, str] | None = None) -> None:
        """Start the process. It ends with this one, in whatever way this one ends."""
        with self.log_file.open("ab") as log, shielded():
            self.process = subprocess.Popen(
                [*self.launcher, str(os.getpid()), *self.command],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                start_new_session=True, env={**os.environ, **(environment or {})},
            )  # fmt: skip

    def wait_listening(self, timeout_s: float = 30.0) -> None:
        """Wait until the GRPC listener and the health page accept connections.

        Raises:
            NodeFailedError: the process ended before.
        """

        def listens() -> bool:
            self.check_running()
            return self.is_listening

        wait_until(f"{self.name} to listen on {self.grpc_address}", listens, timeout_s=timeout_s)

    def check_running(self) -> None:
        """Raise `NodeFailedError`, with the last lines of the log, if the process has ended."""
        if not self.is_running:
            status = None if self.process is None else self.process.returncode
            raise NodeFailedError(f"{self.name} is not running (exit status {status}):\n{self.last_lines()}")

    def last_lines(self, count: int = 15) -> str:
        """Return the end of the log."""
        if not self.log_file.exists():
            return "(no log)"
        return "\n".join(self.log_file.read_text(errors="replace").splitlines()[-count:])

    def kill(self) -> None:
        """Send SIGKILL: the process can neither say goodbye nor flush anything."""
        self.signal(signal.SIGKILL)
        self.wait()

    def stop(self, timeout_s: float = 20.0) -> int:
        """Send SIGTERM, and return the exit status."""
        self.signal(signal.SIGTERM)
        return self.wait(timeout_s)

    def signal(self, number: int) -> None:
        """Send a signal to its process, if it runs."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def wait(self, timeout_s: float = 20.0) -> int:
        """Wait until the process ends.

        Raises:
            NodeFailedError: it did not end in time, and was killed.
        """
        if self.process is None:
            raise NodeFailedError(f"{self.name} was never started")
        try:
            return self.process.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise NodeFailedError(f"{self.name} did not stop within {timeout_s:g} s:\n{self.last_lines()}") from None


class Cluster:
    """A cluster below one directory, by default of three controllers and two agents."""

    kind_of_node: type[Node] = Node

    def __init__(
        self,
        root: Path,
        *,
        controllers: tuple[int, ...] = (1, 2, 3),
        agents: tuple[int, ...] = (11, 12),
        properties: Mapping[str, str] | None = None,
        agent_properties: Mapping[str, str] | None = None,
        ports: Sequence[int] | None = None,
        cluster_id: str | None = None,
    ) -> None:
        """Choose ports and ids, and write nothing yet.

        `properties` go into every node's configuration, `agent_properties` into the agents'. `ports`: three for each
        controller (CONTROLLER, GRPC, HTTP), then two for each agent (GRPC, HTTP); by default free ones. `cluster_id`:
        that of a cluster that was formatted before; by default a new one.
        """
        self.root = root.absolute()
        self.kraft: Sequence[str] = (sys.executable, "-m", "quorum.cli.main")
        """The command that formats. A test formats with another release by setting it."""
        entropy = SystemEntropy()
        self.cluster_id = cluster_id or id_text(entropy.new_id())
        self.directory_ids = {node: DirectoryId(entropy.new_id()) for node in controllers}
        port = iter(ports or free_ports(3 * len(controllers) + 2 * len(agents)))
        own_ports = {
            node: {name: next(port) for name in (*(("CONTROLLER",) if node in controllers else ()), "GRPC", "HTTP")}
            for node in (*controllers, *agents)
        }
        self._bootstrap = ",".join(f"{LOOPBACK}:{own_ports[node]['GRPC']}" for node in controllers)
        common = dict(properties or {})
        self.controllers = {node: self._node("controller", node, own_ports[node], common) for node in controllers}
        more = {**common, **(agent_properties or {})}
        self.agents = {node: self._node("agent", node, own_ports[node], more) for node in agents}

    def _node(self, role: str, node_id: int, ports: Mapping[str, int], properties: Mapping[str, str]) -> Node:
        names = ("CONTROLLER", "GRPC") if role == "controller" else ("GRPC",)
        root = self.root / f"{role}-{node_id}"
        return self.kind_of_node(
            role, node_id, root, ports,
            {
                "process.roles": "controller" if role == "controller" else "broker",
                "node.id": str(node_id),
                "listeners": ",".join(f"{name}://{LOOPBACK}:{ports[name]}" for name in names),
                "controller.listener.names": "CONTROLLER,GRPC",
                "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,GRPC:PLAINTEXT",
                "controller.quorum.bootstrap.servers": self._bootstrap,
                "log.dirs": str(root / "data"),
                "http.listener": f"HTTP://{LOOPBACK}:{ports['HTTP']}",
                **properties,
            },
        )  # fmt: skip

    @property
    def nodes(self) -> Iterator[Node]:
        """Yield the controllers, then the agents."""
        yield from self.controllers.values()
        yield from self.agents.values()

    @property
    def initial_controllers(self) -> str:
        """The first voters, in the form of `kraft storage format --initial-controllers`."""
        return ",".join(
            f"{node}@{LOOPBACK}:{at.ports['CONTROLLER']}/{at.ports['GRPC']}:{id_text(self.directory_ids[node])}"
            for node, at in self.controllers.items()
        )

    @property
    def bootstrap(self) -> list[str]:
        """The controllers' GRPC addresses for a client."""
        return self._bootstrap.split(",")

    def format(self, *words: str) -> None:
        """Write every node's configuration, and format its directories with the operator's command.

        `words` are further arguments for the controllers.
        """
        for node in self.nodes:
            node.write_config()
            self.run(
                "storage", "format", "--config", str(node.config_file), "--cluster-id", self.cluster_id,
                *(("--initial-controllers", self.initial_controllers, *words) if node.role == "controller" else ()),
            )  # fmt: skip

    def run(self, *words: str) -> str:
        """Run `kraft words`, and return its standard output. Its process has ended when this returns or is interrupted.

        Raises:
            NodeFailedError: the exit status is not 0.
        """
        process: subprocess.Popen[str] | None = None
        try:
            with shielded():
                process = subprocess.Popen(
                    [*self.kraft, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
                )
            output, errors = process.communicate()
        finally:
            with shielded():
                if process is not None:
                    _end(process)
        if process.returncode != 0:
            raise NodeFailedError(f"kraft {' '.join(words)} ended with {process.returncode}:\n{output}{errors}")
        return output

    def start(self) -> None:
        """Start all nodes and wait until they listen."""
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            node.wait_listening()

    def stop(self) -> dict[str, int]:
        """Stop all running nodes cleanly, agents first. Return their exit statuses by name."""
        statuses: dict[str, int] = {}
        for group in (self.agents, self.controllers):
            running = [node for node in group.values() if node.is_running]
            for node in running:
                node.signal(signal.SIGTERM)
            statuses.update({node.name: node.wait() for node in running})
        return statuses

    def kill_all(self) -> None:
        """Kill all running nodes, so that no process is left behind."""
        for node in self.nodes:
            if node.is_running:
                node.kill()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        with shielded():
            self.kill_all()
