"""Directories as operators have them, made by real Kafka: `tests/fixtures/field.tar.xz`, described in its README."""

from __future__ import annotations

import tarfile
from pathlib import Path

_ARCHIVE = Path(__file__).parents[1] / "fixtures" / "field.tar.xz"


def field_nodes(name: str, into: Path) -> list[Path]:
    """Unpack the five nodes of one cluster: three controllers, then two brokers."""
    with tarfile.open(_ARCHIVE) as archive:
        members = [member for member in archive.getmembers() if member.name.split("/")[0] == name]
        archive.extractall(into, members=members, filter="data")
    nodes = sorted((into / name).iterdir(), key=lambda node: int(node.name.removeprefix("node-")))
    assert len(nodes) == 5
    return nodes
