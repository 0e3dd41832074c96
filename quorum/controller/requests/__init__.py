"""Every request that the controller answers, and its answer, in Kafka's terms and free of any wire format.

Decides nothing but the shape. Doors translate to and from these; handlers decide. One module per subject; a new
request is declared in a module of its own and named here. Each can say its own refusal, `refused(error, message)`: the
answer that carries one error for the whole, in that request's shape.
"""

from __future__ import annotations

from quorum.controller.requests.brokers import (
    BrokerHeartbeat,
    BrokerHeartbeatResponse,
    FeatureRange,
    Listener,
    RegisterBroker,
    RegisterBrokerResponse,
)
from quorum.controller.requests.controllers import RegisterController, RegisterControllerResponse
from quorum.controller.requests.partitions import (
    AlteredPartition,
    AlteredTopic,
    AlterPartition,
    AlterPartitionResponse,
    BrokerState,
    PartitionAlteration,
    TopicAlteration,
)
from quorum.controller.requests.topics import (
    CreatableConfig,
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicResult,
    CreateTopics,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopics,
    DeleteTopicsResponse,
    DeleteTopicState,
    DescribedPartition,
    DescribedTopic,
    DescribeTopics,
    DescribeTopicsResponse,
)

Request = (
    CreateTopics
    | DeleteTopics
    | DescribeTopics
    | RegisterBroker
    | BrokerHeartbeat
    | AlterPartition
    | RegisterController
)
Response = (
    CreateTopicsResponse
    | DeleteTopicsResponse
    | DescribeTopicsResponse
    | RegisterBrokerResponse
    | BrokerHeartbeatResponse
    | AlterPartitionResponse
    | RegisterControllerResponse
)

__all__ = [
    "AlterPartition",
    "AlterPartitionResponse",
    "AlteredPartition",
    "AlteredTopic",
    "BrokerHeartbeat",
    "BrokerHeartbeatResponse",
    "BrokerState",
    "CreatableConfig",
    "CreatableReplicaAssignment",
    "CreatableTopic",
    "CreatableTopicResult",
    "CreateTopics",
    "CreateTopicsResponse",
    "DeletableTopicResult",
    "DeleteTopicState",
    "DeleteTopics",
    "DeleteTopicsResponse",
    "DescribeTopics",
    "DescribeTopicsResponse",
    "DescribedPartition",
    "DescribedTopic",
    "FeatureRange",
    "Listener",
    "PartitionAlteration",
    "RegisterBroker",
    "RegisterBrokerResponse",
    "RegisterController",
    "RegisterControllerResponse",
    "Request",
    "Response",
    "TopicAlteration",
]
