"""What a topic may be called.

Decides by the name alone; whether a topic of that name exists is the caller's question. Rules: Kafka's legal names.
"""

from __future__ import annotations

import re
from typing import Final

MAX_NAME_LENGTH: Final = 249

_is_legal = re.compile(rf"[a-zA-Z0-9._-]{{1,{MAX_NAME_LENGTH}}}\Z").match


def name_fault(name: str) -> str | None:
    """What is wrong with `name` as a topic's name, in half a sentence; None when nothing is."""
    if _is_legal(name) and name not in {".", ".."}:
        return None
    if not name:
        return "it is empty"
    if len(name) > MAX_NAME_LENGTH:
        return f"{name[:32]!r}... has {len(name)} characters, at most {MAX_NAME_LENGTH} may be"
    return f"{name!r} (allowed are ASCII letters, digits, '.', '_' and '-', but not '.' or '..')"


def may_collide(name: str) -> bool:
    """Whether another name can be the same to metrics, in which a dot becomes an underscore."""
    return "." in name or "_" in name


def unified(name: str) -> str:
    """The name as metrics have it: two topics whose unified names are equal collide."""
    return name.replace(".", "_")
