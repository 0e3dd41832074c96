"""AlterPartition and its answer: a leader tells which replicas are in sync (KIP-497, KIP-704, KIP-903)."""

from __future__ import annotations

import msgspec

from metadata_log.ids import TopicId
from quorum.api.error_codes import Error
from quorum.api.request import Request


class BrokerState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A member of the proposed ISR; epoch -1 leaves its registration unchecked."""

    broker_id: int
    broker_epoch: int = -1


class PartitionAlteration(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the leader proposes for a partition, and on which state it based that."""

    partition_index: int
    leader_epoch: int
    new_isr: tuple[BrokerState, ...]
    partition_epoch: int
    leader_recovery_state: int = 0
    """0 recovered, 1 recovering from an unclean election."""


class TopicAlteration(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The partitions of one topic."""

    topic_id: TopicId
    partitions: tuple[PartitionAlteration, ...]


class AlterPartition(Request["AlterPartitionResponse"], frozen=True, kw_only=True, gc=False):
    """A leader changes the ISR of partitions that it leads."""

    broker_id: int
    broker_epoch: int
    topics: tuple[TopicAlteration, ...]

    def rejected(self, error: Error, message: str | None = None) -> AlterPartitionResponse:
        """Return the response that rejects the whole request."""
        return AlterPartitionResponse(error=error, error_message=message)


class AlteredPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The partition's state after the change; fields other than the index mean nothing unless `error` is NONE."""

    partition_index: int
    error: Error = Error.NONE
    leader_id: int = -1
    leader_epoch: int = -1
    isr: tuple[int, ...] = ()
    leader_recovery_state: int = 0
    partition_epoch: int = -1


class AlteredTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The partitions of one topic."""

    topic_id: TopicId
    partitions: tuple[AlteredPartition, ...]


class AlterPartitionResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The answer to AlterPartition; `topics` is empty where `error` is not NONE."""

    error: Error = Error.NONE
    topics: tuple[AlteredTopic, ...] = ()
    error_message: str | None = None
