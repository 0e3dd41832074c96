"""An image as a tree of names, with the paths and words of Kafka's metadata shell (4.3), so that both can be compared.

Decides: names, order and spelling. Must not know: where the image came from.

Kafka's slips are kept, because the outputs must be equal: a quota for a default entity is shown under the names of its
other parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from metadata_log import acl_codes
from metadata_log.ids import id_text
from metadata_log.image import (
    AclEntry,
    BrokerRegistration,
    ConfigResource,
    ControllerRegistration,
    DelegationToken,
    Listener,
    MetadataImage,
    PartitionImage,
    QuotaEntity,
    ResourceType,
    ScramCredential,
    SupportedFeature,
    TopicImage,
)
from metadata_log.records.levels import plain_level_name

Node = Mapping[str, "Node"] | str
"""A directory of nodes by name, or the text of a file."""

_PROTOCOLS: Final = {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}
_RECOVERY: Final = {0: "RECOVERED", 1: "RECOVERING"}
_SCRAM: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
_CONFIGURED: Final = {int(one): one.name for one in ResourceType}
_RESOURCES: Final = ("UNKNOWN", "ANY", *(one.name for one in acl_codes.ResourceType))
_PATTERNS: Final = ("UNKNOWN", "ANY", "MATCH", "LITERAL", "PREFIXED")
_OPERATIONS: Final = ("UNKNOWN", "ANY", *(one.name for one in acl_codes.Operation))
_PERMISSIONS: Final = ("UNKNOWN", "ANY", "DENY", "ALLOW")


def image_tree(image: MetadataImage) -> Mapping[str, Node]:
    """Return the tree that Kafka's shell has under `/image`."""
    return {
        "acls": {"byId": {id_text(acl_id): _acl(acl) for acl_id, acl in image.acls.by_id.items()}},
        "clientQuotas": _QuotaNames(image),
        "cluster": {
            "brokers": {str(node_id): _broker(broker) for node_id, broker in image.cluster.brokers.items()},
            "controllers": {str(node_id): _controller(one) for node_id, one in image.cluster.controllers.items()},
        },
        "configs": {_resource(name): dict(values.items()) for name, values in image.configs.by_resource.items()},
        "delegationToken": {key: _token(token) for key, token in image.delegation_tokens.by_id.items()},
        "features": _features(image),
        "producerIds": {"nextProducerId": str(image.producer_ids.next_producer_id)},
        "provenance": _provenance(image),
        "scram": _credentials(image),
        "topics": {
            "byId": {id_text(topic.topic_id): topic_node(topic) for topic in image.topics.by_id.values()},
            "byName": {topic.name: topic_node(topic) for topic in image.topics.by_id.values()},
        },
    }


def tree_lines(node: Node, depth: int = 0) -> Iterator[str]:
    """Yield the lines of the shell's `tree`: two spaces a level, names sorted, each followed by a colon."""
    indent = "  " * depth
    if isinstance(node, str):
        yield indent + node
        return
    for name in sorted(node):
        yield f"{indent}{name}:"
        yield from tree_lines(node[name], depth + 1)


class _QuotaNames(dict[str, Node]):
    """Quotas by entity. If two entities have the same name here, both lines are shown, as in Kafka's shell."""

    def __init__(self, image: MetadataImage) -> None:
        by_entity = image.client_quotas.by_entity
        self._names = []
        for entity in by_entity:
            named = tuple((kind, name) for kind, name in entity.parts if name is not None)
            text = ",".join(f"{kind}({name})" for kind, name in named)
            values = by_entity.get(QuotaEntity(parts=named))
            self._names.append(text)
            self[text] = {} if values is None else {key: _double(value) for key, value in values.items()}

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)


def _features(image: MetadataImage) -> dict[str, Node]:
    level = image.features.metadata_version
    shown: dict[str, Node] = {f"finalized_{name}": str(at) for name, at in image.features.levels.items()}
    return shown | {"metadataVersion": "Optional.empty" if level is None else f"Optional[{plain_level_name(level)}]"}


def _provenance(image: MetadataImage) -> str:
    end = image.offset_and_epoch
    seconds, millis = divmod(image.last_contained_timestamp_ms, 1000)
    fraction = f".{millis:03d}".rstrip("0") if millis else ""
    try:
        at = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S") + fraction
    except (ValueError, OverflowError, OSError):  # corruption: a year beyond the calendar
        at = f"{image.last_contained_timestamp_ms} ms since 1970 "
    return f"offset {end.offset - 1}, epoch {end.epoch}, time {at}Z[UTC]"


def topic_node(topic: TopicImage) -> Mapping[str, Node]:
    """Return the directory that Kafka's shell has for one topic."""
    partitions: dict[str, Node] = {str(one.partition_id): _partition(one) for one in topic.partitions}
    return partitions | {"id": id_text(topic.topic_id), "name": topic.name}


def _partition(one: PartitionImage) -> str:
    directories = ", ".join(map(id_text, one.directories))
    return (
        f"PartitionRegistration(replicas={list(one.replicas)}, directories=[{directories}], isr={list(one.isr)}, "
        f"removingReplicas={list(one.removing)}, addingReplicas={list(one.adding)}, elr={list(one.elr)}, "
        f"lastKnownElr={list(one.last_known_elr)}, leader={one.leader}, "
        f"leaderRecoveryState={_number(_RECOVERY, one.leader_recovery_state)}, leaderEpoch={one.leader_epoch}, "
        f"partitionEpoch={one.partition_epoch})"
    )


def _broker(broker: BrokerRegistration) -> str:
    rack = "Optional.empty" if broker.rack is None else f"Optional[{broker.rack}]"
    cordoned = broker.cordoned_directories
    return (
        f"BrokerRegistration(id={broker.broker_id}, epoch={broker.epoch}, "
        f"incarnationId={id_text(broker.incarnation_id)}, listeners=[{_listeners(broker.listeners)}], "
        f"supportedFeatures={{{_ranges(broker.supported_features)}}}, rack={rack}, fenced={_bool(broker.fenced)}, "
        f"inControlledShutdown={_bool(broker.in_controlled_shutdown)}, "
        f"isMigratingZkBroker={_bool(broker.is_migrating_zk_broker)}, "
        f"directories=[{', '.join(map(id_text, broker.directories))}], "
        f"cordonedDirectories={'null' if cordoned is None else '[' + ', '.join(map(id_text, cordoned)) + ']'})"
    )


def _controller(one: ControllerRegistration) -> str:
    return (
        f"ControllerRegistration(id={one.controller_id}, incarnationId={id_text(one.incarnation_id)}, "
        f"zkMigrationReady={_bool(one.zk_migration_ready)}, listeners=[{_listeners(one.listeners)}], "
        f"supportedFeatures={{{_ranges(one.supported_features)}}})"
    )


def _listeners(listeners: tuple[Listener, ...]) -> str:
    return ", ".join(
        f"Endpoint(listenerName='{one.name}', securityProtocol={_number(_PROTOCOLS, one.security_protocol)}, "
        f"host='{one.host}', port={one.port})"
        for one in listeners
    )


def _ranges(features: tuple[SupportedFeature, ...]) -> str:
    return ", ".join(f"{one.name}: {one.min_version}-{one.max_version}" for one in features)


def _resource(resource: ConfigResource) -> str:
    kind = _number(_CONFIGURED, resource.resource_type)
    return f"{kind}:{resource.name}" if resource.name else kind


def _acl(acl: AclEntry) -> str:
    return (
        f"StandardAcl[resourceType={_word(_RESOURCES, acl.resource_type)}, resourceName={acl.resource_name}, "
        f"patternType={_word(_PATTERNS, acl.pattern_type)}, principal={acl.principal}, host={acl.host}, "
        f"operation={_word(_OPERATIONS, acl.operation)}, permissionType={_word(_PERMISSIONS, acl.permission_type)}]"
    )


def _word(words: Sequence[str], code: int) -> str:
    """Return the word for a code as Kafka reads it: an unknown code gives the first word, UNKNOWN."""
    return words[code] if 0 <= code < len(words) else words[0]


def _number(words: Mapping[int, str], code: int) -> str:
    """Return the word for a number in a record, or the number itself if it has none."""
    return words.get(code, str(code))


def _credentials(image: MetadataImage) -> dict[str, Node]:
    """Return SCRAM credentials by mechanism and user."""
    found: dict[str, dict[str, Node]] = {text: {} for text in _SCRAM.values()}
    for user, value in image.scram.credentials.items():
        found.setdefault(_number(_SCRAM, user.mechanism), {})[user.name] = _credential(value)
    return dict(found)


def _token(token: DelegationToken) -> str:
    return (
        f"DelegationTokenDatatokenId={token.token_id}(owner={token.owner}(tokenRequester={token.requester}"
        f"(renewers={' '.join(token.renewers)}, issueTimestamp={token.issue_timestamp}, "
        f"maxTimestamp={token.max_timestamp}), expiryTimestamp={token.expiration_timestamp}"
    )


def _credential(credential: ScramCredential) -> str:
    return (
        f"ScramCredentialData(salt={credential.salt.hex()}, storedKey={credential.stored_key.hex()}, "
        f"serverKey={credential.server_key.hex()}, iterations={credential.iterations})"
    )


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _double(value: float) -> str:
    """Return a number as Java prints a double of ordinary size."""
    return repr(float(value))
