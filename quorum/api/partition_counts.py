"""CreatePartitions and its response (KIP-195)."""

from __future__ import annotations

import msgspec

from quorum.api.error_codes import Error
from quorum.api.request import Request


class GrowingTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A topic and its new total of partitions. `assignments`: the replicas of each new partition; None lets the
    controller place them."""

    name: str
    count: int
    assignments: tuple[tuple[int, ...], ...] | None = None


class CreatePartitions(Request["CreatePartitionsResponse"], frozen=True, kw_only=True, gc=False):
    """Add partitions to topics, each on its own. A rejected topic does not affect the others."""

    topics: tuple[GrowingTopic, ...]
    timeout_ms: int = 60_000
    validate_only: bool = False

    def rejected(self, error: Error, message: str | None = None) -> CreatePartitionsResponse:
        """Return the response that rejects each topic for the same reason."""
        names = dict.fromkeys(topic.name for topic in self.topics)
        topics = tuple(GrownTopic(name=name, error=error, error_message=message) for name in names)
        return CreatePartitionsResponse(topics=topics, error=error, error_message=message)


class GrownTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The outcome of one topic."""

    name: str
    error: Error = Error.NONE
    error_message: str | None = None


class CreatePartitionsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Results in the order of the request; a topic that was named twice has one result."""

    topics: tuple[GrownTopic, ...] = ()
    throttle_time_ms: int = 0
    error: Error = Error.NONE
    error_message: str | None = None
