"""Legal topic names, by Kafka's rules (Topic.validate, Topic.hasCollision)."""

from __future__ import annotations

import re
from typing import Final

MAX_NAME_LENGTH: Final = 249

_is_legal = re.compile(rf"[a-zA-Z0-9._-]{{1,{MAX_NAME_LENGTH}}}\Z").match


def name_fault(name: str) -> str | None:
    """Return why `name` is not a legal topic name, as part of a sentence, or None."""
    if _is_legal(name) and name not in {".", ".."}:
        return None
    if not name:
        return "it is empty"
    if len(name) > MAX_NAME_LENGTH:
        return f"{name[:32]!r}... has {len(name)} characters, at most {MAX_NAME_LENGTH} may be"
    return f"{name!r} (allowed are ASCII letters, digits, '.', '_' and '-', but not '.' or '..')"


def may_collide(name: str) -> bool:
    """Return True if another name could collide with this one in metrics, where a dot becomes an underscore."""
    return "." in name or "_" in name


def unified(name: str) -> str:
    """Return the name as in metrics. Two topics collide if their unified names are equal."""
    return name.replace(".", "_")
