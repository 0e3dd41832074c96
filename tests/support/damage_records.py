"""Impossible records, appended to a log in one valid batch, as a faulty controller would."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metadata_log.format.batch import batch_values, iter_batches
from metadata_log.ids import (
    METADATA_TOPIC_ID,
    UNASSIGNED_DIRECTORY_ID,
    ZERO_TOPIC_ID,
    DirectoryId,
    NodeId,
    TopicId,
    Uuid,
)
from metadata_log.records import (
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    EndTransactionRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnregisterBrokerRecord,
    decode_record,
    encode_record,
)
from tests.support.damage import Cluster, Damage, Planted, append

LEADER = 3
"""The controller of `basic` that led: its log is the longest."""
NEW_ID = TopicId(b"an id of our own")


def _topics(cluster: Cluster) -> tuple[dict[str, TopicId], list[tuple[str, TopicId]]]:
    """Return the topics that exist at the log's end, and those that were removed."""
    data = cluster.segment(LEADER).read_bytes()
    live: dict[TopicId, str] = {}
    removed: list[tuple[str, TopicId]] = []
    for position, header in iter_batches(data):
        for value in [] if header.is_control else batch_values(data, header, position):
            record = decode_record(value)
            if isinstance(record, TopicRecord):
                live[record.topic_id] = record.name
            elif isinstance(record, RemoveTopicRecord):
                removed.append((live.pop(record.topic_id), record.topic_id))
    return {name: topic_id for topic_id, name in live.items()}, removed


def partition_record(topic_id: TopicId, **fields: object) -> PartitionRecord:
    """Return a valid partition of brokers 11 and 12, except for these fields."""
    sound: dict[str, object] = {
        "partition_id": 0,
        "topic_id": topic_id,
        "replicas": (11, 12),
        "isr": (11, 12),
        "removing_replicas": (),
        "adding_replicas": (),
        "leader": 11,
        "leader_epoch": 0,
        "partition_epoch": 0,
    }
    return PartitionRecord(**(sound | fields))  # type: ignore[arg-type]


_UNJUDGED = frozenset({"partitions_not_judged"})


def appended(
    name: str,
    kind: str,
    records: Callable[[Cluster], Sequence[MetadataRecord | bytes]],
    *,
    index: int = 0,
    counts: bool = True,
    also: frozenset[str] = frozenset(),
) -> Damage:
    """Append a batch with these records to the leader's log; the record at `index` must be found wrong."""

    def plant(cluster: Cluster) -> Planted:
        path = cluster.segment(LEADER)
        given = [
            record if isinstance(record, bytes) else encode_record(record, _VERSIONS.get(type(record), 0))
            for record in records(cluster)
        ]
        offset, position = append(path, given)
        return Planted(kind, LEADER, path, offset + index, position, also, counts=counts)

    return Damage(name, "basic", plant)


_VERSIONS: dict[type[object], int] = {PartitionRecord: 2, PartitionChangeRecord: 2, RegisterBrokerRecord: 3}


def live_topic(cluster: Cluster) -> tuple[str, TopicId]:
    """Return name and id of a topic that exists at the log's end."""
    return sorted(_topics(cluster)[0].items())[0]


def _gone(cluster: Cluster) -> tuple[str, TopicId]:
    return _topics(cluster)[1][0]


def made_topic(**fields: object) -> Callable[[Cluster], Sequence[MetadataRecord]]:
    """Return a new topic with a partition that is valid except for these fields."""
    return lambda cluster: [TopicRecord(name="new", topic_id=NEW_ID), partition_record(NEW_ID, **fields)]


def named_topic(name: str) -> Sequence[MetadataRecord]:
    """Return a new topic of this name with a valid partition."""
    return [TopicRecord(name=name, topic_id=NEW_ID), partition_record(NEW_ID)]


def broker_record(broker_id: int, epoch: int, directories: tuple[DirectoryId, ...] = ()) -> RegisterBrokerRecord:
    """Return a broker registration."""
    return RegisterBrokerRecord(
        broker_id=NodeId(broker_id),
        incarnation_id=Uuid(b"an incarnation.."),
        broker_epoch=epoch,
        end_points=(),
        features=(),
        rack=None,
        log_dirs=directories,
    )


RECORD_DAMAGE = [
    appended("id_of_live_topic", "topic_id_reused", lambda c: [TopicRecord(name="new", topic_id=live_topic(c)[1])]),
    appended("id_of_removed_topic", "topic_id_reused", lambda c: [TopicRecord(name="new", topic_id=_gone(c)[1])]),
    appended("null_id", "topic_id_null", lambda c: [TopicRecord(name="new", topic_id=ZERO_TOPIC_ID)]),
    appended("sentinel_id", "topic_id_sentinel", lambda c: [TopicRecord(name="new", topic_id=METADATA_TOPIC_ID)]),
    appended("name_twice", "topic_name_reused", lambda c: [TopicRecord(name=live_topic(c)[0], topic_id=NEW_ID)]),
    appended("partition_of_nothing", "unknown_topic", lambda c: [partition_record(NEW_ID)]),
    appended("removal_of_nothing", "unknown_topic", lambda c: [RemoveTopicRecord(topic_id=NEW_ID)]),
    appended(
        "change_after_removal",
        "change_after_removal",
        lambda c: [PartitionChangeRecord(partition_id=0, topic_id=_gone(c)[1], leader=NodeId(11))],
    ),
    appended("removal_twice", "change_after_removal", lambda c: [RemoveTopicRecord(topic_id=_gone(c)[1])]),
    appended(
        "change_of_no_partition",
        "unknown_partition",
        lambda c: [PartitionChangeRecord(partition_id=99, topic_id=live_topic(c)[1], leader=NodeId(11))],
    ),
    appended("isr_outside", "isr_outside_replicas", made_topic(isr=(11, 13)), index=1),
    appended("leader_outside", "leader_outside_replicas", made_topic(leader=13), index=1),
    appended("leader_not_in_isr", "leader_outside_isr", made_topic(isr=(12,)), index=1),
    appended("replica_twice", "replica_repeated", made_topic(replicas=(11, 11), isr=(11,)), index=1),
    appended("elr_outside", "elr_outside_replicas", made_topic(eligible_leader_replicas=(13,)), index=1),
    appended(
        "isr_change_outside",
        "isr_outside_replicas",
        lambda c: [PartitionChangeRecord(partition_id=0, topic_id=live_topic(c)[1], isr=(NodeId(13),))],
    ),
    appended(
        "leader_change_outside",
        "leader_outside_replicas",
        lambda c: [PartitionChangeRecord(partition_id=0, topic_id=live_topic(c)[1], leader=NodeId(13))],
    ),
    appended(
        "unregister_stranger",
        "unknown_broker",
        lambda c: [UnregisterBrokerRecord(broker_id=NodeId(77), broker_epoch=5)],
    ),
    appended(
        "old_broker_epoch",
        "unknown_broker",
        lambda c: [BrokerRegistrationChangeRecord(broker_id=NodeId(11), broker_epoch=1, fenced=1)],
    ),
    appended("epoch_not_offset", "broker_epoch_not_offset", lambda c: [broker_record(77, 3)], counts=False),
    appended("end_of_nothing", "transaction_broken", lambda c: [EndTransactionRecord()]),
    appended(
        "begin_twice",
        "transaction_broken",
        lambda c: [BeginTransactionRecord(), BeginTransactionRecord(), EndTransactionRecord()],
        index=1,
    ),
    appended("future_type", "newer_release", lambda c: [b"\x01\x63\x00\x00"], counts=False, also=_UNJUDGED),
    appended("future_version", "newer_release", lambda c: [b"\x01\x02\x63\x00"], counts=False, also=_UNJUDGED),
    appended(
        "cut_value", "malformed_record", lambda c: [encode_record(TopicRecord(name="new", topic_id=NEW_ID), 0)[:9]]
    ),
    appended("no_frame", "malformed_record", lambda c: [b""]),
    appended(
        "credential_of_nobody",
        "impossible_record",
        lambda c: [RemoveUserScramCredentialRecord(name="nobody", mechanism=1)],
    ),
]


def above_level(cluster: Cluster) -> Planted:
    """A record of a version that the finalised metadata.version does not allow yet."""
    path = cluster.segment(LEADER)
    append(path, [encode_record(record, 0) for record in named_topic("new")])
    unassigned = (UNASSIGNED_DIRECTORY_ID, UNASSIGNED_DIRECTORY_ID)
    value = encode_record(partition_record(NEW_ID, partition_id=1, directories=unassigned), 2)
    offset, position = append(path, [value])
    return Planted("record_above_level", LEADER, path, offset, position)


def hidden_in_transaction(cluster: Cluster) -> Planted:
    """A record of an unknown topic within a valid transaction."""
    records = [
        encode_record(BeginTransactionRecord(), 0),
        encode_record(ConfigRecord(resource_type=32, resource_name="new", name="a", value="b"), 0),
        encode_record(partition_record(NEW_ID), 2),
        encode_record(EndTransactionRecord(), 0),
    ]
    path = cluster.segment(LEADER)
    offset, position = append(path, records)
    return Planted("unknown_topic", LEADER, path, offset + 2, position)


RECORD_DAMAGE += [
    Damage("above_level", "static-3.9", above_level),
    Damage("hidden_in_transaction", "basic", hidden_in_transaction),
]
