"""Controllers as processes whose voters change: each with its own file, formatted as an operator does."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from quorum.cli.demo.cluster import LOOPBACK, Node, free_ports, wait_until
from quorum.cli.main import run
from tests.support.warm_nodes import WarmNode

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
VERSION_0 = "metadata.version=21"
"""3.9-IV0: a Kafka of that release has static voters."""

BEFORE_REGISTRATION = "metadata.version=14"
"""3.6-IV2: controllers do not register themselves yet."""


class Controllers:
    """Controllers 1 to `count` on loopback; none is formatted or started yet."""

    def __init__(
        self, root: Path, count: int, properties: Mapping[str, str] | None = None, cluster_id: str = CLUSTER_ID
    ) -> None:
        self.cluster_id = cluster_id
        ports = iter(free_ports(2 * count))
        self.nodes: dict[int, Node] = {}
        for node_id in range(1, count + 1):
            listeners = {"CONTROLLER": next(ports), "GRPC": next(ports)}
            node = WarmNode("controller", node_id, root / f"node-{node_id}", listeners, {})
            self.nodes[node_id] = node
        for node in self.nodes.values():
            node.properties = {
                "process.roles": "controller",
                "node.id": str(node.node_id),
                "listeners": ",".join(f"{name}://{LOOPBACK}:{port}" for name, port in node.ports.items()),
                "log.dirs": str(node.log_dir),
                "controller.quorum.bootstrap.servers": self.addresses,
                **(properties or {}),
            }
            node.write_config()

    @property
    def addresses(self) -> str:
        """Return all GRPC listeners."""
        return ",".join(node.grpc_address for node in self.nodes.values())

    def set(self, node_id: int, /, **properties: str) -> None:
        """Change a node's file; `_` means a dot."""
        node = self.nodes[node_id]
        node.properties.update({name.replace("_", "."): value for name, value in properties.items()})
        node.write_config()

    def format(self, node_id: int, *how: str) -> None:
        """Run `kraft storage format`."""
        status, out, err = kraft(
            "storage", "format", "-c", str(self.nodes[node_id].config_file), "-t", self.cluster_id, *how
        )
        assert status == 0, err + out

    def start(self, *node_ids: int) -> None:
        """Start them, and wait until they listen."""
        for node_id in node_ids:
            self.nodes[node_id].start()
        for node_id in node_ids:
            self.nodes[node_id].wait_listening()

    def replace_disk(self, node_id: int) -> None:
        """Make an empty directory under the same name, formatted to join."""
        shutil.rmtree(self.nodes[node_id].log_dir)
        self.format(node_id, "--no-initial-controllers")

    def quorum(self, *words: str) -> tuple[int, str, str]:
        """`kraft quorum WORD... --bootstrap-controller ALL`."""
        return kraft("quorum", words[0], "--bootstrap-controller", self.addresses, *words[1:])

    def describe(self) -> dict[str, Any]:
        """Return the leader's status, or nothing if no leader responds."""
        status, out, _ = self.quorum("describe", "-o", "json", "--timeout", "5")
        found: dict[str, Any] = json.loads(out) if status == 0 else {}
        is_from_leader = bool(found) and found["answered_by"] == found["status"]["leader_id"]
        return found["status"] if is_from_leader else {}

    def wait_for_voters(self, *node_ids: int) -> dict[str, Any]:
        """Wait until the leader reports exactly these voters; return its status."""

        def status() -> dict[str, Any] | None:
            found = self.describe()
            voters = sorted(voter["node_id"] for voter in found.get("current_voters", []))
            return found if voters == sorted(node_ids) else None

        return wait_until(f"the voters {node_ids}", status, timeout_s=90, every_s=0.2)

    def wait_for_status(self) -> dict[str, Any]:
        """Wait until a leader reports its status, and return it."""
        return wait_until("a leader's status", self.describe, timeout_s=90, every_s=0.2)

    def wait_for_leader(self, *, other_than: int = -1) -> int:
        """Wait until a leader other than `other_than` is known; return its node id."""

        def leader() -> int | None:
            found = self.describe().get("leader_id")
            return found if found not in (None, other_than) else None

        return wait_until("a leader", leader, timeout_s=90, every_s=0.2)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for node in self.nodes.values():
            if node.is_running:
                node.kill()


def kraft(*words: str) -> tuple[int, str, str]:
    """Run a command in this process; return its status, standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run(words)
    return status, out.getvalue(), err.getvalue()
