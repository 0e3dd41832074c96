"""What a topic may be called, and which names are spoken for.

Decides by the name alone; whether a topic of that name exists is the caller's question. Rules: Kafka's legal names.
"""

from __future__ import annotations

import re
from typing import Final

from metadata_log.ids import METADATA_TOPIC_NAME

MAX_NAME_LENGTH: Final = 249
INTERNAL_TOPICS: Final = frozenset(
    {METADATA_TOPIC_NAME, "__consumer_offsets", "__transaction_state", "__share_group_state"}
)

_is_legal = re.compile(rf"[a-zA-Z0-9._-]{{1,{MAX_NAME_LENGTH}}}\Z").match


def why_illegal(name: str) -> str | None:
    """What is wrong with `name` as a topic's name; None when nothing is."""
    if _is_legal(name) and name not in {".", ".."}:
        return None
    if not name:
        return "Topic name is invalid: it is empty"
    if len(name) > MAX_NAME_LENGTH:
        return f"Topic name is invalid: {name[:32]!r}... has {len(name)} characters, at most {MAX_NAME_LENGTH} may be"
    return f"Topic name is invalid: {name!r} (allowed are ASCII letters, digits, '.', '_' and '-', but not '.' or '..')"


def may_collide(name: str) -> bool:
    """Whether another name can be the same to metrics, in which a dot becomes an underscore."""
    return "." in name or "_" in name


def unified(name: str) -> str:
    """The name as metrics have it: two topics whose unified names are equal collide."""
    return name.replace(".", "_")
