"""The layout of `deleting/`, in which an agent keeps directories that it will delete, in each of its log directories.

The agent writes it (`broker_agent.storage`); an audit only reads it.

    deleting/{topic id}_{partition}[.n]/   stale: removed after the time in its file `remove-at` (ms since 1970)
        remove-after                       when it was staged, and how long the agent must run before the removal
    deleting/new.{topic id}_{partition}/   being made; renamed when complete
"""

from __future__ import annotations

import re
from typing import Final

from metadata_log.ids import InvalidIdError, TopicId, parse_topic_id

DELETING: Final = "deleting"
REMOVE_AT: Final = "remove-at"
REMOVE_AFTER: Final = "remove-after"
UNFINISHED: Final = "new."

_STAGED_NAME: Final = re.compile(r"(?P<topic_id>[A-Za-z0-9_-]{22})_(?P<partition>0|[1-9][0-9]{0,9})(\.[0-9]+)?")


def parse_staged(name: str) -> tuple[TopicId, int] | None:
    """Return topic id and partition in a staged directory's name, or None if the name has another form."""
    parsed = _STAGED_NAME.fullmatch(name)
    if parsed is None:
        return None
    try:
        return parse_topic_id(parsed["topic_id"]), int(parsed["partition"])
    except InvalidIdError:
        return None
