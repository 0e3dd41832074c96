"""Formatted directories of Kafka and of this project in a comparable form, with all times set to zero."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from metadata_log.format.batch import check_batch, iter_batches

CHECKPOINT: Final = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
"""The path of the checkpoint of offset 0 in a log directory."""


def without_times(data: bytes) -> bytes:
    """Return a checkpoint's bytes with zeros for its times (of batches, in the header record) and for checksums."""
    blank = bytearray(data)
    for position, header in iter_batches(data):
        check_batch(data, position)
        blank[position + 17 : position + 21] = bytes(4)
        blank[position + 27 : position + 43] = bytes(16)
        if position == 0:
            # The header record: length, attributes, two deltas, key length, key (4), value length, version (2), time.
            blank[position + 73 : position + 81] = bytes(8)
        assert header.base_timestamp > 0
    return bytes(blank)


def formatted_tree(directory: Path) -> dict[str, bytes]:
    """Return all files below a directory by their path in it, without times; `meta.properties` without its comments."""
    return {str(path.relative_to(directory)): _content(path) for path in sorted(directory.rglob("*")) if path.is_file()}


def _content(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".checkpoint":
        return without_times(data)
    return b"\n".join(line for line in data.splitlines() if not line.startswith(b"#"))
