"""CreatePartitions and its answer (KIP-195)."""

from __future__ import annotations

import msgspec

from quorum.api.error_codes import Error
from quorum.api.request import Request


class GrowingTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A topic and how many partitions it shall have in all. `assignments`: replicas of each new one; None to place."""

    name: str
    count: int
    assignments: tuple[tuple[int, ...], ...] | None = None


class CreatePartitions(Request["CreatePartitionsResponse"], frozen=True, kw_only=True, gc=False):
    """Add partitions to topics, each for itself: one refused leaves the others be."""

    topics: tuple[GrowingTopic, ...]
    timeout_ms: int = 60_000
    validate_only: bool = False

    def rejected(self, error: Error, message: str | None = None) -> CreatePartitionsResponse:
        """Return the response that rejects each topic for the same reason."""
        names = dict.fromkeys(topic.name for topic in self.topics)
        topics = tuple(GrownTopic(name=name, error=error, error_message=message) for name in names)
        return CreatePartitionsResponse(topics=topics, error=error, error_message=message)


class GrownTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What became of one topic."""

    name: str
    error: Error = Error.NONE
    error_message: str | None = None


class CreatePartitionsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """In the order of the request; a topic that was named twice is answered once."""

    topics: tuple[GrownTopic, ...] = ()
    throttle_time_ms: int = 0
    error: Error = Error.NONE
    error_message: str | None = None
