"""Three controllers of one installation, started and formatted by its own `kraft`."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from benchmarks.gate.installations import ENVIRONMENT, Installation
from benchmarks.ours import KraftSide
from quorum.cli.demo.cluster import Cluster, Node, NodeFailedError
from quorum.cli.demo.interrupts import shielded

_FORMAT_TIMEOUT_S: Final = 60.0


class InstalledCluster(Cluster):
    """A cluster whose processes are those of an installation, not of this interpreter."""

    def __init__(self, root: Path, installation: Installation, properties: Mapping[str, str] | None) -> None:
        super().__init__(root, agents=(), properties=properties)
        self._installation = installation

    def run(self, *words: str) -> str:
        """Return the standard output of `kraft words`.

        Raises:
            NodeFailedError: it ended with a status other than 0.
        """
        done = subprocess.run(
            self._installation.kraft(*words), capture_output=True, text=True, check=False,
            env=dict(ENVIRONMENT), cwd=self.root, timeout=_FORMAT_TIMEOUT_S,
        )  # fmt: skip
        if done.returncode != 0:
            raise NodeFailedError(f"kraft {' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def start(self) -> None:
        """Start all nodes, and wait until they listen."""
        for node in self.nodes:
            self.start_node(node)
        for node in self.nodes:
            node.wait_listening()

    def start_node(self, node: Node) -> None:
        """Start a node's process, which the kernel kills when this process ends."""
        command = self._installation.kraft(node.role, "start", "--config", node.config_file)
        with node.log_file.open("ab") as log, shielded():
            node.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *command],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                start_new_session=True, env=dict(ENVIRONMENT), cwd=self.root,
            )  # fmt: skip


class InstalledSide(KraftSide):
    """See `side.Side`."""

    def __init__(self, root: Path, installation: Installation) -> None:
        super().__init__(root)
        self._installation = installation
        self.title = installation.name

    def restart(self, member: str) -> None:
        """See `Side`."""
        node = self._node(member)
        cluster = self.cluster
        if not isinstance(cluster, InstalledCluster):
            raise TypeError(f"{self.title} runs a cluster of this checkout")
        cluster.start_node(node)

    def _new_cluster(self, properties: Mapping[str, str] | None) -> Cluster:
        return InstalledCluster(self._root, self._installation, properties)
