"""Runs a runbook's own command blocks unchanged on a real cluster whose nodes play the hosts.

Decides: the meaning of `host1`, its paths, `systemctl` and `scp`. Must not know: what a runbook is for.

A block is fenced as `sh` and begins with `# on HOST`. Its lines run in bash, in the directory of that host's node.
`kraft` is a real process. Kafka's scripts are real processes where a test needs their own start; otherwise they run in
the one JVM for tools. `systemctl` starts and stops the node.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from quorum.cli.demo.cluster import LOOPBACK, wait_until
from tests.support.kafka.archive import java
from tests.support.kafka.cluster import CLUSTER_ID, KafkaCluster, KafkaNode
from tests.support.kafka.recovery import knows_its_vote
from tests.support.kafka.tools import main_class

RUNBOOKS = Path(__file__).resolve().parents[3] / "docs" / "runbooks"
_BLOCK = re.compile(r"^```sh\n# on (?:host|clone)(?P<host>\d+)\n(?P<lines>.*?)^```$", re.MULTILINE | re.DOTALL)
_SCRIPTS = ("storage", "metadata-quorum", "topics")
_TOOL = re.compile(r"kafka-(?P<name>[a-z-]+)\.sh (?P<words>[^|&;<>$`]*)")
"""A line that only calls one of Kafka's scripts."""
_PATIENCE_S = 90.0


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """Commands that are run on one host."""

    host: int
    commands: tuple[str, ...]


def blocks_of(name: str) -> list[Block]:
    """Return the command blocks of a runbook, in order."""
    text = (RUNBOOKS / f"{name}.md").read_text(encoding="utf-8")
    assert text.count("```sh") == len(_BLOCK.findall(text)), f"{name}: a block does not say where it is run"
    return [
        Block(host=int(found["host"]), commands=tuple(found["lines"].replace("\\\n", " ").splitlines()))
        for found in _BLOCK.finditer(text)
    ]


class Player:
    """Runs blocks on a cluster. `said`: each command as in the runbook, with its output."""

    def __init__(
        self,
        cluster: KafkaCluster,
        *,
        hosts: Mapping[int, int] | None = None,
        moved: Mapping[int, int] | None = None,
        cluster_id: str = CLUSTER_ID,
        own_processes: bool = False,
    ) -> None:
        """`hosts`: the node for host N, if it is not node N; `moved`: nodes' ports at their new addresses.

        `own_processes`: Kafka's scripts are processes of their own, as on a host.
        """
        self._cluster = cluster
        self._own_processes = own_processes
        self._cluster_id = cluster_id
        self._hosts = {node_id: node_id for node_id in cluster.nodes} | dict(hosts or {})
        self._before = {node.node_id: node.address for node in cluster.nodes.values()}
        self._after = self._before | {node_id: f"{LOOPBACK}:{port}" for node_id, port in (moved or {}).items()}
        self._bin = cluster.root / "bin"
        self._write_scripts()
        self.said: list[tuple[str, str]] = []

    @property
    def output(self) -> str:
        """Return the whole output."""
        return "".join(printed for _, printed in self.said)

    def as_written(self, printed: str) -> str:
        """Return the output with the runbook's hosts and paths in place of this machine's."""
        for host, node_id in self._hosts.items():
            node = self._cluster.nodes[node_id]
            port = "9093" if node.is_controller else "9092"
            printed = printed.replace(str(node.log_dir), "/var/lib/kafka/data")
            printed = printed.replace(f"{node.directory}/", "").replace(str(node.directory), "/var/lib/kafka")
            printed = printed.replace(self._before[node_id], f"host{host}:{port}")
        return printed

    def play(self, name: str, *, changes: Mapping[str, str] | None = None) -> None:
        """Run all blocks of a runbook after `changes`: replacements that its reader would make."""
        for block in blocks_of(name):
            self.run(block, changes=changes)
        for node in self._cluster.nodes.values():
            if node.is_running:
                node.wait_started()

    def run(self, block: Block, *, changes: Mapping[str, str] | None = None) -> None:
        """Run one block."""
        node = self._cluster.nodes[self._hosts[block.host]]
        for command in block.commands:
            written = command
            for old, new in (changes or {}).items():
                written = written.replace(old, new)
            if written.startswith("systemctl "):
                self._systemctl(node, written.split()[1])
                self.said.append((written, ""))
            else:
                self.said.append((written, self._bash(node, written)))

    def _systemctl(self, node: KafkaNode, verb: str) -> None:
        if verb in ("stop", "restart"):
            node.kill()
        if verb in ("start", "restart"):
            node.port = int(self._after[node.node_id].rpartition(":")[2])
            self._cluster.launch(node.node_id)

    def _bash(self, node: KafkaNode, written: str) -> str:
        line = self._here(node, written)
        patient = "add-controller" in line or ("kafka-" in line and "--bootstrap" in line)
        found: list[subprocess.CompletedProcess[str]] = []

        def done() -> bool:
            found.append(self._once(node, line))
            return found[-1].returncode in self._accepted(line) or not patient

        try:
            wait_until(f"{written} to succeed", done, timeout_s=_PATIENCE_S, every_s=0.5)
        except TimeoutError as error:
            error.add_note(f"{found[-1].stdout}{found[-1].stderr}")
            raise
        last = found[-1]
        assert last.returncode in self._accepted(line), f"{written}\n{last.stdout}{last.stderr}"
        if "add-controller" in line:  # as the runbook demands: shown as a follower before the next
            wait_until(f"controller {node.node_id} to vote", lambda: knows_its_vote(node), timeout_s=_PATIENCE_S)
        return last.stdout + last.stderr

    def _once(self, node: KafkaNode, line: str) -> subprocess.CompletedProcess[str]:
        tool = None if self._own_processes else _TOOL.fullmatch(line)
        if tool is not None:
            status, out, err = self._cluster.tools.call(tool["name"], *shlex.split(tool["words"]))
            return subprocess.CompletedProcess(line, status, out, err)
        path = f"{self._bin}:{Path(sys.executable).parent}:/usr/bin:/bin"
        return subprocess.run(
            ["bash", "-c", line], cwd=node.directory, env={"PATH": path, "HOME": str(self._cluster.root)},
            capture_output=True, text=True, check=False, timeout=_PATIENCE_S,
        )  # fmt: skip

    @staticmethod
    def _accepted(line: str) -> tuple[int, ...]:
        return (0, 1) if line.startswith(("kraft recover inspect", "kraft check", "kraft log dump")) else (0,)

    def _here(self, node: KafkaNode, line: str) -> str:
        """Return the line with this machine's paths and addresses."""
        for host, node_id in self._hosts.items():
            other = self._cluster.nodes[node_id]
            for name in ("host", "clone"):
                line = line.replace(f"{name}{host}:/var/lib/kafka/data", str(other.log_dir))
            for port in ("9093", "9092"):
                line = line.replace(f"host{host}:{port}", self._before[node_id])
                for name in ("new", "clone"):
                    line = line.replace(f"{name}{host}:{port}", self._after[node_id])
        line = line.replace("/var/lib/kafka/data", str(node.log_dir))
        line = line.replace("/etc/kafka/server.properties", str(node.properties))
        return line.replace("CLUSTER_ID", self._cluster_id)

    def _write_scripts(self) -> None:
        self._bin.mkdir(exist_ok=True)
        version = self._cluster.tools.version
        command = shlex.join(java(version, log_level="error"))
        scripts = {f"kafka-{tool}.sh": f'exec {command} {main_class(version, tool)} "$@"' for tool in _SCRIPTS}
        scripts["scp"] = 'exec cp "$@"'
        for name, text in scripts.items():
            script = self._bin / name
            script.write_text(f"#!/bin/bash\n{text}\n")
            script.chmod(0o755)
