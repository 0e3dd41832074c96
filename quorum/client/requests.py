"""The requests and answers of the client's methods, for whoever uses the client and must not know the controller."""

from __future__ import annotations

from quorum.api import (
    AlterPartition,
    AlterPartitionResponse,
    BrokerHeartbeat,
    BrokerHeartbeatResponse,
    BrokerState,
    CreatableConfig,
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicResult,
    DeletableTopicResult,
    DescribedPartition,
    DescribedTopic,
    FeatureRange,
    Listener,
    PartitionAlteration,
    RegisterBroker,
    RegisterBrokerResponse,
    TopicAlteration,
)

__all__ = [
    "AlterPartition",
    "AlterPartitionResponse",
    "BrokerHeartbeat",
    "BrokerHeartbeatResponse",
    "BrokerState",
    "CreatableConfig",
    "CreatableReplicaAssignment",
    "CreatableTopic",
    "CreatableTopicResult",
    "DeletableTopicResult",
    "DescribedPartition",
    "DescribedTopic",
    "FeatureRange",
    "Listener",
    "PartitionAlteration",
    "RegisterBroker",
    "RegisterBrokerResponse",
    "TopicAlteration",
]
