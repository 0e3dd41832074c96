"""AlterPartition and its response: a leader reports which replicas are in sync (KIP-497, KIP-704, KIP-903)."""

from __future__ import annotations

import msgspec

from metadata_log.ids import TopicId
from quorum.api.error_codes import Error
from quorum.api.request import Request


class BrokerState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A member of the proposed ISR. With epoch -1 its registration is not checked."""

    broker_id: int
    broker_epoch: int = -1


class PartitionAlteration(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A leader's proposal for one partition, with the epochs on which it is based."""

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
    """Change the ISR of partitions. The sender leads them."""

    broker_id: int
    broker_epoch: int
    topics: tuple[TopicAlteration, ...]

    def rejected(self, error: Error, message: str | None = None) -> AlterPartitionResponse:
        """Return the response that rejects the whole request."""
        return AlterPartitionResponse(error=error, error_message=message)


class AlteredPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The partition's state after the change. If `error` is not NONE, only the index has a meaning."""

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
    """The response to AlterPartition; `topics` is empty if `error` is not NONE."""

    error: Error = Error.NONE
    topics: tuple[AlteredTopic, ...] = ()
    error_message: str | None = None
