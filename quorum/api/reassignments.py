"""AlterPartitionReassignments and ListPartitionReassignments with their responses (KIP-455, KIP-860)."""

from __future__ import annotations

import msgspec

from quorum.api.error_codes import Error
from quorum.api.request import Read, Request


class TopicPartitions(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Some partitions of one topic."""

    topic: str
    partitions: tuple[int, ...]


class ReassignablePartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The target of one partition. `replicas` is its complete final list, the preferred leader first. None cancels
    the reassignment under way."""

    partition_index: int
    replicas: tuple[int, ...] | None = None


class ReassignableTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The partitions of one topic."""

    name: str
    partitions: tuple[ReassignablePartition, ...]


class AlterPartitionReassignments(Request["AlterPartitionReassignmentsResponse"], frozen=True, kw_only=True, gc=False):
    """Move partitions to other brokers, each on its own, or cancel such moves."""

    topics: tuple[ReassignableTopic, ...]
    timeout_ms: int = 60_000
    allow_replication_factor_change: bool = True
    """False rejects a target with more or fewer replicas than the partition has."""

    def rejected(self, error: Error, message: str | None = None) -> AlterPartitionReassignmentsResponse:
        """Return the response that rejects the whole request."""
        return AlterPartitionReassignmentsResponse(
            error=error,
            error_message=message,
            allow_replication_factor_change=self.allow_replication_factor_change,
        )


class ReassignedPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The outcome of one partition."""

    partition_index: int
    error: Error = Error.NONE
    error_message: str | None = None


class ReassignedTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The outcome of the partitions of one topic."""

    name: str
    partitions: tuple[ReassignedPartition, ...]


class AlterPartitionReassignmentsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Results in the order of the request; `topics` is empty if `error` is not NONE."""

    error: Error = Error.NONE
    topics: tuple[ReassignedTopic, ...] = ()
    error_message: str | None = None
    allow_replication_factor_change: bool = True
    """The value in the request."""


class ListPartitionReassignments(Read["ListPartitionReassignmentsResponse"], frozen=True, kw_only=True, gc=False):
    """List the reassignments under way of these partitions, or of all if None."""

    topics: tuple[TopicPartitions, ...] | None = None
    timeout_ms: int = 60_000

    def rejected(self, error: Error, message: str | None = None) -> ListPartitionReassignmentsResponse:
        """Return the response that rejects the whole request."""
        return ListPartitionReassignmentsResponse(error=error, error_message=message)


class OngoingReassignment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A partition under reassignment: all its replicas, those that are added, and those that are removed."""

    partition_index: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class OngoingTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The partitions of one topic that are under reassignment; at least one."""

    name: str
    partitions: tuple[OngoingReassignment, ...]


class ListPartitionReassignmentsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The response to ListPartitionReassignments. Topics are sorted by name if the request named none."""

    error: Error = Error.NONE
    topics: tuple[OngoingTopic, ...] = ()
    error_message: str | None = None
