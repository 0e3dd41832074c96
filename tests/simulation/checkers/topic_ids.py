"""Topic ids are never reused: no two committed TopicRecords have the same id, and no id is reserved."""

from __future__ import annotations

from metadata_log.ids import TopicId, is_reserved_topic_id
from tests.simulation.checkers.invariant_failure import InvariantFailure


class TopicIds:
    """Every id that was ever committed."""

    def __init__(self) -> None:
        self._seen: dict[TopicId, tuple[str, int]] = {}

    def on_topic(self, topic_id: TopicId, name: str, offset: int) -> None:
        """Check a committed TopicRecord."""
        if is_reserved_topic_id(topic_id):
            raise InvariantFailure("topic_ids", f"topic {name} at offset {offset} has the reserved id {topic_id.hex()}")
        if topic_id in self._seen:
            other, at = self._seen[topic_id]
            raise InvariantFailure(
                "topic_ids", f"topic {name} at offset {offset} has the id of {other} at offset {at}: {topic_id.hex()}"
            )
        self._seen[topic_id] = (name, offset)
