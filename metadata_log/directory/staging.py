"""The names in which an agent keeps what it is about to delete: `deleting/` in each of its log directories.

Decides: the layout. Must not know: who writes or reads it. The agent makes and removes (`broker_agent.storage`), an
audit only looks.

    deleting/{topic id}_{partition}[.n]/   stale: removed after the time that its `remove-at` holds (ms since 1970)
        remove-after                       beside it: when it was staged, and how long the agent must run before
    deleting/new.{topic id}_{partition}/   being made; renamed into place when whole
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
    """The topic id and the partition of a staged directory; None where the name is not of that form."""
    parsed = _STAGED_NAME.fullmatch(name)
    if parsed is None:
        return None
    try:
        return parse_topic_id(parsed["topic_id"]), int(parsed["partition"])
    except InvalidIdError:
        return None
