"""Words for the resources of a change: names and ids, never a value of a config, a password or a token's secret.

Decides: which requests get a line, and how each of their resources is named. Must not know: where lines go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from itertools import islice
from typing import Any, Final, TypeAlias

from metadata_log.acl_codes import ALLOW, LITERAL, Operation
from metadata_log.acl_codes import ResourceType as AclResource
from metadata_log.ids import id_text
from metadata_log.image import AclEntry
from metadata_log.image.configs import ResourceType
from metadata_log.records import (
    BrokerRegistrationChangeRecord,
    DelegationTokenRecord,
    MetadataRecord,
    RemoveDelegationTokenRecord,
)
from quorum.api.acls import CreateAcls, CreateAclsResponse, DeleteAcls, DeleteAclsResponse
from quorum.api.brokers import BrokerHeartbeat, RegisterBroker, UnregisterBroker
from quorum.api.configs import AlterConfigs, ConfigOperation, IncrementalAlterConfigs, IncrementalAlterConfigsResponse
from quorum.api.controllers import RegisterController, UnregisterController
from quorum.api.elections import ElectionType, ElectLeaders, ElectLeadersResponse
from quorum.api.error_codes import Error
from quorum.api.features import UpdateFeatures
from quorum.api.partition_counts import CreatePartitions, CreatePartitionsResponse
from quorum.api.quotas import AlterClientQuotas, AlterClientQuotasResponse, QuotaParts
from quorum.api.reassignments import AlterPartitionReassignments, AlterPartitionReassignmentsResponse
from quorum.api.scram import AlterUserScramCredentials, AlterUserScramCredentialsResponse
from quorum.api.tokens import CreateDelegationToken, ExpireDelegationToken, RenewDelegationToken
from quorum.api.topics import CreateTopics, CreateTopicsResponse, DeleteTopics, DeleteTopicsResponse
from quorum.api.voter_messages import (
    AddRaftVoterRequest,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
    UpgradeKRaftVersionRequest,
)
from quorum.node.core.metadata_changes import SESSION_TIMEOUT, Change, ChangeRequest, ChangeResponse, SessionTimeout

Records: TypeAlias = tuple[MetadataRecord, ...]

LONGEST: Final = 1_000
"""The most characters of all resources of one line."""
_MOST_OF_ONE: Final = 8
"""The most configs, partitions or quotas that are named of one resource."""
_LONGEST_NAME: Final = 250
"""A topic's name has 249 characters at most. Names of users come from clients, and may be longer."""
_PLAIN: Final = re.compile(r"[\w.:*/@+-]+", re.ASCII)
_SCRAM: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}


def is_told(change: Change) -> bool:
    """Return True if the change gets a line. A heartbeat that only moved leaders gets none."""
    return type(change.request) in _WORDS and (bool(change.records) or not isinstance(change.request, BrokerHeartbeat))


def request_name(request: ChangeRequest) -> str:
    """Return Kafka's name of the request, or `session timeout` for a change by the controller itself."""
    return "session timeout" if request is SESSION_TIMEOUT else type(request).__name__.removesuffix("Request")


def short(text: str, longest: int = _LONGEST_NAME) -> str:
    """Return the text, cut if it is longer."""
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"


def resources(change: Change) -> str:
    """Return the changed resources, separated by commas; those that do not fit are counted."""
    return _joined(_WORDS[type(change.request)](change.request, change.response, change.records), len_limit=LONGEST)


def _joined(words: Iterable[str], *, len_limit: int) -> str:
    taken: list[str] = []
    size = more = 0
    for word in words:
        if more or (taken and size + len(word) > len_limit):
            more += 1
            continue
        taken.append(word)
        size += len(word) + 2
    return ", ".join(taken) + (f" and {more} more" if more else "")


def _some(words: Iterable[str]) -> str:
    """Return the first few of a resource's parts, and the count of the others."""
    parts = iter(words)
    taken = list(islice(parts, _MOST_OF_ONE))
    more = sum(1 for _ in parts)
    return ", ".join(taken) + (f" and {more} more" if more else "")


def _word(codes: type[IntEnum], code: int) -> str:
    """Return the word for a number of the protocol, or the number if it is unknown."""
    return next((each.name.lower().replace("_", " ") for each in codes if each == code), str(code))


def _name(text: str) -> str:
    """Return a name in a form that cannot be read as several names, or as other words of the line."""
    cut = short(text)
    return cut if _PLAIN.fullmatch(cut) else repr(cut)


def _created(request: CreateTopics, response: CreateTopicsResponse, _: Records) -> Iterator[str]:
    for topic in response.topics:
        if topic.error is Error.NONE:
            yield f"topic {_name(topic.name)} (id {id_text(topic.topic_id)})"


def _deleted(request: DeleteTopics, response: DeleteTopicsResponse, _: Records) -> Iterator[str]:
    for topic in response.topics:
        if topic.error is Error.NONE:
            yield f"topic {_name(topic.name or '')} (id {id_text(topic.topic_id)})"


def _grown(request: CreatePartitions, response: CreatePartitionsResponse, _: Records) -> Iterator[str]:
    counts = {topic.name: topic.count for topic in request.topics}
    for topic in response.topics:
        if topic.error is Error.NONE:
            yield f"topic {_name(topic.name)} ({counts.get(topic.name)} partitions)"


def _altered(request: IncrementalAlterConfigs, response: IncrementalAlterConfigsResponse, _: Records) -> Iterator[str]:
    accepted = _accepted(response)
    for resource in request.resources:
        if (resource.resource_type, resource.name) in accepted:
            changes = _some(f"{_word(ConfigOperation, each.operation)} {_name(each.name)}" for each in resource.configs)
            yield f"{_config_resource(resource.resource_type, resource.name)} ({changes})"


def _replaced(request: AlterConfigs, response: IncrementalAlterConfigsResponse, _: Records) -> Iterator[str]:
    accepted = _accepted(response)
    for resource in request.resources:
        if (resource.resource_type, resource.name) in accepted:
            configs = _some(_name(name) for name, _ in resource.configs) or "none"
            yield f"{_config_resource(resource.resource_type, resource.name)} (configs now: {configs})"


def _accepted(response: IncrementalAlterConfigsResponse) -> set[tuple[int, str]]:
    return {(each.resource_type, each.name) for each in response.resources if each.error is Error.NONE}


def _config_resource(code: int, name: str) -> str:
    kind = _word(ResourceType, code)
    return f"{kind} {_name(name)}" if name else f"all {kind}s"


def _reassigned(
    request: AlterPartitionReassignments, response: AlterPartitionReassignmentsResponse, _: Records
) -> Iterator[str]:
    refused = {
        (topic.name, each.partition_index)
        for topic in response.topics
        for each in topic.partitions
        if each.error is not Error.NONE
    }
    for topic in request.topics:
        for each in topic.partitions:
            if (topic.name, each.partition_index) not in refused:
                target = "given up" if each.replicas is None else f"to {_some(map(str, each.replicas))}"
                yield f"partition {_name(topic.name)}-{each.partition_index} ({target})"


def _elected(request: ElectLeaders, response: ElectLeadersResponse, _: Records) -> Iterator[str]:
    kind = _word(ElectionType, request.election_type)
    for topic in response.topics:
        for each in topic.partitions:
            if each.error is Error.NONE:
                yield f"partition {_name(topic.topic)}-{each.partition_index} ({kind})"


def _acl(entry: AclEntry) -> str:
    permission = "allow" if entry.permission_type == ALLOW else "deny"
    pattern = "" if entry.pattern_type == LITERAL else " prefixed"
    who = f"{_name(entry.principal)} from {_name(entry.host)}"
    what = f"{_word(AclResource, entry.resource_type)}{pattern} {_name(entry.resource_name)}"
    return f"ACL: {permission} {who} to {_word(Operation, entry.operation)} on {what}"


def _acls_created(request: CreateAcls, response: CreateAclsResponse, _: Records) -> Iterator[str]:
    for entry, result in zip(request.creations, response.results, strict=False):
        if result.error is Error.NONE:
            yield _acl(entry)


def _acls_deleted(request: DeleteAcls, response: DeleteAclsResponse, _: Records) -> Iterator[str]:
    for entry in dict.fromkeys(entry for result in response.results for entry in result.matching):
        yield _acl(entry)


def _quotas(request: AlterClientQuotas, response: AlterClientQuotasResponse, _: Records) -> Iterator[str]:
    refused = {_parts(each.entity) for each in response.entries if each.error is not Error.NONE}
    for entry in request.entries:
        if _parts(entry.entity) not in refused:
            keys = _some(_name(key) if value is not None else f"no {_name(key)}" for key, value in entry.ops)
            yield f"{_parts(entry.entity)} ({keys})"


def _parts(entity: QuotaParts) -> str:
    return " with ".join(f"{kind} {'by default' if name is None else _name(name)}" for kind, name in sorted(entity))


def _scram(
    request: AlterUserScramCredentials, response: AlterUserScramCredentialsResponse, _: Records
) -> Iterator[str]:
    accepted = {each.user for each in response.results if each.error is Error.NONE}
    for what, changes in (("set", request.upsertions), ("delete", request.deletions)):
        for each in changes:
            if each.name in accepted:
                yield f"user {_name(each.name)} ({what} {_SCRAM.get(each.mechanism, each.mechanism)})"


def _token(request: ChangeRequest, response: ChangeResponse, records: Records) -> Iterator[str]:
    for record in records:
        if isinstance(record, DelegationTokenRecord | RemoveDelegationTokenRecord):
            owner = record.owner if isinstance(record, DelegationTokenRecord) else ""
            yield f"token {_name(record.token_id)}" + (f" of {_name(owner)}" if owner else "")


def _features(request: UpdateFeatures, response: ChangeResponse, _: Records) -> Iterator[str]:
    for update in request.updates:
        yield f"feature {_name(update.name)} (level {update.level})"


def _registrations(request: ChangeRequest, response: ChangeResponse, records: Records) -> Iterator[str]:
    for record in records:
        if isinstance(record, BrokerRegistrationChangeRecord):
            yield f"broker {record.broker_id} ({', '.join(_registration_change(record))})"


def _registration_change(record: BrokerRegistrationChangeRecord) -> Iterator[str]:
    if record.fenced:
        yield "fenced" if record.fenced > 0 else "unfenced"
    if record.in_controlled_shutdown:
        yield "in controlled shutdown"
    if record.log_dirs:
        yield f"log directories left: {_some(map(id_text, record.log_dirs))}"
    if record.cordoned_log_dirs is not None:
        yield f"cordoned log directories: {_some(map(id_text, record.cordoned_log_dirs)) or 'none'}"


def _broker(request: RegisterBroker, response: ChangeResponse, _: Records) -> Iterator[str]:
    where = _some(f"{_name(at.name)}://{_name(at.host)}:{at.port}" for at in request.listeners)
    yield f"broker {request.broker_id} (incarnation {id_text(request.incarnation_id)}, {where})"


def _controller(request: RegisterController, response: ChangeResponse, _: Records) -> Iterator[str]:
    where = _some(f"{_name(at.name)}://{_name(at.host)}:{at.port}" for at in request.listeners)
    yield f"controller {request.controller_id} (incarnation {id_text(request.incarnation_id)}, {where})"


def _voter(
    request: AddRaftVoterRequest | RemoveRaftVoterRequest, response: ChangeResponse, _: Records
) -> Iterator[str]:
    yield f"voter {request.voter.node_id} (directory {id_text(request.voter.directory_id)})"


def _updated_voter(request: UpdateRaftVoterRequest, response: ChangeResponse, _: Records) -> Iterator[str]:
    yield f"voter {request.voter.key.node_id} ({_some(map(str, request.voter.endpoints))})"


# Any: each function takes the class that its row names, and a dictionary cannot tie the two.
_WORDS: Final[dict[type[Any], Callable[[Any, Any, tuple[Any, ...]], Iterable[str]]]] = {
    CreateTopics: _created,
    DeleteTopics: _deleted,
    CreatePartitions: _grown,
    IncrementalAlterConfigs: _altered,
    AlterConfigs: _replaced,
    AlterPartitionReassignments: _reassigned,
    ElectLeaders: _elected,
    CreateAcls: _acls_created,
    DeleteAcls: _acls_deleted,
    AlterClientQuotas: _quotas,
    AlterUserScramCredentials: _scram,
    CreateDelegationToken: _token,
    RenewDelegationToken: _token,
    ExpireDelegationToken: _token,
    UpdateFeatures: _features,
    BrokerHeartbeat: _registrations,
    SessionTimeout: _registrations,
    RegisterBroker: _broker,
    RegisterController: _controller,
    UnregisterBroker: lambda request, *_: (f"broker {request.broker_id}",),
    UnregisterController: lambda request, *_: (f"controller {request.controller_id}",),
    AddRaftVoterRequest: _voter,
    RemoveRaftVoterRequest: _voter,
    UpdateRaftVoterRequest: _updated_voter,
    UpgradeKRaftVersionRequest: lambda request, *_: (f"feature kraft.version (level {request.kraft_version})",),
}
"""Not AlterPartition, AllocateProducerIds and AssignReplicasToDirs: brokers send these all the time."""
