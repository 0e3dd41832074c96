"""Records of topics and their partitions."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from metadata_log.ids import DirectoryId, NodeId, TopicId
from metadata_log.records.wire import Wire


class TopicRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A new topic (KIP-516, KIP-631)."""

    API_KEY: ClassVar[int] = 2
    VERSIONS: ClassVar[range] = range(1)

    name: Annotated[str, Wire("string")]
    topic_id: Annotated[TopicId, Wire("uuid")]


class PartitionRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The whole state of a partition (KIP-631; `directories`, one for each replica in its order, KIP-858; the ELR
    KIP-966).

    `leader` -1: none. `leader_recovery_state`: 0 recovered, 1 recovering (KIP-704). The ELR fields None: as empty.
    """

    API_KEY: ClassVar[int] = 3
    VERSIONS: ClassVar[range] = range(3)

    partition_id: Annotated[int, Wire("int32")] = -1
    topic_id: Annotated[TopicId, Wire("uuid")]
    replicas: Annotated[tuple[NodeId, ...], Wire("[]int32")]
    isr: Annotated[tuple[NodeId, ...], Wire("[]int32")]
    removing_replicas: Annotated[tuple[NodeId, ...], Wire("[]int32")]
    adding_replicas: Annotated[tuple[NodeId, ...], Wire("[]int32")]
    leader: Annotated[NodeId, Wire("int32")] = NodeId(-1)
    leader_recovery_state: Annotated[int, Wire("int8", tag=0)] = 0
    leader_epoch: Annotated[int, Wire("int32")] = -1
    partition_epoch: Annotated[int, Wire("int32")] = -1
    directories: Annotated[tuple[DirectoryId, ...], Wire("[]uuid", since=1)] = ()
    eligible_leader_replicas: Annotated[tuple[NodeId, ...] | None, Wire("[]int32?", since=2, tag=1)] = None
    last_known_elr: Annotated[tuple[NodeId, ...] | None, Wire("[]int32?", since=2, tag=2)] = None


class PartitionChangeRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A change of a partition; a field at its default changes nothing (KIP-631, KIP-858, KIP-966).

    `leader` -2: unchanged, -1: none from now on. `leader_recovery_state` -1: unchanged.
    """

    API_KEY: ClassVar[int] = 5
    VERSIONS: ClassVar[range] = range(3)

    partition_id: Annotated[int, Wire("int32")] = -1
    topic_id: Annotated[TopicId, Wire("uuid")]
    isr: Annotated[tuple[NodeId, ...] | None, Wire("[]int32?", tag=0)] = None
    leader: Annotated[NodeId, Wire("int32", tag=1)] = NodeId(-2)
    replicas: Annotated[tuple[NodeId, ...] | None, Wire("[]int32?", tag=2)] = None
    removing_replicas: Annotated[tuple[NodeId, ...] | None, Wire("[]int32?", tag=3)] = None
    adding_replicas: Annotated[tuple[NodeId, ...] | None, Wire("[]int32?", tag=4)] = None
    leader_recovery_state: Annotated[int, Wire("int8", tag=5)] = -1
    directories: Annotated[tuple[DirectoryId, ...] | None, Wire("[]uuid?", since=1, tag=8)] = None
    eligible_leader_replicas: Annotated[tuple[NodeId, ...] | None, Wire("[]int32?", since=2, tag=6)] = None
    last_known_elr: Annotated[tuple[NodeId, ...] | None, Wire("[]int32?", since=2, tag=7)] = None


class RemoveTopicRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The end of a topic, of its partitions and of its configs (KIP-631)."""

    API_KEY: ClassVar[int] = 9
    VERSIONS: ClassVar[range] = range(1)

    topic_id: Annotated[TopicId, Wire("uuid")]


class ClearElrRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Empties the eligible leader replicas of a topic; an empty name means every topic (KIP-966)."""

    API_KEY: ClassVar[int] = 28
    VERSIONS: ClassVar[range] = range(1)

    topic_name: Annotated[str, Wire("string")]
