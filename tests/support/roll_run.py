"""The facts of a roll between releases: starts, kills, leaders, and each node's state at the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from metadata_log.ids import TopicId
from quorum.cli.demo.cluster import Cluster
from quorum.client.agent_status import HeldPartition
from tests.support.releases import Release
from tests.support.resolved_writer import ResolvedWriter

CONTROLLERS: Final = (1, 2, 3)
AGENTS: Final = (11, 12)


@dataclass(frozen=True)
class Start:
    """A start of a node: the release meant, and the packages that its process imports."""

    node_id: int
    release: Release
    packages: tuple[str, ...]


@dataclass(frozen=True)
class Served:
    """A leader of one release wrote, within one epoch, records that a replica of another release fetched."""

    direction: str
    leader: str
    role: str
    replica: str


@dataclass(frozen=True)
class Kill:
    """SIGKILL of a leader that had requests under way: its release, and those of the other controllers."""

    direction: str
    leader: str
    others: frozenset[str]


@dataclass(frozen=True)
class Read:
    """The topics that a command of one release read of nodes of another, and those that it had to read."""

    direction: str
    topics: dict[str, str]
    expected: dict[str, str]


@dataclass
class RollRun:
    """The nodes, processes and reads of one roll, after all nodes have stopped.

    Attributes:
        kept: for each node, a copy of the directory that the second release left, taken before it was rolled back.
        topics: for each controller, the topics that it described at the end, by name.
        reads: the topics that a client of the old release read, once all nodes ran the new one.
        held: for each agent, the partitions that it held at the end.
        statuses: exit statuses of all clean stops, by node.
    """

    cluster: Cluster
    writer: ResolvedWriter
    starts: list[Start] = field(default_factory=list)
    served: set[Served] = field(default_factory=set)
    kills: list[Kill] = field(default_factory=list)
    kept: dict[int, Path] = field(default_factory=dict)
    topics: dict[int, dict[str, TopicId]] = field(default_factory=dict)
    reads: list[Read] = field(default_factory=list)
    held: dict[int, list[HeldPartition]] = field(default_factory=dict)
    statuses: list[tuple[str, int]] = field(default_factory=list)

    @property
    def log_dirs(self) -> list[Path]:
        """The log directory of each node."""
        return [node.log_dir for node in self.cluster.nodes]
