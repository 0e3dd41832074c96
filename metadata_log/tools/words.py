"""Words in sentences and tables of several tools."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Final

_PARTS: Final = re.compile(r"[_.]")
_METADATA_DIRECTORY: Final = "/__cluster_metadata-0"


def join_names(names: Sequence[str]) -> str:
    """Return `a`, `a and b`, or `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def capital(text: str) -> str:
    """Return the text as it begins a sentence."""
    return text[:1].upper() + text[1:]


def count_of(count: int, word: str) -> str:
    """Return `1 log`, `2 logs`, `3,000 logs`."""
    return f"{count:,} {word}{'s' if count != 1 else ''}"


def offsets(start: int, end: int) -> str:
    """Return `offset 95` for one record, `offsets 95 to 97` for more; `end` is exclusive."""
    return f"offset {start}" if end - start == 1 else f"offsets {start} to {end}"


def missing_records(count: int) -> str:
    """Return `1 record is missing`, `2 records are missing`."""
    return f"{count} record is missing" if count == 1 else f"{count} records are missing"


def short_paths(paths: Sequence[str]) -> list[str]:
    """Return the paths without the directories that all of them share, and without the metadata log's own directory
    name.

    A text for others must show which replica is which, but nothing about the machine.
    """
    ends = [
        path.rstrip("/").removesuffix(_METADATA_DIRECTORY).rstrip("/") or path for path in map(os.path.abspath, paths)
    ]
    if len(set(ends)) == 1:
        named = "/".join(part for part in ends[0].split("/")[-2:] if part)
        return [named or "/"] * len(ends)
    common = os.path.commonpath([os.path.dirname(end) for end in ends])
    return [os.path.relpath(end, common) for end in ends]


def heading_of(key: str) -> str:
    """Return the heading for a JSON key in the form of Kafka's tools: `LogEndOffset`."""
    return "".join(part[:1].upper() + part[1:] for part in _PARTS.split(key))
