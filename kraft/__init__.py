"""The public package: what programs may rely on. Everything else of this project is private.

A name is loaded at its first use: `import kraft` loads neither gRPC nor the codecs of Kafka's protocol.
`docs/python.md` has examples.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kraft._blocking import SyncAdmin, SyncClient
    from kraft._client import Admin, Client
    from kraft._ids import TopicId, TopicIdPartition, parse_topic_id
    from kraft._toolkit import IncompleteWarning, check, diff, image_at, open_log, timeline
    from metadata_log.errors import MetadataLogError
    from metadata_log.ids import InvalidIdError
    from metadata_log.image import MetadataImage
    from metadata_log.tools.check.check import CheckReport
    from metadata_log.tools.findings.finding import Finding, Severity
    from metadata_log.tools.read.history import HistoryError, LogHistory
    from metadata_log.tools.read.sources import SourceError
    from metadata_log.tools.replicas.diff import DiffReport
    from metadata_log.tools.timeline import Event, EventKind
    from metadata_log.tools.timelines import TimelineReport
    from quorum import __version__
    from quorum.api.error_codes import Error
    from quorum.client import (
        ANY,
        AclCreationResult,
        AclDeletionResult,
        AclEntry,
        AclFilter,
        AclOperation,
        AclPatternType,
        AclPermissionType,
        AclResourceType,
        AddressError,
        AlterableConfig,
        AlterClientQuotasResult,
        AlterConfigsResult,
        AlteredPartition,
        AlteredTopic,
        AlterPartition,
        AlterPartitionResponse,
        AlterUserScramCredentialsResult,
        BrokerHeartbeat,
        BrokerHeartbeatResponse,
        BrokerState,
        ClientError,
        ClosedError,
        Cluster,
        ClusterDescription,
        Config,
        ConfigOperation,
        ConfigResource,
        ConfigResourceType,
        ConfigSource,
        ConfigSynonym,
        CreatableReplicaAssignment,
        CreatableTopic,
        CreatableTopicResult,
        CreateAclsResult,
        CreatePartitionsResult,
        CreateTopicsResult,
        DeletableTopicResult,
        DeleteAclsResult,
        DeleteTopicsResult,
        DescribeConfigsResult,
        DescribedBroker,
        DescribedConfig,
        DescribedPartition,
        DescribedTopic,
        DescribeTopicsResult,
        DescribeUserScramCredentialsResult,
        FeatureMetadata,
        FeatureRange,
        InvalidReplicationFactorError,
        InvalidRequestError,
        InvalidTopicError,
        Listener,
        NewPartitions,
        NodeListeners,
        NotAControllerError,
        Outcome,
        OutcomeUnknownError,
        PartitionAlteration,
        QuorumStatus,
        QuotaComponent,
        QuotaEntity,
        RefusedError,
        RegisterBroker,
        RegisterBrokerResponse,
        RegisterController,
        RegisterControllerResponse,
        ReplicaStatus,
        ScramDeletion,
        ScramMechanism,
        ScramUpsertion,
        TopicAlteration,
        TopicCollection,
        TopicExistsError,
        TopicIdCollection,
        TopicNameCollection,
        Transferred,
        UnavailableError,
        UnknownTopicError,
        UnresolvableError,
        UpgradeType,
        WrongListenerError,
        quota_entity,
        scram_upsertion,
    )

_HOMES: Final = {
    "Admin": "kraft._client",
    "CheckReport": "metadata_log.tools.check.check",
    "Client": "kraft._client",
    "DiffReport": "metadata_log.tools.replicas.diff",
    "Error": "quorum.api.error_codes",
    "Event": "metadata_log.tools.timeline",
    "EventKind": "metadata_log.tools.timeline",
    "Finding": "metadata_log.tools.findings.finding",
    "HistoryError": "metadata_log.tools.read.history",
    "IncompleteWarning": "kraft._toolkit",
    "InvalidIdError": "metadata_log.ids",
    "LogHistory": "metadata_log.tools.read.history",
    "MetadataImage": "metadata_log.image",
    "MetadataLogError": "metadata_log.errors",
    "Severity": "metadata_log.tools.findings.finding",
    "SourceError": "metadata_log.tools.read.sources",
    "SyncAdmin": "kraft._blocking",
    "SyncClient": "kraft._blocking",
    "TimelineReport": "metadata_log.tools.timelines",
    "TopicId": "kraft._ids",
    "TopicIdPartition": "kraft._ids",
    "__version__": "quorum",
    "check": "kraft._toolkit",
    "diff": "kraft._toolkit",
    "image_at": "kraft._toolkit",
    "open_log": "kraft._toolkit",
    "parse_topic_id": "kraft._ids",
    "timeline": "kraft._toolkit",
}
"""The module of each name that `quorum.client` does not have."""

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
    "CheckReport",
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
    "DiffReport",
    "Error",
    "Event",
    "EventKind",
    "FeatureMetadata",
    "FeatureRange",
    "Finding",
    "HistoryError",
    "IncompleteWarning",
    "InvalidIdError",
    "InvalidReplicationFactorError",
    "InvalidRequestError",
    "InvalidTopicError",
    "Listener",
    "LogHistory",
    "MetadataImage",
    "MetadataLogError",
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
    "Severity",
    "SourceError",
    "SyncAdmin",
    "SyncClient",
    "TimelineReport",
    "TopicAlteration",
    "TopicCollection",
    "TopicExistsError",
    "TopicId",
    "TopicIdCollection",
    "TopicIdPartition",
    "TopicNameCollection",
    "Transferred",
    "UnavailableError",
    "UnknownTopicError",
    "UnresolvableError",
    "UpgradeType",
    "WrongListenerError",
    "__version__",
    "check",
    "diff",
    "image_at",
    "open_log",
    "parse_topic_id",
    "quota_entity",
    "scram_upsertion",
    "timeline",
]

if not TYPE_CHECKING:  # a type checker would take every name for public

    def __getattr__(name: str) -> object:
        """Load a public name (PEP 562).

        Raises:
            AttributeError: the name is not public.
        """
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value: object = getattr(importlib.import_module(_HOMES.get(name, "quorum.client")), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
