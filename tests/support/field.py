"""Directories as operators have them, made by real Kafka: `tests/fixtures/field.tar.xz`, described in its README."""

from __future__ import annotations

import tarfile
from pathlib import Path

from quorum.node.config.node_config import NodeConfig, config_of

_ARCHIVE = Path(__file__).parents[1] / "fixtures" / "field.tar.xz"


def controller_config(node: Path) -> NodeConfig:
    """Return the configuration of one of the three controllers, whose voters are static."""
    return config_of(
        {
            "process.roles": "controller",
            "node.id": node.name.removeprefix("node-"),
            "listeners": "CONTROLLER://127.0.0.1:1,GRPC://127.0.0.1:2",
            "log.dirs": f"{node}/data",
            "controller.quorum.voters": "1@127.0.0.1:1,2@127.0.0.1:3,3@127.0.0.1:4",
        }
    )


def field_nodes(name: str, into: Path) -> list[Path]:
    """Unpack the five nodes of one cluster: three controllers, then two brokers."""
    with tarfile.open(_ARCHIVE) as archive:
        members = [member for member in archive.getmembers() if member.name.split("/")[0] == name]
        archive.extractall(into, members=members, filter="data")
    nodes = sorted((into / name).iterdir(), key=lambda node: int(node.name.removeprefix("node-")))
    assert len(nodes) == 5
    return nodes
