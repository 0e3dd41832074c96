"""The Python client of the controllers, with the requests that it takes and the responses that it returns."""

from __future__ import annotations

from metadata_log.acl_codes import ANY
from metadata_log.acl_codes import Operation as AclOperation
from metadata_log.acl_codes import ResourceType as AclResourceType
from metadata_log.image import AclEntry, ConfigResource, QuotaEntity
from metadata_log.image import ResourceType as ConfigResourceType
from quorum.api.acls import AclCreationResult, AclDeletionResult, AclFilter
from quorum.api.brokers import (
    BrokerHeartbeat,
    BrokerHeartbeatResponse,
    FeatureRange,
    Listener,
    RegisterBroker,
    RegisterBrokerResponse,
)
from quorum.api.cluster import DescribedBroker
from quorum.api.configs import AlterableConfig, ConfigOperation
from quorum.api.controllers import RegisterController, RegisterControllerResponse
from quorum.api.described_configs import ConfigSynonym, DescribedConfig
from quorum.api.features import UpgradeType
from quorum.api.partitions import (
    AlteredPartition,
    AlteredTopic,
    AlterPartition,
    AlterPartitionResponse,
    BrokerState,
    PartitionAlteration,
    TopicAlteration,
)
from quorum.api.quotas import QuotaComponent
from quorum.api.scram import ScramDeletion, ScramUpsertion
from quorum.api.topics import (
    ConfigSource,
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicResult,
    DeletableTopicResult,
    DescribedPartition,
    DescribedTopic,
)
from quorum.client.admin import Admin
from quorum.client.admin_acls import AclPatternType, AclPermissionType, CreateAclsResult, DeleteAclsResult
from quorum.client.admin_cluster import ClusterDescription
from quorum.client.admin_configs import AlterConfigsResult, Config, DescribeConfigsResult
from quorum.client.admin_features import FeatureMetadata
from quorum.client.admin_partitions import CreatePartitionsResult, NewPartitions
from quorum.client.admin_quotas import AlterClientQuotasResult, quota_entity
from quorum.client.admin_results import Cluster, CreateTopicsResult, DeleteTopicsResult, DescribeTopicsResult, Outcome
from quorum.client.admin_scram import (
    AlterUserScramCredentialsResult,
    DescribeUserScramCredentialsResult,
    ScramMechanism,
    scram_upsertion,
)
from quorum.client.client import Client
from quorum.client.errors import (
    AddressError,
    ClientError,
    ClosedError,
    InvalidReplicationFactorError,
    InvalidRequestError,
    InvalidTopicError,
    NotAControllerError,
    OutcomeUnknownError,
    RefusedError,
    TopicExistsError,
    UnavailableError,
    UnknownTopicError,
    UnresolvableError,
    WrongListenerError,
)
from quorum.client.quorum_status import NodeListeners, QuorumStatus, ReplicaStatus
from quorum.client.topic_collection import TopicCollection, TopicIdCollection, TopicNameCollection
from quorum.client.transfer import Transferred

__all__ = [
    "ANY",
    "AclCreationResult",
    "AclDeletionResult",
    "AclEntry",
    "AclFilter",
    "AclOperation",
    "AclPatternType",
    "AclPermissionType",
    "AclResourceType",
    "AddressError",
    "Admin",
    "AlterClientQuotasResult",
    "AlterConfigsResult",
    "AlterPartition",
    "AlterPartitionResponse",
    "AlterUserScramCredentialsResult",
    "AlterableConfig",
    "AlteredPartition",
    "AlteredTopic",
    "BrokerHeartbeat",
    "BrokerHeartbeatResponse",
    "BrokerState",
    "Client",
    "ClientError",
    "ClosedError",
    "Cluster",
    "ClusterDescription",
    "Config",
    "ConfigOperation",
    "ConfigResource",
    "ConfigResourceType",
    "ConfigSource",
    "ConfigSynonym",
    "CreatableReplicaAssignment",
    "CreatableTopic",
    "CreatableTopicResult",
    "CreateAclsResult",
    "CreatePartitionsResult",
    "CreateTopicsResult",
    "DeletableTopicResult",
    "DeleteAclsResult",
    "DeleteTopicsResult",
    "DescribeConfigsResult",
    "DescribeTopicsResult",
    "DescribeUserScramCredentialsResult",
    "DescribedBroker",
    "DescribedConfig",
    "DescribedPartition",
    "DescribedTopic",
    "FeatureMetadata",
    "FeatureRange",
    "InvalidReplicationFactorError",
    "InvalidRequestError",
    "InvalidTopicError",
    "Listener",
    "NewPartitions",
    "NodeListeners",
    "NotAControllerError",
    "Outcome",
    "OutcomeUnknownError",
    "PartitionAlteration",
    "QuorumStatus",
    "QuotaComponent",
    "QuotaEntity",
    "RefusedError",
    "RegisterBroker",
    "RegisterBrokerResponse",
    "RegisterController",
    "RegisterControllerResponse",
    "ReplicaStatus",
    "ScramDeletion",
    "ScramMechanism",
    "ScramUpsertion",
    "TopicAlteration",
    "TopicCollection",
    "TopicExistsError",
    "TopicIdCollection",
    "TopicNameCollection",
    "Transferred",
    "UnavailableError",
    "UnknownTopicError",
    "UnresolvableError",
    "UpgradeType",
    "WrongListenerError",
    "quota_entity",
    "scram_upsertion",
]
