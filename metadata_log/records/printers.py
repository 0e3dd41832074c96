"""Prints every version of every record as Kafka's JSON.

Generated from the declarations by `python -m metadata_log.records.generate`: change those, not this.
"""

# fmt: off
# ruff: noqa

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from metadata_log.records.json_values import (
    bytes_text,
    double_text,
    ints_text,
    string_text,
    strings_text,
    uuid_text,
    uuids_text,
)
from metadata_log.records.control import (
    KRaftVersionFeature,
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeVoter,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
    VotersRecordEndpoint,
    VotersRecordVoter,
)
from metadata_log.records.declarations.cluster import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ClientQuotaRecord,
    ConfigRecord,
    EndTransactionRecord,
    EntityData,
    FeatureLevelRecord,
    NoOpRecord,
    ProducerIdsRecord,
    ZkMigrationStateRecord,
)
from metadata_log.records.declarations.nodes import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ControllerEndpoint,
    ControllerFeature,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UnregisterControllerRecord,
)
from metadata_log.records.declarations.security import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from metadata_log.records.declarations.topics import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

def _print_BrokerEndpoint_0(r: BrokerEndpoint) -> str:
    return f'{{"name":{string_text(r.name)},"host":{string_text(r.host)},"port":{r.port},"securityProtocol":{r.security_protocol}}}'

def _print_BrokerFeature_0(r: BrokerFeature) -> str:
    return f'{{"name":{string_text(r.name)},"minSupportedVersion":{r.min_supported_version},"maxSupportedVersion":{r.max_supported_version}}}'

def _print_RegisterBrokerRecord_0(r: RegisterBrokerRecord) -> str:
    return f'{{"brokerId":{r.broker_id},"incarnationId":{uuid_text(r.incarnation_id)},"brokerEpoch":{r.broker_epoch},"endPoints":{"[" + ",".join([_print_BrokerEndpoint_0(e) for e in r.end_points]) + "]"},"features":{"[" + ",".join([_print_BrokerFeature_0(e) for e in r.features]) + "]"},"rack":{"null" if r.rack is None else string_text(r.rack)},"fenced":{"true" if r.fenced else "false"}}}'

def _print_RegisterBrokerRecord_1(r: RegisterBrokerRecord) -> str:
    return f'{{"brokerId":{r.broker_id},"incarnationId":{uuid_text(r.incarnation_id)},"brokerEpoch":{r.broker_epoch},"endPoints":{"[" + ",".join([_print_BrokerEndpoint_0(e) for e in r.end_points]) + "]"},"features":{"[" + ",".join([_print_BrokerFeature_0(e) for e in r.features]) + "]"},"rack":{"null" if r.rack is None else string_text(r.rack)},"fenced":{"true" if r.fenced else "false"},"inControlledShutdown":{"true" if r.in_controlled_shutdown else "false"}}}'

def _print_RegisterBrokerRecord_2(r: RegisterBrokerRecord) -> str:
    return f'{{"brokerId":{r.broker_id},"isMigratingZkBroker":{"true" if r.is_migrating_zk_broker else "false"},"incarnationId":{uuid_text(r.incarnation_id)},"brokerEpoch":{r.broker_epoch},"endPoints":{"[" + ",".join([_print_BrokerEndpoint_0(e) for e in r.end_points]) + "]"},"features":{"[" + ",".join([_print_BrokerFeature_0(e) for e in r.features]) + "]"},"rack":{"null" if r.rack is None else string_text(r.rack)},"fenced":{"true" if r.fenced else "false"},"inControlledShutdown":{"true" if r.in_controlled_shutdown else "false"}}}'

def _print_RegisterBrokerRecord_3(r: RegisterBrokerRecord) -> str:
    t = f'{{"brokerId":{r.broker_id},"isMigratingZkBroker":{"true" if r.is_migrating_zk_broker else "false"},"incarnationId":{uuid_text(r.incarnation_id)},"brokerEpoch":{r.broker_epoch},"endPoints":{"[" + ",".join([_print_BrokerEndpoint_0(e) for e in r.end_points]) + "]"},"features":{"[" + ",".join([_print_BrokerFeature_0(e) for e in r.features]) + "]"},"rack":{"null" if r.rack is None else string_text(r.rack)},"fenced":{"true" if r.fenced else "false"},"inControlledShutdown":{"true" if r.in_controlled_shutdown else "false"}'
    if r.log_dirs != ():
        t += f',"logDirs":{uuids_text(r.log_dirs)}'
    return t + '}'

def _print_RegisterBrokerRecord_4(r: RegisterBrokerRecord) -> str:
    t = f'{{"brokerId":{r.broker_id},"isMigratingZkBroker":{"true" if r.is_migrating_zk_broker else "false"},"incarnationId":{uuid_text(r.incarnation_id)},"brokerEpoch":{r.broker_epoch},"endPoints":{"[" + ",".join([_print_BrokerEndpoint_0(e) for e in r.end_points]) + "]"},"features":{"[" + ",".join([_print_BrokerFeature_0(e) for e in r.features]) + "]"},"rack":{"null" if r.rack is None else string_text(r.rack)},"fenced":{"true" if r.fenced else "false"},"inControlledShutdown":{"true" if r.in_controlled_shutdown else "false"}'
    if r.log_dirs != ():
        t += f',"logDirs":{uuids_text(r.log_dirs)}'
    if r.cordoned_log_dirs is not None:
        t += f',"cordonedLogDirs":{"null" if r.cordoned_log_dirs is None else uuids_text(r.cordoned_log_dirs)}'
    return t + '}'

def _print_UnregisterBrokerRecord_0(r: UnregisterBrokerRecord) -> str:
    return f'{{"brokerId":{r.broker_id},"brokerEpoch":{r.broker_epoch}}}'

def _print_TopicRecord_0(r: TopicRecord) -> str:
    return f'{{"name":{string_text(r.name)},"topicId":{uuid_text(r.topic_id)}}}'

def _print_PartitionRecord_0(r: PartitionRecord) -> str:
    t = f'{{"partitionId":{r.partition_id},"topicId":{uuid_text(r.topic_id)},"replicas":{ints_text(r.replicas)},"isr":{ints_text(r.isr)},"removingReplicas":{ints_text(r.removing_replicas)},"addingReplicas":{ints_text(r.adding_replicas)},"leader":{r.leader}'
    if r.leader_recovery_state != 0:
        t += f',"leaderRecoveryState":{r.leader_recovery_state}'
    return t + f',"leaderEpoch":{r.leader_epoch},"partitionEpoch":{r.partition_epoch}}}'

def _print_PartitionRecord_1(r: PartitionRecord) -> str:
    t = f'{{"partitionId":{r.partition_id},"topicId":{uuid_text(r.topic_id)},"replicas":{ints_text(r.replicas)},"isr":{ints_text(r.isr)},"removingReplicas":{ints_text(r.removing_replicas)},"addingReplicas":{ints_text(r.adding_replicas)},"leader":{r.leader}'
    if r.leader_recovery_state != 0:
        t += f',"leaderRecoveryState":{r.leader_recovery_state}'
    return t + f',"leaderEpoch":{r.leader_epoch},"partitionEpoch":{r.partition_epoch},"directories":{uuids_text(r.directories)}}}'

def _print_PartitionRecord_2(r: PartitionRecord) -> str:
    t = f'{{"partitionId":{r.partition_id},"topicId":{uuid_text(r.topic_id)},"replicas":{ints_text(r.replicas)},"isr":{ints_text(r.isr)},"removingReplicas":{ints_text(r.removing_replicas)},"addingReplicas":{ints_text(r.adding_replicas)},"leader":{r.leader}'
    if r.leader_recovery_state != 0:
        t += f',"leaderRecoveryState":{r.leader_recovery_state}'
    t += f',"leaderEpoch":{r.leader_epoch},"partitionEpoch":{r.partition_epoch},"directories":{uuids_text(r.directories)}'
    if r.eligible_leader_replicas is not None:
        t += f',"eligibleLeaderReplicas":{"null" if r.eligible_leader_replicas is None else ints_text(r.eligible_leader_replicas)}'
    if r.last_known_elr is not None:
        t += f',"lastKnownElr":{"null" if r.last_known_elr is None else ints_text(r.last_known_elr)}'
    return t + '}'

def _print_ConfigRecord_0(r: ConfigRecord) -> str:
    return f'{{"resourceType":{r.resource_type},"resourceName":{string_text(r.resource_name)},"name":{string_text(r.name)},"value":{"null" if r.value is None else string_text(r.value)}}}'

def _print_PartitionChangeRecord_0(r: PartitionChangeRecord) -> str:
    t = f'{{"partitionId":{r.partition_id},"topicId":{uuid_text(r.topic_id)}'
    if r.isr is not None:
        t += f',"isr":{"null" if r.isr is None else ints_text(r.isr)}'
    if r.leader != -2:
        t += f',"leader":{r.leader}'
    if r.replicas is not None:
        t += f',"replicas":{"null" if r.replicas is None else ints_text(r.replicas)}'
    if r.removing_replicas is not None:
        t += f',"removingReplicas":{"null" if r.removing_replicas is None else ints_text(r.removing_replicas)}'
    if r.adding_replicas is not None:
        t += f',"addingReplicas":{"null" if r.adding_replicas is None else ints_text(r.adding_replicas)}'
    if r.leader_recovery_state != -1:
        t += f',"leaderRecoveryState":{r.leader_recovery_state}'
    return t + '}'

def _print_PartitionChangeRecord_1(r: PartitionChangeRecord) -> str:
    t = f'{{"partitionId":{r.partition_id},"topicId":{uuid_text(r.topic_id)}'
    if r.isr is not None:
        t += f',"isr":{"null" if r.isr is None else ints_text(r.isr)}'
    if r.leader != -2:
        t += f',"leader":{r.leader}'
    if r.replicas is not None:
        t += f',"replicas":{"null" if r.replicas is None else ints_text(r.replicas)}'
    if r.removing_replicas is not None:
        t += f',"removingReplicas":{"null" if r.removing_replicas is None else ints_text(r.removing_replicas)}'
    if r.adding_replicas is not None:
        t += f',"addingReplicas":{"null" if r.adding_replicas is None else ints_text(r.adding_replicas)}'
    if r.leader_recovery_state != -1:
        t += f',"leaderRecoveryState":{r.leader_recovery_state}'
    if r.directories is not None:
        t += f',"directories":{"null" if r.directories is None else uuids_text(r.directories)}'
    return t + '}'

def _print_PartitionChangeRecord_2(r: PartitionChangeRecord) -> str:
    t = f'{{"partitionId":{r.partition_id},"topicId":{uuid_text(r.topic_id)}'
    if r.isr is not None:
        t += f',"isr":{"null" if r.isr is None else ints_text(r.isr)}'
    if r.leader != -2:
        t += f',"leader":{r.leader}'
    if r.replicas is not None:
        t += f',"replicas":{"null" if r.replicas is None else ints_text(r.replicas)}'
    if r.removing_replicas is not None:
        t += f',"removingReplicas":{"null" if r.removing_replicas is None else ints_text(r.removing_replicas)}'
    if r.adding_replicas is not None:
        t += f',"addingReplicas":{"null" if r.adding_replicas is None else ints_text(r.adding_replicas)}'
    if r.leader_recovery_state != -1:
        t += f',"leaderRecoveryState":{r.leader_recovery_state}'
    if r.directories is not None:
        t += f',"directories":{"null" if r.directories is None else uuids_text(r.directories)}'
    if r.eligible_leader_replicas is not None:
        t += f',"eligibleLeaderReplicas":{"null" if r.eligible_leader_replicas is None else ints_text(r.eligible_leader_replicas)}'
    if r.last_known_elr is not None:
        t += f',"lastKnownElr":{"null" if r.last_known_elr is None else ints_text(r.last_known_elr)}'
    return t + '}'

def _print_FenceBrokerRecord_0(r: FenceBrokerRecord) -> str:
    return f'{{"id":{r.id},"epoch":{r.epoch}}}'

def _print_UnfenceBrokerRecord_0(r: UnfenceBrokerRecord) -> str:
    return f'{{"id":{r.id},"epoch":{r.epoch}}}'

def _print_RemoveTopicRecord_0(r: RemoveTopicRecord) -> str:
    return f'{{"topicId":{uuid_text(r.topic_id)}}}'

def _print_DelegationTokenRecord_0(r: DelegationTokenRecord) -> str:
    return f'{{"owner":{string_text(r.owner)},"requester":{string_text(r.requester)},"renewers":{strings_text(r.renewers)},"issueTimestamp":{r.issue_timestamp},"maxTimestamp":{r.max_timestamp},"expirationTimestamp":{r.expiration_timestamp},"tokenId":{string_text(r.token_id)}}}'

def _print_UserScramCredentialRecord_0(r: UserScramCredentialRecord) -> str:
    return f'{{"name":{string_text(r.name)},"mechanism":{r.mechanism},"salt":{bytes_text(r.salt)},"storedKey":{bytes_text(r.stored_key)},"serverKey":{bytes_text(r.server_key)},"iterations":{r.iterations}}}'

def _print_FeatureLevelRecord_0(r: FeatureLevelRecord) -> str:
    return f'{{"name":{string_text(r.name)},"featureLevel":{r.feature_level}}}'

def _print_EntityData_0(r: EntityData) -> str:
    return f'{{"entityType":{string_text(r.entity_type)},"entityName":{"null" if r.entity_name is None else string_text(r.entity_name)}}}'

def _print_ClientQuotaRecord_0(r: ClientQuotaRecord) -> str:
    return f'{{"entity":{"[" + ",".join([_print_EntityData_0(e) for e in r.entity]) + "]"},"key":{string_text(r.key)},"value":{double_text(r.value)},"remove":{"true" if r.remove else "false"}}}'

def _print_ProducerIdsRecord_0(r: ProducerIdsRecord) -> str:
    return f'{{"brokerId":{r.broker_id},"brokerEpoch":{r.broker_epoch},"nextProducerId":{r.next_producer_id}}}'

def _print_BrokerRegistrationChangeRecord_0(r: BrokerRegistrationChangeRecord) -> str:
    t = f'{{"brokerId":{r.broker_id},"brokerEpoch":{r.broker_epoch}'
    if r.fenced != 0:
        t += f',"fenced":{r.fenced}'
    return t + '}'

def _print_BrokerRegistrationChangeRecord_1(r: BrokerRegistrationChangeRecord) -> str:
    t = f'{{"brokerId":{r.broker_id},"brokerEpoch":{r.broker_epoch}'
    if r.fenced != 0:
        t += f',"fenced":{r.fenced}'
    if r.in_controlled_shutdown != 0:
        t += f',"inControlledShutdown":{r.in_controlled_shutdown}'
    return t + '}'

def _print_BrokerRegistrationChangeRecord_2(r: BrokerRegistrationChangeRecord) -> str:
    t = f'{{"brokerId":{r.broker_id},"brokerEpoch":{r.broker_epoch}'
    if r.fenced != 0:
        t += f',"fenced":{r.fenced}'
    if r.in_controlled_shutdown != 0:
        t += f',"inControlledShutdown":{r.in_controlled_shutdown}'
    if r.log_dirs != ():
        t += f',"logDirs":{uuids_text(r.log_dirs)}'
    return t + '}'

def _print_BrokerRegistrationChangeRecord_3(r: BrokerRegistrationChangeRecord) -> str:
    t = f'{{"brokerId":{r.broker_id},"brokerEpoch":{r.broker_epoch}'
    if r.fenced != 0:
        t += f',"fenced":{r.fenced}'
    if r.in_controlled_shutdown != 0:
        t += f',"inControlledShutdown":{r.in_controlled_shutdown}'
    if r.log_dirs != ():
        t += f',"logDirs":{uuids_text(r.log_dirs)}'
    if r.cordoned_log_dirs is not None:
        t += f',"cordonedLogDirs":{"null" if r.cordoned_log_dirs is None else uuids_text(r.cordoned_log_dirs)}'
    return t + '}'

def _print_AccessControlEntryRecord_0(r: AccessControlEntryRecord) -> str:
    return f'{{"id":{uuid_text(r.id)},"resourceType":{r.resource_type},"resourceName":{string_text(r.resource_name)},"patternType":{r.pattern_type},"principal":{string_text(r.principal)},"host":{string_text(r.host)},"operation":{r.operation},"permissionType":{r.permission_type}}}'

def _print_RemoveAccessControlEntryRecord_0(r: RemoveAccessControlEntryRecord) -> str:
    return f'{{"id":{uuid_text(r.id)}}}'

def _print_NoOpRecord_0(r: NoOpRecord) -> str:
    return '{}'

def _print_ZkMigrationStateRecord_0(r: ZkMigrationStateRecord) -> str:
    return f'{{"zkMigrationState":{r.zk_migration_state}}}'

def _print_RemoveUserScramCredentialRecord_0(r: RemoveUserScramCredentialRecord) -> str:
    return f'{{"name":{string_text(r.name)},"mechanism":{r.mechanism}}}'

def _print_BeginTransactionRecord_0(r: BeginTransactionRecord) -> str:
    t = ''
    if r.name is not None:
        t += f',"name":{"null" if r.name is None else string_text(r.name)}'
    return '{' + t[1:] + '}'

def _print_EndTransactionRecord_0(r: EndTransactionRecord) -> str:
    return '{}'

def _print_AbortTransactionRecord_0(r: AbortTransactionRecord) -> str:
    t = ''
    if r.reason is not None:
        t += f',"reason":{"null" if r.reason is None else string_text(r.reason)}'
    return '{' + t[1:] + '}'

def _print_RemoveDelegationTokenRecord_0(r: RemoveDelegationTokenRecord) -> str:
    return f'{{"tokenId":{string_text(r.token_id)}}}'

def _print_ControllerEndpoint_0(r: ControllerEndpoint) -> str:
    return f'{{"name":{string_text(r.name)},"host":{string_text(r.host)},"port":{r.port},"securityProtocol":{r.security_protocol}}}'

def _print_ControllerFeature_0(r: ControllerFeature) -> str:
    return f'{{"name":{string_text(r.name)},"minSupportedVersion":{r.min_supported_version},"maxSupportedVersion":{r.max_supported_version}}}'

def _print_RegisterControllerRecord_0(r: RegisterControllerRecord) -> str:
    return f'{{"controllerId":{r.controller_id},"incarnationId":{uuid_text(r.incarnation_id)},"zkMigrationReady":{"true" if r.zk_migration_ready else "false"},"endPoints":{"[" + ",".join([_print_ControllerEndpoint_0(e) for e in r.end_points]) + "]"},"features":{"[" + ",".join([_print_ControllerFeature_0(e) for e in r.features]) + "]"}}}'

def _print_ClearElrRecord_0(r: ClearElrRecord) -> str:
    return f'{{"topicName":{string_text(r.topic_name)}}}'

def _print_UnregisterControllerRecord_0(r: UnregisterControllerRecord) -> str:
    return f'{{"controllerId":{r.controller_id}}}'

def _print_LeaderChangeVoter_0(r: LeaderChangeVoter) -> str:
    return f'{{"voterId":{r.voter_id}}}'

def _print_LeaderChangeMessage_0(r: LeaderChangeMessage) -> str:
    return f'{{"version":{r.version},"leaderId":{r.leader_id},"voters":{"[" + ",".join([_print_LeaderChangeVoter_0(e) for e in r.voters]) + "]"},"grantingVoters":{"[" + ",".join([_print_LeaderChangeVoter_0(e) for e in r.granting_voters]) + "]"}}}'

def _print_LeaderChangeVoter_1(r: LeaderChangeVoter) -> str:
    return f'{{"voterId":{r.voter_id},"voterDirectoryId":{uuid_text(r.voter_directory_id)}}}'

def _print_LeaderChangeMessage_1(r: LeaderChangeMessage) -> str:
    return f'{{"version":{r.version},"leaderId":{r.leader_id},"voters":{"[" + ",".join([_print_LeaderChangeVoter_1(e) for e in r.voters]) + "]"},"grantingVoters":{"[" + ",".join([_print_LeaderChangeVoter_1(e) for e in r.granting_voters]) + "]"}}}'

def _print_SnapshotHeaderRecord_0(r: SnapshotHeaderRecord) -> str:
    return f'{{"version":{r.version},"lastContainedLogTimestamp":{r.last_contained_log_timestamp}}}'

def _print_SnapshotFooterRecord_0(r: SnapshotFooterRecord) -> str:
    return f'{{"version":{r.version}}}'

def _print_KRaftVersionRecord_0(r: KRaftVersionRecord) -> str:
    return f'{{"version":{r.version},"kRaftVersion":{r.kraft_version}}}'

def _print_VotersRecordEndpoint_0(r: VotersRecordEndpoint) -> str:
    return f'{{"name":{string_text(r.name)},"host":{string_text(r.host)},"port":{r.port}}}'

def _print_KRaftVersionFeature_0(r: KRaftVersionFeature) -> str:
    return f'{{"minSupportedVersion":{r.min_supported_version},"maxSupportedVersion":{r.max_supported_version}}}'

def _print_VotersRecordVoter_0(r: VotersRecordVoter) -> str:
    return f'{{"voterId":{r.voter_id},"voterDirectoryId":{uuid_text(r.voter_directory_id)},"endpoints":{"[" + ",".join([_print_VotersRecordEndpoint_0(e) for e in r.endpoints]) + "]"},"kRaftVersionFeature":{_print_KRaftVersionFeature_0(r.kraft_version_feature)}}}'

def _print_VotersRecord_0(r: VotersRecord) -> str:
    return f'{{"version":{r.version},"voters":{"[" + ",".join([_print_VotersRecordVoter_0(e) for e in r.voters]) + "]"}}}'

PRINTERS: Final[dict[type, dict[int, Callable[[Any], str]]]] = {
    RegisterBrokerRecord: {0: _print_RegisterBrokerRecord_0, 1: _print_RegisterBrokerRecord_1, 2: _print_RegisterBrokerRecord_2, 3: _print_RegisterBrokerRecord_3, 4: _print_RegisterBrokerRecord_4},
    UnregisterBrokerRecord: {0: _print_UnregisterBrokerRecord_0},
    TopicRecord: {0: _print_TopicRecord_0},
    PartitionRecord: {0: _print_PartitionRecord_0, 1: _print_PartitionRecord_1, 2: _print_PartitionRecord_2},
    ConfigRecord: {0: _print_ConfigRecord_0},
    PartitionChangeRecord: {0: _print_PartitionChangeRecord_0, 1: _print_PartitionChangeRecord_1, 2: _print_PartitionChangeRecord_2},
    FenceBrokerRecord: {0: _print_FenceBrokerRecord_0},
    UnfenceBrokerRecord: {0: _print_UnfenceBrokerRecord_0},
    RemoveTopicRecord: {0: _print_RemoveTopicRecord_0},
    DelegationTokenRecord: {0: _print_DelegationTokenRecord_0},
    UserScramCredentialRecord: {0: _print_UserScramCredentialRecord_0},
    FeatureLevelRecord: {0: _print_FeatureLevelRecord_0},
    ClientQuotaRecord: {0: _print_ClientQuotaRecord_0},
    ProducerIdsRecord: {0: _print_ProducerIdsRecord_0},
    BrokerRegistrationChangeRecord: {0: _print_BrokerRegistrationChangeRecord_0, 1: _print_BrokerRegistrationChangeRecord_1, 2: _print_BrokerRegistrationChangeRecord_2, 3: _print_BrokerRegistrationChangeRecord_3},
    AccessControlEntryRecord: {0: _print_AccessControlEntryRecord_0},
    RemoveAccessControlEntryRecord: {0: _print_RemoveAccessControlEntryRecord_0},
    NoOpRecord: {0: _print_NoOpRecord_0},
    ZkMigrationStateRecord: {0: _print_ZkMigrationStateRecord_0},
    RemoveUserScramCredentialRecord: {0: _print_RemoveUserScramCredentialRecord_0},
    BeginTransactionRecord: {0: _print_BeginTransactionRecord_0},
    EndTransactionRecord: {0: _print_EndTransactionRecord_0},
    AbortTransactionRecord: {0: _print_AbortTransactionRecord_0},
    RemoveDelegationTokenRecord: {0: _print_RemoveDelegationTokenRecord_0},
    RegisterControllerRecord: {0: _print_RegisterControllerRecord_0},
    ClearElrRecord: {0: _print_ClearElrRecord_0},
    UnregisterControllerRecord: {0: _print_UnregisterControllerRecord_0},
    LeaderChangeMessage: {0: _print_LeaderChangeMessage_0, 1: _print_LeaderChangeMessage_1},
    SnapshotHeaderRecord: {0: _print_SnapshotHeaderRecord_0},
    SnapshotFooterRecord: {0: _print_SnapshotFooterRecord_0},
    KRaftVersionRecord: {0: _print_KRaftVersionRecord_0},
    VotersRecord: {0: _print_VotersRecord_0},
}
"""Printers of a class, by version: the record's fields as one JSON object."""
