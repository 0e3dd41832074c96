"""Words that sentences and tables of the tools share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_PARTS: Final = re.compile(r"[_.]")


def join_names(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def heading_of(key: str) -> str:
    """Return the heading of what JSON has under a key, as Kafka's tools write theirs: `LogEndOffset`."""
    return "".join(part[:1].upper() + part[1:] for part in _PARTS.split(key))
