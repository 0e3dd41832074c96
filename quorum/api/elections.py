"""ElectLeaders and its response (KIP-183, KIP-460)."""

from __future__ import annotations

import enum

import msgspec

from quorum.api.error_codes import Error
from quorum.api.reassignments import TopicPartitions
from quorum.api.request import Request


class ElectionType(enum.IntEnum):
    """The kind of election, with Kafka's numbers."""

    PREFERRED = 0
    """Elect the first replica, if it is in sync."""
    UNCLEAN = 1
    """If there is no leader, elect any live replica. Acknowledged records may be lost."""


class ElectLeaders(Request["ElectLeadersResponse"], frozen=True, kw_only=True, gc=False):
    """Elect leaders of these partitions, or of all if None. `election_type` is a plain int, because a client may
    send an unknown one."""

    election_type: int
    partitions: tuple[TopicPartitions, ...] | None = None
    timeout_ms: int = 60_000

    def rejected(self, error: Error, message: str | None = None) -> ElectLeadersResponse:
        """Return the response that rejects each partition for the same reason."""
        topics = tuple(
            ElectedTopic(
                topic=asked.topic,
                partitions=tuple(
                    ElectedPartition(partition_index=index, error=error, error_message=message)
                    for index in asked.partitions
                ),
            )
            for asked in self.partitions or ()
        )
        return ElectLeadersResponse(error=error, topics=topics, error_message=message)


class ElectedPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The outcome of one partition."""

    partition_index: int
    error: Error = Error.NONE
    error_message: str | None = None


class ElectedTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The outcome of the partitions of one topic."""

    topic: str
    partitions: tuple[ElectedPartition, ...]


class ElectLeadersResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Results in the order of the request. If it asked for all partitions: topics by name, without the partitions
    that needed no election."""

    error: Error = Error.NONE
    topics: tuple[ElectedTopic, ...] = ()
    error_message: str | None = None
