"""The size of a node's log while the node runs."""

from __future__ import annotations

from pathlib import Path


def log_bytes(metadata_dir: Path) -> int:
    """Return the size of all its segments in bytes."""
    return sum(segment.stat().st_size for segment in metadata_dir.glob("*.log"))
