"""A stopped cluster whose quorum-states are at the end of the epochs, and `kraft recover epoch` on it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from metadata_log.offsets import LAST_EPOCH
from quorum.cli.main import run


def ended_nodes(clusters: Path, into: Path) -> Path:
    """Copy all nodes of `basic-4.4`, every quorum-state in the last epoch, with a vote for a stranger."""
    root = shutil.copytree(clusters / "basic-4.4", into / "nodes")
    for node in (1, 2, 3):
        set_state(
            root, node, leaderEpoch=LAST_EPOCH, leaderId=-1, votedId=666, votedDirectoryId="ZGlyZWN0b3J5LWlkLTY2Ng"
        )
    return root


def state_path(root: Path, node: int) -> Path:
    """Return the path of a node's quorum-state."""
    return root / f"node-{node}" / "data" / "__cluster_metadata-0" / "quorum-state"


def state_of(root: Path, node: int) -> dict[str, Any]:
    """Return the fields of a node's quorum-state."""
    said: dict[str, Any] = json.loads(state_path(root, node).read_text())
    return said


def set_state(root: Path, node: int, **fields: object) -> None:
    """Change fields of a node's quorum-state."""
    path = state_path(root, node)
    path.write_text(json.dumps({**state_of(root, node), **fields}, separators=(",", ":")))


def dirs_of(root: Path, *nodes: int, option: str = "--dir") -> list[str]:
    """Return the options that name these nodes' log directories."""
    return [word for node in nodes for word in (option, str(root / f"node-{node}" / "data"))]


def reset_epoch(*words: str) -> int:
    """Run `kraft recover epoch`; return its exit status."""
    return run(["recover", "epoch", *words, "--timeout", "0.5"])
