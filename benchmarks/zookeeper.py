"""Three ZooKeeper servers from the published jars, with their defaults, in the JVM settings of their own scripts.

Decides: how they are started and asked. Must not know: what is measured.
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from benchmarks.maven import class_path, need_java, published_jars
from benchmarks.side import send_signal
from quorum.cli.demo.cluster import LOOPBACK, free_ports, wait_until

_VERSION: Final = "3.9.4"
_ARTIFACTS: Final = (
    ("org.apache.zookeeper", "zookeeper", _VERSION),
    ("org.slf4j", "slf4j-simple", "2.0.13"),
    ("io.dropwizard.metrics", "metrics-core", "4.1.12.1"),
    ("org.xerial.snappy", "snappy-java", "1.1.10.5"),
)
_START_TIMEOUT_S: Final = 60.0
_ANSWER_LIMIT: Final = 65_536


class ZooKeeperSide:
    """See `side.Side`."""

    kind = "zookeeper"
    title = f"ZooKeeper {_VERSION}"
    warm_s = 15.0
    takes_checkpoints = False

    def __init__(self, root: Path) -> None:
        need_java()
        self._classes = class_path(published_jars(f"zookeeper-{_VERSION}", _ARTIFACTS))
        self._root = root
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._ports: dict[str, int] = {}

    @property
    def members(self) -> tuple[str, ...]:
        """See `Side`."""
        return ("zookeeper-1", "zookeeper-2", "zookeeper-3")

    def start(self, properties: Mapping[str, str] | None = None) -> None:
        """See `Side`."""
        shutil.rmtree(self._root, ignore_errors=True)
        ports = free_ports(9)
        self._ports = dict(zip(self.members, ports[:3], strict=True))
        servers = [
            f"server.{number}={LOOPBACK}:{quorum}:{election}"
            for number, (quorum, election) in enumerate(zip(ports[3:6], ports[6:], strict=True), 1)
        ]
        for number, member in enumerate(self.members, 1):
            directory = self._root / member
            directory.mkdir(parents=True)
            (directory / "myid").write_text(f"{number}\n")
            lines = [
                f"dataDir={directory}", f"clientPort={self._ports[member]}", f"clientPortAddress={LOOPBACK}",
                "tickTime=2000", "initLimit=10", "syncLimit=5", "maxClientCnxns=0", "admin.enableServer=false",
                "4lw.commands.whitelist=mntr,srvr", *servers,
            ]  # fmt: skip
            (directory / "zoo.cfg").write_text("\n".join(lines) + "\n")
        for member in self.members:
            self.restart(member)
        self.leader()

    def stop(self) -> None:
        """See `Side`."""
        for process in self._processes.values():
            process.kill()
            process.wait()
        self._processes.clear()
        shutil.rmtree(self._root, ignore_errors=True)

    def address(self, member: str) -> str:
        """See `Side`."""
        return f"{LOOPBACK}:{self._ports[member]}"

    def pid(self, member: str) -> int:
        """See `Side`."""
        return self._processes[member].pid

    def directory(self, member: str) -> Path:
        """See `Side`."""
        return self._root / member

    def leader(self) -> str:
        """See `Side`."""

        def found() -> str | None:
            for member, process in self._processes.items():
                if process.poll() is None and self._told(member).get("zk_server_state") == "leader":
                    return member
            return None

        return wait_until("a leader of ZooKeeper", found, timeout_s=_START_TIMEOUT_S)

    def signal(self, member: str, number: signal.Signals) -> int:
        """See `Side`."""
        return send_signal(self._processes[member], number)

    def restart(self, member: str) -> None:
        """See `Side`."""
        directory = self._root / member
        with (self._root / f"{member}.log").open("ab") as log:
            self._processes[member] = subprocess.Popen(
                [
                    "java", "-Xmx1000m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", self._classes,
                    "org.apache.zookeeper.server.quorum.QuorumPeerMain", str(directory / "zoo.cfg"),
                ],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def await_replayed(self, member: str) -> None:
        """See `Side`."""
        wanted = self._nodes(self.leader())
        wait_until(
            f"{member} to have {wanted} nodes", lambda: self._nodes(member) >= wanted, timeout_s=120.0, every_s=0.01
        )

    def syncs(self, member: str) -> int | None:
        """See `Side`."""
        count = self._told(member).get("zk_cnt_fsynctime") or self._told(member).get("zk_fsynctime_count")
        return None if count is None else int(float(count))

    def _nodes(self, member: str) -> int:
        """Return the number of nodes that the member holds, or -1 if it does not serve."""
        return int(self._told(member).get("zk_znode_count", -1))

    def _told(self, member: str) -> dict[str, str]:
        """Return the response to `mntr` by name; empty if the member does not answer."""
        try:
            with socket.create_connection((LOOPBACK, self._ports[member]), timeout=2.0) as connection:
                connection.sendall(b"mntr")
                text = b""
                while piece := connection.recv(_ANSWER_LIMIT):
                    text += piece
        except OSError:
            return {}
        lines = (line.split("\t", 1) for line in text.decode().splitlines() if "\t" in line)
        return {name: value.strip() for name, value in lines}
