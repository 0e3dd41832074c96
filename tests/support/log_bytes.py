"""How long the log of a node is, as it lies there while the node runs."""

from __future__ import annotations

from pathlib import Path


def log_bytes(metadata_dir: Path) -> int:
    """The bytes of all its segments."""
    return sum(segment.stat().st_size for segment in metadata_dir.glob("*.log"))
