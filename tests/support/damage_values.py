"""Damage that keeps every checksum right: header fields, levels, names, and values that no controller writes."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable

from metadata_log.directory import QUORUM_STATE_FILE
from metadata_log.format.batch import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    batch_records,
    batch_values,
    build_batch,
    build_control_batch,
    parse_header,
)
from metadata_log.ids import UNASSIGNED_DIRECTORY_ID, DirectoryId, NodeId, parse_directory_id
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import (
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeVoter,
    PartitionChangeRecord,
    decode_control,
    decode_record,
    encode_control,
    encode_record,
)
from tests.support.damage import (
    Cluster,
    Damage,
    Planted,
    place_of,
    quiet_batch,
    sealed,
    split,
    with_bytes,
    with_controls,
    with_values,
    write,
)
from tests.support.damage_files import epoch_file_changed
from tests.support.damage_records import (
    LEADER,
    appended,
    broker_record,
    live_topic,
    made_topic,
    named_topic,
    partition_record,
)

_HIT = 2
"""A follower of `basic`."""
_DIFFERS = frozenset({"log_mismatch"})
_ATTRIBUTES, _PRODUCER = 21, 43
_QUIET, _WITH_RECORDS, _CONTROL = -1, 1, 0


def _header(number: int, position: int, content: bytes) -> Callable[[Cluster], Planted]:
    """Change a field of a batch's header, with a right checksum; `number` -1: a batch of one NoOp."""

    def plant(cluster: Cluster) -> Planted:
        path = cluster.segment(_HIT)
        batches = split(path)
        chosen = quiet_batch(path) if number < 0 else number
        at, header = place_of(path, chosen)
        batches[chosen] = sealed(with_bytes(batches[chosen], position, content))
        write(path, batches)
        return Planted("foreign_batch", _HIT, path, int(header.base_offset), at, _DIFFERS)

    return plant


def record_with_key(cluster: Cluster) -> Planted:
    """A NoOp whose record has a key, which Kafka refuses to read: all lengths and the checksum are right."""
    path = cluster.segment(_HIT)
    batches = split(path)
    chosen = quiet_batch(path)
    at, header = place_of(path, chosen)
    body = b"\x16\x00\x00\x00\x02k\x08\x01\x14\x00\x00\x00"
    grown = with_bytes(batches[chosen][:HEADER_SIZE], 8, struct.pack(">i", HEADER_SIZE - LOG_OVERHEAD + len(body)))
    batches[chosen] = sealed(grown + body)
    write(path, batches)
    # The bytes behind it have moved by one, but the index has not.
    return Planted("malformed_record", _HIT, path, int(header.base_offset), at, _DIFFERS | {"index_wrong"})


def _attributes(bits: int) -> bytes:
    return struct.pack(">h", bits)


def kraft_version_unknown(cluster: Cluster) -> Planted:
    """An unknown kraft.version in the log's first batch."""
    path = cluster.segment(_HIT)
    batches = split(path)
    batches[0], number = _with_kraft_version(batches[0], 3)
    write(path, batches)
    return Planted("newer_release", _HIT, path, number, 0, _DIFFERS)


def kraft_version_fallen(cluster: Cluster) -> Planted:
    """A kraft.version that goes back to 0."""
    path = cluster.segment(_HIT)
    batches = split(path)
    last = parse_header(batches[-1])
    position = path.stat().st_size
    record = encode_control(KRaftVersionRecord(kraft_version=0))
    offset, epoch = Offset(last.next_offset), Epoch(last.partition_leader_epoch)
    batches.append(
        build_control_batch(base_offset=offset, epoch=epoch, timestamp_ms=last.max_timestamp, records=[record])
    )
    write(path, batches)
    return Planted("impossible_record", _HIT, path, int(offset), position)


def kraft_version_of_checkpoint(cluster: Cluster) -> Planted:
    """An unknown kraft.version in a checkpoint."""
    path = cluster.metadata(11) / "00000000000000000255-0000000003.checkpoint"
    batches = split(path)
    batches[0], number = _with_kraft_version(batches[0], 2)
    write(path, batches)
    return Planted("newer_release", 11, path, number, 0, frozenset({"checkpoint_disagrees"}))


def _with_kraft_version(batch: bytes, level: int) -> tuple[bytes, int]:
    records = [decode_control(raw.key or b"", raw.value or b"") for raw in batch_records(batch, parse_header(batch))]
    number = next(at for at, record in enumerate(records) if isinstance(record, KRaftVersionRecord))
    records[number] = KRaftVersionRecord(kraft_version=level)
    return with_controls(batch, records), number


def transaction_abandoned(cluster: Cluster) -> Planted:
    """A transaction that its epoch does not end; the next epoch's leader goes on and ends it, without an abort."""
    path = cluster.segment(LEADER)
    last = parse_header(split(path)[-1])
    config = ConfigRecord(resource_type=32, resource_name="readers", name="a", value="b")
    begun = [encode_record(BeginTransactionRecord(), 0), encode_record(config, 0)]
    after = [encode_record(config, 0), encode_record(EndTransactionRecord(), 0)]
    offset, time = int(last.next_offset), last.max_timestamp
    voters = tuple(LeaderChangeVoter(voter_id=NodeId(voter)) for voter in (1, 2, 3))
    change = LeaderChangeMessage(leader_id=NodeId(LEADER), voters=voters, granting_voters=voters)
    batches = [
        build_batch(base_offset=Offset(offset), epoch=Epoch(1), timestamp_ms=time, values=begun),
        build_control_batch(
            base_offset=Offset(offset + 2), epoch=Epoch(2), timestamp_ms=time, records=[encode_control(change)]
        ),
        build_batch(base_offset=Offset(offset + 3), epoch=Epoch(2), timestamp_ms=time, values=after),
    ]
    position = path.stat().st_size + len(batches[0]) + len(batches[1])
    path.write_bytes(path.read_bytes() + b"".join(batches))
    (cluster.metadata(LEADER) / "leader-epoch-checkpoint").write_text(f"0\n2\n1 0\n2 {offset + 2}\n")
    state = cluster.metadata(LEADER) / QUORUM_STATE_FILE
    state.write_text(json.dumps(json.loads(state.read_text()) | {"leaderEpoch": 2}, separators=(",", ":")))
    # The log holds a record of epoch 2 that no controller writes, so its LeaderChange accuses no voter.
    return Planted("transaction_broken", LEADER, path, offset + 3, position)


def level_too_low(cluster: Cluster) -> Planted:
    """One metadata.version that is too low: nearly all later records are above it."""
    path = cluster.segment(_HIT)
    batches = split(path)
    header = parse_header(batches[1])
    records = [decode_record(value) for value in batch_values(batches[1], header)]
    number = next(
        at
        for at, record in enumerate(records)
        if isinstance(record, FeatureLevelRecord) and record.name == "metadata.version"
    )
    records[number] = FeatureLevelRecord(name="metadata.version", feature_level=7)
    batches[1] = with_values(batches[1], [encode_record(record, 0) for record in records])
    write(path, batches)
    # The first record that level 7 lacks is the end of the transaction that sets the level.
    offset = int(header.base_offset) + len(records) - 1
    return Planted("record_above_level", _HIT, path, offset, len(batches[0]), _DIFFERS)


def _voted(directory: str | None, **fields: object) -> Callable[[Cluster], Planted]:
    """A vote for the directory of the voter whose number is given, or for any directory."""

    def plant(cluster: Cluster) -> Planted:
        path = cluster.metadata(_HIT) / QUORUM_STATE_FILE
        named = {} if directory is None else {"votedDirectoryId": directory}
        path.write_text(json.dumps(json.loads(path.read_text()) | named | fields, separators=(",", ":")))
        also = frozenset({"two_votes"}) if "votedId" in fields else frozenset[str]()
        return Planted("vote_for_stranger", _HIT, path, also=also)

    return plant


def directory_of_broker(cluster: Cluster, broker_id: int) -> DirectoryId:
    """Return the directory id of a broker of one disk."""
    text = (cluster.disk(broker_id) / "meta.properties").read_text()
    return parse_directory_id(next(line[13:] for line in text.splitlines() if line.startswith("directory.id=")))


def _config(resource_type: int, name: str) -> ConfigRecord:
    return ConfigRecord(resource_type=resource_type, resource_name=name, name="a", value="b")


VALUE_DAMAGE = [
    Damage("epoch_file_first_moved", "basic", epoch_file_changed(lambda t: "0\n1\n1 5\n", "epoch_file_wrong", 5)),
    Damage(
        "epoch_file_first_after_cut",
        "failovers",
        epoch_file_changed(lambda t: t.replace(" 244", " 250", 1), "epoch_file_wrong", 250),
    ),
    Damage("kraft_version_unknown", "basic", kraft_version_unknown),
    Damage("kraft_version_fallen", "basic", kraft_version_fallen),
    Damage("kraft_version_of_checkpoint", "failovers", kraft_version_of_checkpoint),
    Damage("producer_id", "basic", _header(_QUIET, _PRODUCER, struct.pack(">q", 7))),
    Damage("producer_epoch", "basic", _header(_WITH_RECORDS, _PRODUCER + 8, struct.pack(">h", 0))),
    Damage("base_sequence", "basic", _header(_QUIET, _PRODUCER + 10, struct.pack(">i", 12))),
    Damage("transactional", "basic", _header(_QUIET, _ATTRIBUTES, _attributes(0x10))),
    Damage("transactional_control", "basic", _header(_CONTROL, _ATTRIBUTES, _attributes(0x30))),
    Damage("log_append_time", "basic", _header(_WITH_RECORDS, _ATTRIBUTES, _attributes(0x08))),
    Damage("delete_horizon", "basic", _header(_QUIET, _ATTRIBUTES, _attributes(0x40))),
    Damage("unknown_attribute", "basic", _header(_QUIET, _ATTRIBUTES, _attributes(0x200))),
    *(
        appended(label, "topic_name_invalid", lambda c, name=name: named_topic(name))  # type: ignore[misc]
        for label, name in (
            ("name_with_slash", "a/b"),
            ("name_dots", ".."),
            ("name_too_long", "x" * 250),
            ("name_empty", ""),
        )
    ),
    appended("config_of_unknown_type", "config_of_nothing", lambda c: [_config(99, "new")]),
    appended("config_of_no_topic", "config_of_nothing", lambda c: [_config(2, "nothing")]),
    appended("config_of_no_broker", "config_of_nothing", lambda c: [_config(4, "eleven")]),
    appended(
        "feature_below_zero",
        "impossible_record",
        lambda c: [FeatureLevelRecord(name="group.version", feature_level=-5)],
    ),
    appended(
        "feature_level_too_high",
        "newer_release",
        lambda c: [FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=9)],
        counts=False,
    ),
    appended(
        "feature_unknown",
        "newer_release",
        lambda c: [FeatureLevelRecord(name="no.such.one", feature_level=1)],
        counts=False,
    ),
    appended("broker_epoch_back", "broker_epoch_went_back", lambda c: [broker_record(11, 1)]),
    appended(
        "directory_of_two_brokers",
        "impossible_record",
        lambda c: [broker_record(77, 96, (directory_of_broker(c, 12),))],
    ),
    appended(
        "leader_epoch_back",
        "partition_epoch_went_back",
        lambda c: [partition_record(live_topic(c)[1], leader_epoch=-1)],
    ),
    appended("replica_unknown", "unknown_replica", made_topic(replicas=(11, 77), isr=(11,)), index=1),
    appended("leader_unknown", "unknown_replica", made_topic(replicas=(77,), isr=(77,), leader=77), index=1),
    appended(
        "replica_added_unknown",
        "unknown_replica",
        lambda c: [
            PartitionChangeRecord(
                partition_id=0,
                topic_id=live_topic(c)[1],
                replicas=(NodeId(11), NodeId(77)),
                isr=(NodeId(11),),
                leader=NodeId(11),
                eligible_leader_replicas=(),
                directories=(UNASSIGNED_DIRECTORY_ID, UNASSIGNED_DIRECTORY_ID),
            )
        ],
    ),
    appended("no_replicas", "no_replicas", made_topic(replicas=(), isr=(), leader=-1), index=1),
    appended("adding_outside", "reassignment_outside_replicas", made_topic(adding_replicas=(13,)), index=1),
    appended("isr_twice", "replica_repeated", made_topic(isr=(11, 11)), index=1),
    appended("elr_twice", "elr_repeated", made_topic(isr=(11,), eligible_leader_replicas=(12, 12)), index=1),
    appended("last_known_elr_twice", "elr_repeated", made_topic(isr=(11,), last_known_elr=(12, 12)), index=1),
    appended("partition_negative", "impossible_record", made_topic(partition_id=-3), index=1),
    appended("partition_epoch_negative", "impossible_record", made_topic(partition_epoch=-7), index=1),
    Damage("vote_for_other_directory", "basic", _voted("ZGlyZWN0b3J5LWlkLTAwMQ")),
    Damage("vote_for_no_directory", "basic", _voted("AB4AAAAAAAAAAAAAAAAAAA")),
    Damage("vote_for_a_broker", "basic", _voted("ZGlyZWN0b3J5LWlkLTAwMw", votedId=11)),
    Damage("vote_for_nobody_static", "static-3.9", _voted(None, votedId=7)),
    Damage("record_with_key", "basic", record_with_key),
    Damage("transaction_abandoned", "basic", transaction_abandoned),
    Damage("level_too_low", "basic", level_too_low),
]
