"""What a topic may be called, and which names are spoken for.

Decides by the name alone; whether a topic of that name exists is the caller's question. The rules of a name are
`metadata_log.topic_names`'s.
"""

from __future__ import annotations

from typing import Final

from metadata_log.ids import METADATA_TOPIC_NAME
from metadata_log.topic_names import name_fault

INTERNAL_TOPICS: Final = frozenset(
    {METADATA_TOPIC_NAME, "__consumer_offsets", "__transaction_state", "__share_group_state"}
)


def why_illegal(name: str) -> str | None:
    """What is wrong with `name` as a topic's name; None when nothing is."""
    fault = name_fault(name)
    return None if fault is None else f"Topic name is invalid: {fault}"
