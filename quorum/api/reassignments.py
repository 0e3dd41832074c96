"""AlterPartitionReassignments and ListPartitionReassignments with their answers (KIP-455, KIP-860)."""

from __future__ import annotations

import msgspec

from quorum.api.error_codes import Error
from quorum.api.request import Read, Request


class TopicPartitions(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Some partitions of one topic."""

    topic: str
    partitions: tuple[int, ...]


class ReassignablePartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where a partition shall go. `replicas`: all that it shall have in the end, the preferred leader first; None gives
    up what is under way."""

    partition_index: int
    replicas: tuple[int, ...] | None = None


class ReassignableTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The partitions of one topic."""

    name: str
    partitions: tuple[ReassignablePartition, ...]


class AlterPartitionReassignments(Request["AlterPartitionReassignmentsResponse"], frozen=True, kw_only=True, gc=False):
    """Move partitions to other brokers, each for itself, or give up moving them."""

    topics: tuple[ReassignableTopic, ...]
    timeout_ms: int = 60_000
    allow_replication_factor_change: bool = True
    """Whether a partition may get more or fewer replicas than it has."""

    def rejected(self, error: Error, message: str | None = None) -> AlterPartitionReassignmentsResponse:
        """Return the response that rejects the whole request."""
        return AlterPartitionReassignmentsResponse(
            error=error,
            error_message=message,
            allow_replication_factor_change=self.allow_replication_factor_change,
        )


class ReassignedPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What became of one partition."""

    partition_index: int
    error: Error = Error.NONE
    error_message: str | None = None


class ReassignedTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What became of the partitions of one topic."""

    name: str
    partitions: tuple[ReassignedPartition, ...]


class AlterPartitionReassignmentsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """In the order of the request; `topics` is empty where `error` is not NONE."""

    error: Error = Error.NONE
    topics: tuple[ReassignedTopic, ...] = ()
    error_message: str | None = None
    allow_replication_factor_change: bool = True
    """As it was asked."""


class ListPartitionReassignments(Read["ListPartitionReassignmentsResponse"], frozen=True, kw_only=True, gc=False):
    """Which partitions are being moved: of these; of all where it is None."""

    topics: tuple[TopicPartitions, ...] | None = None
    timeout_ms: int = 60_000

    def rejected(self, error: Error, message: str | None = None) -> ListPartitionReassignmentsResponse:
        """Return the response that rejects the whole request."""
        return ListPartitionReassignmentsResponse(error=error, error_message=message)


class OngoingReassignment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A partition on its way: all its replicas, and which of them come and go."""

    partition_index: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class OngoingTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The partitions of one topic that are on their way; at least one."""

    name: str
    partitions: tuple[OngoingReassignment, ...]


class ListPartitionReassignmentsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The answer to ListPartitionReassignments, in the order of names where all were asked for."""

    error: Error = Error.NONE
    topics: tuple[OngoingTopic, ...] = ()
    error_message: str | None = None
