"""Rules for the values of a record, given the metadata before it: names, epochs, resources, existing brokers.

Decides: which values no controller of Kafka writes, although replay accepts most of them. Must not know: how records
are replayed, and their positions.

Sources: the checks of Kafka 4.3's controller before it writes (ReplicationControlManager, ConfigurationControlManager,
ClusterControlManager), and a value at which its replay stops (a broker's config whose name is no number).
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Final, TypeAlias

from metadata_log.ids import DirectoryId, NodeId, id_text, is_reserved_directory_id
from metadata_log.image import NO_LEADER, ClusterImage, PartitionImage, ResourceType
from metadata_log.image.access import CLIENT_QUOTAS, IP, IP_QUOTAS, PRODUCER_ID_BLOCK, QUOTA_TYPES
from metadata_log.java_text import java_int
from metadata_log.records import (
    BrokerFeature,
    ClientQuotaRecord,
    ConfigRecord,
    ControllerFeature,
    DelegationTokenRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UserScramCredentialRecord,
)
from metadata_log.scram import FEWEST_ITERATIONS, KEY_SIZES, MOST_ITERATIONS

KindAndFault: TypeAlias = tuple[str, str]
"""The finding kind of a broken rule, and the fault as half a sentence."""

_RESOURCE_TYPES: Final = frozenset(map(int, ResourceType))


def config_fault(record: ConfigRecord, topics: Container[str]) -> str | None:
    """Return the fault in the resource of a config, or None. Removing a value is harmless. `topics`: by name."""
    kind, name = record.resource_type, record.resource_name
    if kind not in _RESOURCE_TYPES:
        return f"Kafka has no resource type {kind}, which {name!r} has: its replay makes it type 0, unknown"
    if record.value is None:
        return None
    if kind == ResourceType.TOPIC and name not in topics:
        return f"there is no topic {name!r}"
    if kind == ResourceType.BROKER and name and not _is_number(name):
        return f"a broker's config is of its id, and {name!r} is no number"
    return None


def _is_number(name: str) -> bool:
    return java_int(name, 32) is not None


def broker_fault(record: RegisterBrokerRecord, cluster: ClusterImage, offsets: range | None) -> KindAndFault | None:
    """Return the fault in a registration of a broker, after those in `cluster`, or None.

    A broker's epoch is the offset of its record, or of its batch, where the broker's partitions may come first. So
    `offsets` must contain it; a checkpoint has no such range. An incarnation that registers again keeps its epoch.
    """
    broker_id, epoch = record.broker_id, record.broker_epoch
    known = cluster.brokers.get(broker_id)
    if known is not None and epoch < known.epoch:
        fault = f"broker {broker_id} registers with epoch {epoch}, after it had epoch {known.epoch}"
        return "broker_epoch_went_back", fault
    is_again = known is not None and (known.incarnation_id, known.epoch) == (record.incarnation_id, epoch)
    if offsets is not None and epoch not in offsets and not is_again:
        fault = f"broker {broker_id} registers with epoch {epoch}, which is not the record's offset as it usually is"
        return "broker_epoch_not_offset", fault
    if broker_id < 0:
        return "strange_value", f"a broker registers with id {broker_id}"
    strange = _strange_directory(record) or _strange_listener(record) or _strange_feature(record.features)
    return None if strange is None else ("strange_value", f"broker {broker_id} names {strange}")


def controller_fault(record: RegisterControllerRecord) -> str | None:
    """Return the fault in a controller's registration by itself, or None. A node.id is at least 0."""
    if record.controller_id < 0:
        return f"a controller registers with id {record.controller_id}"
    strange = _strange_listener(record) or _strange_feature(record.features)
    return None if strange is None else f"controller {record.controller_id} names {strange}"


def _strange_directory(record: RegisterBrokerRecord) -> str | None:
    named = record.log_dirs or ()
    for directory in named:
        if is_reserved_directory_id(directory):
            return f"directory {id_text(directory)}, an id that is reserved"
        if named.count(directory) > 1:
            return f"directory {id_text(directory)} twice"
    return None


def _strange_listener(record: RegisterBrokerRecord | RegisterControllerRecord) -> str | None:
    """Return the fault in a node's listeners, or None: controllers key them by name."""
    names = [endpoint.name for endpoint in record.end_points]
    twice = next((name for name in names if names.count(name) > 1), None)
    return None if twice is None else f"listener {twice} twice"


def _strange_feature(features: tuple[BrokerFeature | ControllerFeature, ...]) -> str | None:
    for feature in features:
        lowest, highest = feature.min_supported_version, feature.max_supported_version
        if not 0 <= lowest <= highest:
            return f"levels {lowest} to {highest} of {feature.name}, which are no range"
    return None


def partition_faults(
    before: PartitionImage | None, after: PartitionImage, cluster: ClusterImage, *, is_new_to_log: bool
) -> dict[str, str]:
    """Return the finding kinds of the rules that a change of a partition breaks, each with words for its wrong value.

    A broker that was unregistered remains a replica. So only new replicas must be registered: those added since
    `before`, and all replicas of a new partition (`is_new_to_log`, never in a checkpoint).
    """
    broken: dict[str, str] = {}
    if before is not None:
        for what, old, new in (
            ("leader epoch", before.leader_epoch, after.leader_epoch),
            ("partition epoch", before.partition_epoch, after.partition_epoch),
        ):
            if new < old:
                broken["partition_epoch_went_back"] = f"{what} {new}, after {old}"
    elif min(after.leader_epoch, after.partition_epoch) < 0:
        broken["impossible_record"] = f"leader epoch {after.leader_epoch} and partition epoch {after.partition_epoch}"
    if after.partition_id < 0:
        broken["impossible_record"] = f"the number {after.partition_id}"
    known = set(after.replicas) if before is None and not is_new_to_log else set[int]()
    if before is not None:
        known |= set(before.replicas)
    strangers = [broker for broker in after.replicas if broker not in known and broker not in cluster.brokers]
    if after.leader != NO_LEADER and after.leader in after.replicas and after.leader not in cluster.brokers:
        broken["unknown_replica"] = f"leader {after.leader}, and no such broker is registered"
    elif strangers:
        names = ", ".join(map(str, strangers))
        broken["unknown_replica"] = f"{names} among its replicas, and no such broker is registered"
    return broken


def first_epoch_fault(after: PartitionImage) -> dict[str, str]:
    """Return the fault in the epochs of a new partition, in the form of `partition_faults`.

    A controller creates a partition with both epochs 0. PartitionChangeRecords, which state no epoch, raise them by
    one. Only partitions from ZooKeeper began with other epochs.
    """
    if after.leader_epoch <= 0 and after.partition_epoch <= 0:
        return {}
    epochs = f"leader epoch {after.leader_epoch} and partition epoch {after.partition_epoch}"
    return {"partition_epoch_not_zero": f"{epochs}, where a new one's are 0"}


def directory_fault(
    before: PartitionImage | None, after: PartitionImage, was_registered: Callable[[NodeId, DirectoryId], bool]
) -> dict[str, str]:
    """Return the fault in the log directories of newly assigned replicas, in the form of `partition_faults`.

    A broker assigns its replicas to its own directories (KIP-858). It may have lost the directory meanwhile. So the
    directory need not be among the registered ones, but `was_registered` must know it.
    """
    if before is not None and before.directories is after.directories and before.replicas is after.replicas:
        return {}
    for broker, directory in zip(after.replicas, after.directories, strict=True):
        if is_reserved_directory_id(directory) or was_registered(broker, directory):
            continue
        if before is None or before.directory_of(broker) != directory:
            where = f"directory {id_text(directory)}, which that broker was never registered with"
            return {"unknown_directory": f"its replica on broker {broker} in {where}"}
    return {}


def producer_fault(record: ProducerIdsRecord, cluster: ClusterImage) -> str | None:
    """Return the fault in the owner of a block of producer ids, after the registrations in `cluster`, or None.

    A controller gives a block to a broker that states its epoch in the request (ProducerIdControlManager).
    """
    broker = cluster.brokers.get(record.broker_id)
    if broker is None:
        return f"a block of producer ids for broker {record.broker_id}, and no such broker is registered"
    if broker.epoch != record.broker_epoch:
        epochs = f"in epoch {record.broker_epoch}, and its epoch is {broker.epoch}"
        return f"a block of producer ids for broker {record.broker_id} {epochs}"
    return None


def block_fault(record: ProducerIdsRecord, end: int | None) -> str | None:
    """Return the fault in the end of a block of producer ids, or None. All blocks have one size.

    `end`: the end of the block before; -1: this is the first; None: unknown. A block that does not rise cannot be
    replayed, and is reported there.
    """
    if end is None or record.next_producer_id <= end or record.next_producer_id == max(end, 0) + PRODUCER_ID_BLOCK:
        return None
    before = f"after {end}" if end >= 0 else "as the first"
    return f"the next producer id {record.next_producer_id} {before}: each block has {PRODUCER_ID_BLOCK}"


def credential_fault(record: UserScramCredentialRecord) -> str | None:
    """Return the fault in a SCRAM credential, or None (ScramControlManager, and Kafka's formatter)."""
    size = KEY_SIZES.get(record.mechanism)
    if size is None:
        return f"a credential of mechanism {record.mechanism}, which Kafka does not have"
    if record.iterations < FEWEST_ITERATIONS:
        return f"a credential of {record.iterations} iterations, where {FEWEST_ITERATIONS} are the fewest"
    if record.iterations > MOST_ITERATIONS:
        return f"a credential of {record.iterations} iterations, where {MOST_ITERATIONS} are the most"
    if not record.name:
        return "a credential of a user without a name"
    sizes = len(record.stored_key), len(record.server_key)
    if sizes != (size, size):
        return f"a credential with keys of {sizes[0]} and {sizes[1]} bytes, where those of its mechanism have {size}"
    return None


def quota_fault(record: ClientQuotaRecord) -> str | None:
    """Return the fault in a quota's entity or key, or None (ClientQuotaControlManager).

    Its value is not checked: a controller of Kafka 4.3 accepts NaN, and older ones accepted negative values.
    """
    types = [part.entity_type for part in record.entity]
    if not types:
        return "a quota without an entity"
    unknown = next((name for name in types if name not in QUOTA_TYPES), None)
    if unknown is not None:
        return f"a quota of a {unknown!r}, which is no user, client-id or ip"
    if len(set(types)) < len(types):
        return f"a quota of {' and '.join(types)}: one type occurs twice, and only one of them counts"
    if IP in types and len(types) > 1:
        return f"a quota of {' and '.join(types)}: an address is combined with no other type"
    keys = IP_QUOTAS if IP in types else CLIENT_QUOTAS
    if not record.remove and record.key not in keys:
        return f"a quota of {record.key!r}, of which {' and '.join(types)} have none"
    nameless = next((part.entity_type for part in record.entity if part.entity_name == ""), None)
    return None if nameless is None else f"a quota of a {nameless} whose name is empty: the default's is null"


def token_fault(record: DelegationTokenRecord) -> str | None:
    """Return the fault in a delegation token, or None (DelegationTokenControlManager).

    It must have an id, and an owner with a type before a colon. Issue and expiration must not be after its maximum
    time.
    """
    if not record.token_id:
        return f"a token of {record.owner!r} without an id"
    if ":" not in record.owner:
        return f"the token {record.token_id!r} of {record.owner!r}, which has no colon behind its type"
    if min(record.issue_timestamp, record.expiration_timestamp) < 0:
        when = f"issued at {record.issue_timestamp} ms and expires at {record.expiration_timestamp} ms"
        return f"the token {record.token_id!r} is {when}, before 1970"
    if record.issue_timestamp > record.max_timestamp:
        issued = f"{record.issue_timestamp} ms, after its maximum, {record.max_timestamp} ms"
        return f"the token {record.token_id!r} is issued at {issued}"
    if record.expiration_timestamp > record.max_timestamp:
        until = f"{record.expiration_timestamp} ms, after its maximum, {record.max_timestamp} ms"
        return f"the token {record.token_id!r} expires at {until}"
    return None
