"""The nodes in `tests/fixtures/clusters.tar.xz` by name, so that cases are known before anything is unpacked."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

_ARCHIVE: Final = Path(__file__).parents[1] / "fixtures" / "clusters.tar.xz"
_METADATA: Final = "__cluster_metadata-0"
_FIRST_BROKER: Final = 10


@dataclass(frozen=True)
class Facts:
    """Facts of a scenario that some cases name: a topic, two times within its log, and offsets at which batches end."""

    topic: str
    since: str
    until: str
    ends: tuple[int, ...]


FACTS: Final = {
    "basic": Facts("search-91", "2026-11-20T23:08:14", "2026-11-20T23:08:20", (17, 83, 94)),
    "basic-4.4": Facts("sensors-29", "2026-11-26T12:45:08", "2026-11-26T12:45:14", (39, 113, 125)),
    "dynamic-voters": Facts("geo-89", "2026-11-20T23:22:55", "2026-11-20T23:23:01", (38, 57, 73)),
    "every-record": Facts("trades-19", "2026-11-20T23:47:33", "2026-11-20T23:47:50", (300, 343, 380)),
    "every-record-4.4": Facts("logs-78", "2026-11-26T12:52:30", "2026-11-26T12:53:00", (294, 360, 472)),
    "failovers": Facts("views-64-16", "2026-11-20T23:12:58", "2026-11-20T23:13:20", (23, 250, 316)),
    "failovers-4.4": Facts("audit-2-13", "2026-11-26T12:49:00", "2026-11-26T12:49:30", (40, 251, 331)),
    "static-3.9": Facts("stock-6", "2026-11-20T23:21:20", "2026-11-20T23:21:25", (9, 94, 113)),
    "stray": Facts("mail-90", "2026-11-20T23:30:03", "2026-11-20T23:30:20", (146, 240, 268)),
    "upgrade-path": Facts("at-3.4", "2026-11-20T23:33:11", "2026-11-20T23:33:40", (200, 404, 436)),
}


@dataclass(frozen=True)
class Node:
    """One node's directory, at one moment: `path` is relative, `failovers/divergent-before/node-2` say."""

    path: str
    files: tuple[str, ...]
    """Segments and checkpoints of its metadata log, relative to the same place."""

    @property
    def data(self) -> str:
        """Its first log directory."""
        return f"{self.path}/data"

    @property
    def scenario(self) -> str:
        """The scenario's name."""
        return self.path.partition("/")[0]

    @property
    def node_id(self) -> int:
        """The number in its name."""
        return int(self.path.rpartition("-")[2])

    @property
    def is_broker(self) -> bool:
        """True if it is a broker by its number."""
        return self.node_id >= _FIRST_BROKER

    @property
    def is_last(self) -> bool:
        """True if the directory is of the scenario's last moment."""
        return self.path == f"{self.scenario}/node-{self.node_id}"


@cache
def all_nodes() -> tuple[Node, ...]:
    """Return every node's directory of every scenario and moment."""
    with tarfile.open(_ARCHIVE) as archive:
        names = sorted(str(PurePosixPath(name)) for name in archive.getnames())
    found: dict[str, list[str]] = {}
    for name in names:
        path = PurePosixPath(name)
        if path.parent.name == _METADATA and path.name == "quorum-state":
            found.setdefault(str(path.parents[2]), [])
    for name in names:
        path = PurePosixPath(name)
        if path.parent.name == _METADATA and path.suffix in (".log", ".checkpoint"):
            found[str(path.parents[2])].append(name)
    return tuple(Node(path, tuple(files)) for path, files in found.items())


def nodes_of(scenario: str) -> Sequence[Node]:
    """Return the nodes of a scenario, at all moments."""
    return [node for node in all_nodes() if node.scenario == scenario]


def last_nodes(scenario: str) -> Sequence[Node]:
    """Return the nodes of a scenario at its last moment."""
    return [node for node in nodes_of(scenario) if node.is_last]


def controllers_of(scenario: str) -> Sequence[Node]:
    """Return the controllers of a scenario at its last moment."""
    return [node for node in last_nodes(scenario) if not node.is_broker]


def brokers_of(scenario: str) -> Sequence[Node]:
    """Return the brokers of a scenario at its last moment."""
    return [node for node in last_nodes(scenario) if node.is_broker]


def moments_of(scenario: str) -> Sequence[str]:
    """Return the folders of a scenario's earlier moments."""
    return sorted({node.path.rpartition("/")[0] for node in nodes_of(scenario) if not node.is_last})
