"""Whether a new topic's name is one that metrics take for another's.

Decides: which topic that is. Must not know: what else is right for a name (`topic_names` does).

Source: Kafka's ReplicationControlManager refuses a topic whose name collides with another's since 3.3.
"""

from __future__ import annotations

from collections.abc import Mapping

from metadata_log.topic_names import may_collide, unified


class NameCollisions:
    """The names seen so far, by what metrics make of them; which of them are there still, the caller says."""

    def __init__(self) -> None:
        self._seen: dict[str, set[str]] | None = None

    def forget(self) -> None:
        """Other names are there now."""
        self._seen = None

    def other(self, name: str, names: Mapping[str, object]) -> str | None:
        """Which of `names`, all that are there, the name of a new topic collides with; the first of several."""
        if not may_collide(name):
            return None
        if self._seen is None:
            self._seen = {}
            for known in filter(may_collide, names):
                self._seen.setdefault(unified(known), set()).add(known)
        alike = self._seen.setdefault(unified(name), set())
        other = min((known for known in alike if known in names and known != name), default=None)
        alike.add(name)
        return other
