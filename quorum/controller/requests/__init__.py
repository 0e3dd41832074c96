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
from quorum.controller.requests.configs import (
    AlterableConfig,
    AlterableResource,
    AlteredResource,
    ConfigOperation,
    IncrementalAlterConfigs,
    IncrementalAlterConfigsResponse,
)
from quorum.controller.requests.controllers import RegisterController, RegisterControllerResponse
from quorum.controller.requests.directories import (
    AssignedDirectory,
    AssignedTopic,
    AssignReplicasToDirs,
    AssignReplicasToDirsResponse,
    DirectoryAssignment,
    TopicInDirectory,
)
from quorum.controller.requests.growth import (
    CreatePartitions,
    CreatePartitionsResponse,
    GrowingTopic,
    GrownTopic,
    ListPartitionReassignments,
    ListPartitionReassignmentsResponse,
    OngoingReassignment,
    OngoingTopic,
)
from quorum.controller.requests.partitions import (
    AlteredPartition,
    AlteredTopic,
    AlterPartition,
    AlterPartitionResponse,
    BrokerState,
    PartitionAlteration,
    TopicAlteration,
)
from quorum.controller.requests.producer_ids import AllocateProducerIds, AllocateProducerIdsResponse
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
    | AllocateProducerIds
    | AssignReplicasToDirs
    | CreatePartitions
    | IncrementalAlterConfigs
    | ListPartitionReassignments
)
Response = (
    CreateTopicsResponse
    | DeleteTopicsResponse
    | DescribeTopicsResponse
    | RegisterBrokerResponse
    | BrokerHeartbeatResponse
    | AlterPartitionResponse
    | RegisterControllerResponse
    | AllocateProducerIdsResponse
    | AssignReplicasToDirsResponse
    | CreatePartitionsResponse
    | IncrementalAlterConfigsResponse
    | ListPartitionReassignmentsResponse
)

__all__ = [
    "AllocateProducerIds",
    "AllocateProducerIdsResponse",
    "AlterPartition",
    "AlterPartitionResponse",
    "AlterableConfig",
    "AlterableResource",
    "AlteredPartition",
    "AlteredResource",
    "AlteredTopic",
    "AssignReplicasToDirs",
    "AssignReplicasToDirsResponse",
    "AssignedDirectory",
    "AssignedTopic",
    "BrokerHeartbeat",
    "BrokerHeartbeatResponse",
    "BrokerState",
    "ConfigOperation",
    "CreatableConfig",
    "CreatableReplicaAssignment",
    "CreatableTopic",
    "CreatableTopicResult",
    "CreatePartitions",
    "CreatePartitionsResponse",
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
    "DirectoryAssignment",
    "FeatureRange",
    "GrowingTopic",
    "GrownTopic",
    "IncrementalAlterConfigs",
    "IncrementalAlterConfigsResponse",
    "ListPartitionReassignments",
    "ListPartitionReassignmentsResponse",
    "Listener",
    "OngoingReassignment",
    "OngoingTopic",
    "PartitionAlteration",
    "RegisterBroker",
    "RegisterBrokerResponse",
    "RegisterController",
    "RegisterControllerResponse",
    "Request",
    "Response",
    "TopicAlteration",
    "TopicInDirectory",
]
