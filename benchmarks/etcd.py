"""Three etcd servers, as the Debian package etcd-server brings them, with their defaults.

Decides: how they are started and asked. Must not know: what is measured.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from benchmarks.side import MissingError, page, samples, send_signal
from quorum.cli.demo.cluster import LOOPBACK, free_ports, wait_until

_START_TIMEOUT_S: Final = 30.0
_SYNC_COUNTERS: Final = (
    "etcd_disk_wal_fsync_duration_seconds_count",
    "etcd_disk_backend_commit_duration_seconds_count",
)
"""The write-ahead log's, and the database's, which commits every 100 ms or 10,000 writes."""


class EtcdSide:
    """See `side.Side`."""

    kind = "etcd"
    warm_s = 0.0
    takes_checkpoints = False

    def __init__(self, root: Path) -> None:
        program = shutil.which("etcd")
        if program is None:
            raise MissingError("etcd is not installed: on Debian, apt-get install etcd-server")
        self._program = program
        self._root = root
        version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
        self.title = "etcd " + version.splitlines()[0].rpartition(" ")[2]
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._ports: dict[str, tuple[int, int]] = {}

    @property
    def members(self) -> tuple[str, ...]:
        """See `Side`."""
        return ("etcd-1", "etcd-2", "etcd-3")

    def start(self, properties: Mapping[str, str] | None = None) -> None:
        """See `Side`."""
        shutil.rmtree(self._root, ignore_errors=True)
        self._root.mkdir(parents=True)
        ports = free_ports(6)
        self._ports = dict(zip(self.members, zip(ports[::2], ports[1::2], strict=True), strict=True))
        for member in self.members:
            self.restart(member)
        for member in self.members:
            self._await(member)
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
        return f"{LOOPBACK}:{self._ports[member][0]}"

    def pid(self, member: str) -> int:
        """See `Side`."""
        return self._processes[member].pid

    def leader(self) -> str:
        """See `Side`."""

        def found() -> str | None:
            for member, process in self._processes.items():
                if process.poll() is None and self._metrics(member).get("etcd_server_is_leader") == 1:
                    return member
            return None

        return wait_until("a leader of etcd", found, timeout_s=_START_TIMEOUT_S)

    def directory(self, member: str) -> Path:
        """See `Side`."""
        return self._root / member

    def signal(self, member: str, number: signal.Signals) -> int:
        """See `Side`."""
        return send_signal(self._processes[member], number)

    def restart(self, member: str) -> None:
        """See `Side`."""
        peers = ",".join(f"{name}=http://{LOOPBACK}:{peer}" for name, (_, peer) in self._ports.items())
        client, peer = self._ports[member]
        with (self._root / f"{member}.log").open("ab") as log:
            self._processes[member] = subprocess.Popen(
                [
                    self._program, "--name", member, "--data-dir", str(self._root / member),
                    "--listen-client-urls", f"http://{LOOPBACK}:{client}",
                    "--advertise-client-urls", f"http://{LOOPBACK}:{client}",
                    "--listen-peer-urls", f"http://{LOOPBACK}:{peer}",
                    "--initial-advertise-peer-urls", f"http://{LOOPBACK}:{peer}",
                    "--initial-cluster", peers, "--initial-cluster-state", "new", "--log-level", "error",
                ],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def await_replayed(self, member: str) -> None:
        """See `Side`."""
        wanted = self._applied(self.leader())
        wait_until(
            f"{member} to apply up to {wanted}", lambda: self._applied(member) >= wanted, timeout_s=60.0, every_s=0.01
        )

    def syncs(self, member: str) -> int:
        """See `Side`."""
        metrics = self._metrics(member)
        return sum(int(metrics[name]) for name in _SYNC_COUNTERS)

    def _await(self, member: str) -> None:
        wait_until(f"{member} to answer", lambda: self._applied(member) > 0, timeout_s=_START_TIMEOUT_S)

    def _metrics(self, member: str) -> dict[str, float]:
        try:
            return dict(samples(page(self.address(member), "/metrics")))
        except OSError:
            return {}

    def _applied(self, member: str) -> int:
        request = urllib.request.Request(
            f"http://{self.address(member)}/v3/maintenance/status", data=b"{}", method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=5.0) as answer:
                status = json.load(answer)
        except (urllib.error.URLError, OSError):
            return 0
        return int(status.get("raftAppliedIndex", status.get("raftIndex", 0)))
