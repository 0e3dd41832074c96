"""Kafka's messages for illegal topic names, and the names of internal topics.

`metadata_log.topic_names` has the rules.
"""

from __future__ import annotations

from typing import Final

from metadata_log.ids import METADATA_TOPIC_NAME
from metadata_log.topic_names import name_fault

INTERNAL_TOPICS: Final = frozenset(
    {METADATA_TOPIC_NAME, "__consumer_offsets", "__transaction_state", "__share_group_state"}
)


def why_illegal(name: str) -> str | None:
    """Return Kafka's message for an illegal topic name, or None."""
    fault = name_fault(name)
    return None if fault is None else f"Topic name is invalid: {fault}"
