"""Three controllers on separate hosts, each with a disk and a wall clock that can be disturbed.

Decides: configuration, directories, how a process is started on a host. Must not know: the faults.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from metadata_log.ids import DirectoryId, id_text
from metadata_log.voters import CONTROLLER_LISTENER, GRPC_LISTENER
from quorum.cli.demo.cluster import Node, NodeFailedError, wait_until
from quorum.node.config.node_config import INTER_CONTROLLER
from quorum.node.process.system_ports import SystemEntropy
from tests.chaos.disks import LoopDisk, SmallDisk
from tests.chaos.hosts import Hosts, address_of
from tests.support.log_bytes import log_bytes

CONTROLLERS: Final = (1, 2, 3)
CLIENTS: Final = (8, 9)
"""The hosts of the clients: two, so that some clients may see what others do not."""
_PORTS: Final = {"CONTROLLER": 9093, "GRPC": 9094, "HTTP": 9095}
_START_S: Final = 60.0
_STOP_S: Final = 60.0
_LISTENING: Final = b" listening "
KRAFT: Final = "quorum.cli.demo.child"
"""The module that starts a controller; a planted bug uses another one."""


def listeners_at(host: str) -> str:
    """Return both listeners of a controller at this address or name."""
    return f"CONTROLLER://{host}:{_PORTS['CONTROLLER']},GRPC://{host}:{_PORTS['GRPC']}"


class HostedNode(Node):
    """A controller on a host."""

    def __init__(
        self,
        node_id: int,
        root: Path,
        hosts: Hosts,
        properties: Mapping[str, str],
        launcher: str,
        clock: Mapping[str, str],
    ):
        self.host = node_id
        at = address_of(node_id)
        super().__init__(
            "controller", node_id, root, _PORTS,
            {
                "process.roles": "controller",
                "node.id": str(node_id),
                "listeners": listeners_at(at),
                "controller.listener.names": "CONTROLLER,GRPC",
                "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,GRPC:PLAINTEXT",
                "log.dirs": str(root / "data"),
                "http.listener": f"HTTP://{at}:{_PORTS['HTTP']}",
                "broker.session.timeout.ms": "3600000",
                "metadata.log.max.record.bytes.between.snapshots": "8000",
                **properties,
            },
        )  # fmt: skip
        self._hosts = hosts
        self._launcher = launcher
        self._clock = {**clock, "FAKETIME_TIMESTAMP_FILE": str(self.clock_file)}
        self._log_start = 0
        root.mkdir(parents=True)
        self.set_clock(0)

    def move(self, host: int) -> None:
        """Let its next start be on another host, under that host's address. Its directory stays."""
        self.host = host
        self.properties["listeners"] = listeners_at(address_of(host))
        self.properties["http.listener"] = f"HTTP://{self.http_address}"
        self.write_config()

    @property
    def grpc_address(self) -> str:
        return f"{address_of(self.host)}:{_PORTS['GRPC']}"

    @property
    def http_address(self) -> str:
        return f"{address_of(self.host)}:{_PORTS['HTTP']}"

    @property
    def clock_file(self) -> Path:
        """Return the file with its wall clock's offset, in libfaketime's form."""
        return self.root / "clock"

    @property
    def is_listening(self) -> bool:
        return _LISTENING in self.said()

    def said(self) -> bytes:
        """Return its log output since its last start."""
        with self.log_file.open("rb") as log:
            log.seek(self._log_start)
            return log.read()

    def set_clock(self, seconds: int) -> None:
        """Set its wall clock to this offset from the right time; the monotonic clock is unchanged."""
        beside = self.clock_file.with_suffix(".new")
        beside.write_text(f"{seconds:+d}\n")
        beside.rename(self.clock_file)

    def start(self, *, environment: Mapping[str, str] | None = None) -> None:
        command = [sys.executable, "-m", self._launcher, str(os.getpid()), self.role, "start", "--config"]
        with self.log_file.open("ab") as log:
            self._log_start = log.tell()
            self.process = subprocess.Popen(
                self._hosts.command(self.host, [*command, str(self.config_file)]),
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                start_new_session=True, env={**os.environ, **self._clock, **(environment or {})},
            )  # fmt: skip

    def wait_listening(self, timeout_s: float = _START_S) -> None:
        super().wait_listening(timeout_s)

    def wait_failed(self) -> str:
        """Wait until it ends by itself; return the one line that it prints for the operator.

        Raises:
            NodeFailedError: it ended in another way, or printed more or less than that line.
        """
        status = self.wait(_STOP_S)
        said = self.said().decode(errors="replace")
        complaints = [line for line in said.splitlines() if line.startswith("kraft: ")]
        if status != 1 or len(complaints) != 1 or "Traceback" in said:
            raise NodeFailedError(f"{self.name} ended with {status} on a failed disk:\n{said[-3000:]}")
        return complaints[0]


class HostedCluster:
    """The controllers; `disks` by node, for nodes that are not on the checkout's own file system."""

    def __init__(
        self,
        root: Path,
        hosts: Hosts,
        *,
        launcher: str = KRAFT,
        small: int = 0,
        loop: int = 0,
        by_kafkas: bool = False,
        name_of: Callable[[int], str] = address_of,
    ) -> None:
        """Prepare the controllers.

        Args:
            small: the node on a `SmallDisk`; `loop`: the node on a `LoopDisk`; 0 for none.
            by_kafkas: they send each other requests in Kafka's protocol.
            name_of: returns the address or name under which the others find a node.
        """
        self.root = root
        entropy = SystemEntropy()
        self.cluster_id = id_text(entropy.new_id())
        self.directory_ids = {node: DirectoryId(entropy.new_id()) for node in CONTROLLERS}
        self._name_of = name_of
        self.bootstrap = [f"{name_of(node)}:{_PORTS['GRPC']}" for node in CONTROLLERS]
        clock = _faketime()
        self.controllers = {
            node: HostedNode(
                node,
                root / f"controller-{node}",
                hosts,
                {
                    "controller.quorum.bootstrap.servers": ",".join(self.bootstrap),
                    "advertised.listeners": listeners_at(name_of(node)),
                    INTER_CONTROLLER: CONTROLLER_LISTENER if by_kafkas else GRPC_LISTENER,
                },
                launcher,
                clock,
            )
            for node in CONTROLLERS
        }
        self.disks: dict[int, SmallDisk | LoopDisk] = {}
        if small:
            self.disks[small] = SmallDisk(self.controllers[small].log_dir)
        if loop:
            self.disks[loop] = LoopDisk(self.controllers[loop].log_dir)

    def format(self) -> None:
        """Write configurations and format directories with the operator's command."""
        voters = ",".join(
            f"{node}@{self._name_of(node)}:{_PORTS['CONTROLLER']}/{_PORTS['GRPC']}:{id_text(directory)}"
            for node, directory in self.directory_ids.items()
        )
        for node in self.controllers.values():
            node.write_config()
            done = subprocess.run(
                [
                    sys.executable, "-m", "quorum.cli.main", "storage", "format", "--config", str(node.config_file),
                    "--cluster-id", self.cluster_id, "--initial-controllers", voters,
                ],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode != 0:
                raise NodeFailedError(f"kraft storage format: {done.stdout}{done.stderr}")

    def start(self) -> None:
        """Start all and wait until they listen."""
        for node in self.controllers.values():
            node.start()
        for node in self.controllers.values():
            node.wait_listening()

    def stop(self) -> dict[int, int]:
        """Stop all cleanly; return their exit statuses."""
        return {node.node_id: node.stop(_STOP_S) for node in self.controllers.values()}

    def kill_all(self) -> None:
        """Kill every process."""
        for node in self.controllers.values():
            if node.is_running:
                node.kill()

    def await_level(self) -> None:
        """Wait until all logs have the same length."""

        def are_level() -> bool:
            return len({log_bytes(node.metadata_dir) for node in self.controllers.values()}) == 1

        wait_until("all logs to be of one length", are_level, timeout_s=_START_S, every_s=0.2)

    def keep(self, target: Path) -> None:
        """Copy the stopped nodes' disks below `target`: some disks are mounts."""
        others = shutil.ignore_patterns("lost+found", "filler")
        for node in self.controllers.values():
            shutil.copytree(node.log_dir, target / f"controller-{node.node_id}", ignore=others)


def _faketime() -> dict[str, str]:
    """Return the environment in which libfaketime changes only the wall clock."""
    library = faketime_library()
    if library is None:
        raise RuntimeError("libfaketime is not installed")
    return {
        "LD_PRELOAD": str(library),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }


def faketime_library() -> Path | None:
    """Return the library's path in the distribution, or None."""
    return next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)
