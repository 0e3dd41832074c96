"""An image as `kafka-metadata-shell ... tree /image` prints it: what Kafka's own replay made of the same bytes.

Not compared: quotas (the shell prints each twice), delegation tokens (its text is garbled), ZooKeeper's migration.
"""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path

from metadata_log.ids import id_text
from metadata_log.image import (
    BrokerRegistration,
    ControllerRegistration,
    Listener,
    MetadataImage,
    PartitionImage,
    ResourceType,
    SupportedFeature,
)
from metadata_log.records.levels import metadata_version

Tree = dict[tuple[str, ...], str]
"""Leaf by path; an inner node without children has no entry."""

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_RESOURCES = {
    0: "UNKNOWN",
    1: "ANY",
    2: "TOPIC",
    3: "GROUP",
    4: "CLUSTER",
    5: "TRANSACTIONAL_ID",
    6: "DELEGATION_TOKEN",
}
_PATTERNS = {3: "LITERAL", 4: "PREFIXED"}
_OPERATIONS = {2: "ALL", 3: "READ", 4: "WRITE", 5: "CREATE", 6: "DELETE", 7: "ALTER", 8: "DESCRIBE"}
_PERMISSIONS = {2: "DENY", 3: "ALLOW"}
_MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}


def read_tree(path: Path) -> Tree:
    """What the shell printed, of the parts that are compared; empty when it printed before it had read the file."""
    tree: Tree = {}
    above: list[str] = []
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        depth = _depth(line)
        if _depth(following) <= depth and not line.endswith(":"):
            tree[tuple(above[:depth])] = line.strip()
        above[depth:] = [line.strip().removesuffix(":")]
    return {path: _as_in_4_3(leaf) for path, leaf in tree.items() if _is_compared(path) and leaf != "-1"}


def _as_in_4_3(leaf: str) -> str:
    """Kafka 3.9 knows no cordoned directories; 4.3 wraps the metadata.version. A producer id of -1 is none."""
    if leaf.startswith("BrokerRegistration(") and "cordonedDirectories=" not in leaf:
        return f"{leaf.removesuffix(')')}, cordonedDirectories=null)"
    return leaf.removeprefix("Optional[").removesuffix("]") if leaf.startswith("Optional[") else leaf


def _depth(line: str) -> int:
    return (len(line) - len(line.lstrip())) // 2


def _is_compared(path: tuple[str, ...]) -> bool:
    return (
        path[0] == "image"
        and path[1] not in ("clientQuotas", "delegationToken")
        and path[-1] not in ("zkMigrationState", "isMigratingZkBroker")
    )


def tree_of(image: MetadataImage) -> Tree:
    """The same parts of our image."""
    tree: Tree = {}
    _nodes(image, tree)
    _topics(image, tree)
    _settings(image, tree)
    _access(image, tree)
    return tree


def provenance_of(image: MetadataImage) -> str:
    """The leaf that says where the image ends. (Of a checkpoint, the shell gives the file's own offsets.)"""
    end = image.offset_and_epoch
    return f"offset {end.offset - 1}, epoch {end.epoch}, time {_time(image.last_contained_timestamp_ms)}[UTC]"


def _time(timestamp_ms: int) -> str:
    text = datetime.fromtimestamp(timestamp_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    millis = timestamp_ms % 1000
    return f"{text}.{millis:03d}Z" if millis else f"{text}Z"


def _nodes(image: MetadataImage, tree: Tree) -> None:
    for broker in image.cluster.brokers.values():
        tree["image", "cluster", "brokers", str(broker.broker_id)] = _broker(broker)
    for controller in image.cluster.controllers.values():
        tree["image", "cluster", "controllers", str(controller.controller_id)] = _controller(controller)


def _broker(broker: BrokerRegistration) -> str:
    rack = "Optional.empty" if broker.rack is None else f"Optional[{broker.rack}]"
    text = (
        f"BrokerRegistration(id={broker.broker_id}, epoch={broker.epoch}, "
        f"incarnationId={id_text(broker.incarnation_id)}, listeners=[{_listeners(broker.listeners)}], "
        f"supportedFeatures={{{_features(broker.supported_features)}}}, "
        f"rack={rack}, fenced={_bool(broker.fenced)}, inControlledShutdown={_bool(broker.in_controlled_shutdown)}, "
        f"isMigratingZkBroker={_bool(broker.is_migrating_zk_broker)}, directories={_ids(broker.directories)}"
    )
    cordoned = broker.cordoned_directories
    return f"{text}, cordonedDirectories={'null' if cordoned is None else _ids(cordoned)})"


def _controller(controller: ControllerRegistration) -> str:
    return (
        f"ControllerRegistration(id={controller.controller_id}, incarnationId={id_text(controller.incarnation_id)}, "
        f"zkMigrationReady={_bool(controller.zk_migration_ready)}, listeners=[{_listeners(controller.listeners)}], "
        f"supportedFeatures={{{_features(controller.supported_features)}}})"
    )


def _listeners(listeners: tuple[Listener, ...]) -> str:
    return ", ".join(
        f"Endpoint(listenerName='{listener.name}', securityProtocol={_PROTOCOLS[listener.security_protocol]}, "
        f"host='{listener.host}', port={listener.port})"
        for listener in listeners
    )


def _features(features: tuple[SupportedFeature, ...]) -> str:
    return ", ".join(
        f"{feature.name}: {feature.min_version}"
        + (f"-{feature.max_version}" if feature.max_version != feature.min_version else "")
        for feature in features
    )


def _topics(image: MetadataImage, tree: Tree) -> None:
    for topic in image.topics.by_id.values():
        assert image.topics.by_name[topic.name] == topic.topic_id
        for node in (("byId", id_text(topic.topic_id)), ("byName", topic.name)):
            tree["image", "topics", *node, "id"] = id_text(topic.topic_id)
            tree["image", "topics", *node, "name"] = topic.name
            for partition in topic.partitions:
                tree["image", "topics", *node, str(partition.partition_id)] = _partition(partition)


def _partition(partition: PartitionImage) -> str:
    return (
        f"PartitionRegistration(replicas={_numbers(partition.replicas)}, directories={_ids(partition.directories)}, "
        f"isr={_numbers(partition.isr)}, removingReplicas={_numbers(partition.removing)}, "
        f"addingReplicas={_numbers(partition.adding)}, elr={_numbers(partition.elr)}, "
        f"lastKnownElr={_numbers(partition.last_known_elr)}, leader={partition.leader}, "
        f"leaderRecoveryState={('RECOVERED', 'RECOVERING')[partition.leader_recovery_state]}, "
        f"leaderEpoch={partition.leader_epoch}, partitionEpoch={partition.partition_epoch})"
    )


def _settings(image: MetadataImage, tree: Tree) -> None:
    for resource, configs in image.configs.by_resource.items():
        kind = ResourceType(resource.resource_type).name
        node = f"{kind}:{resource.name}" if resource.name else kind
        for name, value in configs.items():
            tree["image", "configs", node, name] = value
    for name, level in image.features.levels.items():
        tree["image", "features", f"finalized_{name}"] = str(level)
    if image.features.metadata_version is not None:
        tree["image", "features", "metadataVersion"] = str(metadata_version(image.features.metadata_version))
    if image.producer_ids.next_producer_id >= 0:
        tree["image", "producerIds", "nextProducerId"] = str(image.producer_ids.next_producer_id)


def _access(image: MetadataImage, tree: Tree) -> None:
    for acl_id, acl in image.acls.by_id.items():
        tree["image", "acls", "byId", id_text(acl_id)] = (
            f"StandardAcl[resourceType={_RESOURCES[acl.resource_type]}, resourceName={acl.resource_name}, "
            f"patternType={_PATTERNS[acl.pattern_type]}, principal={acl.principal}, host={acl.host}, "
            f"operation={_OPERATIONS[acl.operation]}, permissionType={_PERMISSIONS[acl.permission_type]}]"
        )
    for user, credential in image.scram.credentials.items():
        tree["image", "scram", _MECHANISMS[user.mechanism], user.name] = (
            f"ScramCredentialData(salt={credential.salt.hex()}, storedKey={credential.stored_key.hex()}, "
            f"serverKey={credential.server_key.hex()}, iterations={credential.iterations})"
        )


def _bool(value: bool) -> str:
    return str(value).lower()


def _ids(ids: tuple[bytes, ...]) -> str:
    return f"[{', '.join(map(id_text, ids))}]"


def _numbers(numbers: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, numbers))}]"
