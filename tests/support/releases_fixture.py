"""Small clusters of Kafka, one of each minor release from 3.3 to 4.4: `tests/fixtures/releases.tar.xz`.

`tests/support/kafka/make_releases.py` makes them; each has a controller and two brokers.
"""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Final

ARCHIVE: Final = Path(__file__).parents[1] / "fixtures" / "releases.tar.xz"
MINORS: Final = ("3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4")
"""All of them, ascending."""
CONTROLLER: Final = 1


def minor_of(version: str) -> str:
    """Return the minor release of a release, "3.9" of "3.9.1"."""
    return ".".join(version.split(".")[:2])


def unpack_release(minor: str, into: Path) -> list[Path]:
    """Unpack the cluster of one minor release; return its nodes, the controller first."""
    with tarfile.open(ARCHIVE) as archive:
        members = [member for member in archive.getmembers() if member.name.split("/")[0] == minor]
        archive.extractall(into, members=members, filter="data")
    return sorted((into / minor).iterdir(), key=lambda node: int(node.name.removeprefix("node-")))
