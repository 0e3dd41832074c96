"""The directories of all nodes of real clusters, unpacked: what `tests/fixtures/clusters.tar.xz` holds.

Every node of ten scenarios, at every moment that was kept: metadata logs, checkpoints and sidecar files. Of each
broker's partitions, the directories with their `partition.metadata`, without data.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

_ARCHIVE = Path(__file__).parents[1] / "fixtures" / "clusters.tar.xz"

SCENARIOS = (
    "basic",
    "basic-4.4",
    "dynamic-voters",
    "every-record",
    "every-record-4.4",
    "failovers",
    "failovers-4.4",
    "static-3.9",
    "stray",
    "upgrade-path",
)


def unpack_clusters(target: Path) -> Path:
    """Unpack all of them below `target`; return `target`."""
    with tarfile.open(_ARCHIVE) as archive:
        archive.extractall(target, filter="data")
    return target


def node_directories(root: Path) -> list[Path]:
    """Return all node directories, including those of earlier moments."""
    return sorted(path.parents[2] for path in root.glob("**/__cluster_metadata-0/quorum-state"))
