"""Every request that the controller answers, and its answer, in Kafka's terms and free of any wire format.

Decides nothing but the shape. Doors translate to and from these; handlers decide. One module per subject; a new
request is declared in a module of its own and named here. Each can say its own refusal, `refused(error, message)`: the
answer that carries one error for the whole, in that request's shape.
"""

from __future__ import annotations

from quorum.api.acls import (
    AclCreationResult,
    AclDeletionResult,
    AclFilter,
    CreateAcls,
    CreateAclsResponse,
    DeleteAcls,
    DeleteAclsResponse,
    DescribeAcls,
    DescribeAclsResponse,
)
from quorum.api.brokers import (
    BrokerHeartbeat,
    BrokerHeartbeatResponse,
    FeatureRange,
    Listener,
    RegisterBroker,
    RegisterBrokerResponse,
    UnregisterBroker,
    UnregisterBrokerResponse,
)
from quorum.api.cluster import (
    DescribeCluster,
    DescribeClusterResponse,
    DescribedBroker,
    FinalizedFeature,
)
from quorum.api.configs import (
    AlterableConfig,
    AlterableResource,
    AlterConfigs,
    AlterConfigsResponse,
    AlteredResource,
    ConfigOperation,
    IncrementalAlterConfigs,
    IncrementalAlterConfigsResponse,
    ReplacedResource,
)
from quorum.api.controllers import (
    RegisterController,
    RegisterControllerResponse,
    UnregisterController,
    UnregisterControllerResponse,
)
from quorum.api.described_configs import (
    ConfigSynonym,
    DescribeConfigs,
    DescribeConfigsResponse,
    DescribedConfig,
    DescribedResource,
    ResourceToDescribe,
)
from quorum.api.directories import (
    AssignedDirectory,
    AssignedTopic,
    AssignReplicasToDirs,
    AssignReplicasToDirsResponse,
    DirectoryAssignment,
    TopicInDirectory,
)
from quorum.api.elections import ElectedPartition, ElectedTopic, ElectionType, ElectLeaders, ElectLeadersResponse
from quorum.api.features import FeatureUpdate, UpdateFeatures, UpdateFeaturesResponse, UpgradeType
from quorum.api.partition_counts import CreatePartitions, CreatePartitionsResponse, GrowingTopic, GrownTopic
from quorum.api.partitions import (
    AlteredPartition,
    AlteredTopic,
    AlterPartition,
    AlterPartitionResponse,
    BrokerState,
    PartitionAlteration,
    TopicAlteration,
)
from quorum.api.producer_ids import AllocateProducerIds, AllocateProducerIdsResponse
from quorum.api.quotas import (
    AlterClientQuotas,
    AlterClientQuotasResponse,
    AlteredQuota,
    DescribeClientQuotas,
    DescribeClientQuotasResponse,
    DescribedQuota,
    QuotaAlteration,
    QuotaComponent,
    QuotaMatch,
    QuotaParts,
)
from quorum.api.reassignments import (
    AlterPartitionReassignments,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignments,
    ListPartitionReassignmentsResponse,
    OngoingReassignment,
    OngoingTopic,
    ReassignablePartition,
    ReassignableTopic,
    ReassignedPartition,
    ReassignedTopic,
    TopicPartitions,
)
from quorum.api.scram import (
    AlteredScramUser,
    AlterUserScramCredentials,
    AlterUserScramCredentialsResponse,
    DescribedScramUser,
    DescribeUserScramCredentials,
    DescribeUserScramCredentialsResponse,
    ScramCredentialInfo,
    ScramDeletion,
    ScramUpsertion,
)
from quorum.api.tokens import (
    CreateDelegationToken,
    CreateDelegationTokenResponse,
    ExpireDelegationToken,
    ExpireDelegationTokenResponse,
    RenewDelegationToken,
    RenewDelegationTokenResponse,
)
from quorum.api.topics import (
    ConfigSource,
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
    EffectiveConfig,
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
    | AlterPartitionReassignments
    | ListPartitionReassignments
    | AlterConfigs
    | ElectLeaders
    | AlterClientQuotas
    | AlterUserScramCredentials
    | CreateDelegationToken
    | RenewDelegationToken
    | ExpireDelegationToken
    | CreateAcls
    | DeleteAcls
    | DescribeAcls
    | DescribeClientQuotas
    | DescribeUserScramCredentials
    | DescribeConfigs
    | DescribeCluster
    | UnregisterBroker
    | UnregisterController
    | UpdateFeatures
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
    | AlterPartitionReassignmentsResponse
    | ListPartitionReassignmentsResponse
    | AlterConfigsResponse
    | ElectLeadersResponse
    | AlterClientQuotasResponse
    | AlterUserScramCredentialsResponse
    | CreateDelegationTokenResponse
    | RenewDelegationTokenResponse
    | ExpireDelegationTokenResponse
    | CreateAclsResponse
    | DeleteAclsResponse
    | DescribeAclsResponse
    | DescribeClientQuotasResponse
    | DescribeUserScramCredentialsResponse
    | DescribeConfigsResponse
    | DescribeClusterResponse
    | UnregisterBrokerResponse
    | UnregisterControllerResponse
    | UpdateFeaturesResponse
)

__all__ = [
    "AclCreationResult",
    "AclDeletionResult",
    "AclFilter",
    "AllocateProducerIds",
    "AllocateProducerIdsResponse",
    "AlterClientQuotas",
    "AlterClientQuotasResponse",
    "AlterConfigs",
    "AlterConfigsResponse",
    "AlterPartition",
    "AlterPartitionReassignments",
    "AlterPartitionReassignmentsResponse",
    "AlterPartitionResponse",
    "AlterUserScramCredentials",
    "AlterUserScramCredentialsResponse",
    "AlterableConfig",
    "AlterableResource",
    "AlteredPartition",
    "AlteredQuota",
    "AlteredResource",
    "AlteredScramUser",
    "AlteredTopic",
    "AssignReplicasToDirs",
    "AssignReplicasToDirsResponse",
    "AssignedDirectory",
    "AssignedTopic",
    "BrokerHeartbeat",
    "BrokerHeartbeatResponse",
    "BrokerState",
    "ConfigOperation",
    "ConfigSource",
    "ConfigSynonym",
    "CreatableConfig",
    "CreatableReplicaAssignment",
    "CreatableTopic",
    "CreatableTopicResult",
    "CreateAcls",
    "CreateAclsResponse",
    "CreateDelegationToken",
    "CreateDelegationTokenResponse",
    "CreatePartitions",
    "CreatePartitionsResponse",
    "CreateTopics",
    "CreateTopicsResponse",
    "DeletableTopicResult",
    "DeleteAcls",
    "DeleteAclsResponse",
    "DeleteTopicState",
    "DeleteTopics",
    "DeleteTopicsResponse",
    "DescribeAcls",
    "DescribeAclsResponse",
    "DescribeClientQuotas",
    "DescribeClientQuotasResponse",
    "DescribeCluster",
    "DescribeClusterResponse",
    "DescribeConfigs",
    "DescribeConfigsResponse",
    "DescribeTopics",
    "DescribeTopicsResponse",
    "DescribeUserScramCredentials",
    "DescribeUserScramCredentialsResponse",
    "DescribedBroker",
    "DescribedConfig",
    "DescribedPartition",
    "DescribedQuota",
    "DescribedResource",
    "DescribedScramUser",
    "DescribedTopic",
    "DirectoryAssignment",
    "EffectiveConfig",
    "ElectLeaders",
    "ElectLeadersResponse",
    "ElectedPartition",
    "ElectedTopic",
    "ElectionType",
    "ExpireDelegationToken",
    "ExpireDelegationTokenResponse",
    "FeatureRange",
    "FeatureUpdate",
    "FinalizedFeature",
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
    "QuotaAlteration",
    "QuotaComponent",
    "QuotaMatch",
    "QuotaParts",
    "ReassignablePartition",
    "ReassignableTopic",
    "ReassignedPartition",
    "ReassignedTopic",
    "RegisterBroker",
    "RegisterBrokerResponse",
    "RegisterController",
    "RegisterControllerResponse",
    "RenewDelegationToken",
    "RenewDelegationTokenResponse",
    "ReplacedResource",
    "Request",
    "ResourceToDescribe",
    "Response",
    "ScramCredentialInfo",
    "ScramDeletion",
    "ScramUpsertion",
    "TopicAlteration",
    "TopicInDirectory",
    "TopicPartitions",
    "UnregisterBroker",
    "UnregisterBrokerResponse",
    "UnregisterController",
    "UnregisterControllerResponse",
    "UpdateFeatures",
    "UpdateFeaturesResponse",
    "UpgradeType",
]
