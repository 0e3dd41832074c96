"""Logs that a release after the newest known one could have written, made of the logs of real clusters.

Decides: which parts such a log has, and where. Must not know: what a tool reports about them. All replicas of a
scenario get the same bytes, so that they agree: such a log is healthy.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.format.batch import (
    BatchHeader,
    batch_records,
    batch_values,
    build_batch,
    build_control_batch,
    parse_header,
)
from metadata_log.format.epoch_file import EPOCH_FILE
from metadata_log.ids import NodeId
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import (
    ConfigRecord,
    FeatureLevelRecord,
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeVoter,
    MetadataRecord,
    TopicRecord,
    VotersRecord,
    decode_control,
    decode_record,
    encode_control,
    encode_record,
)
from metadata_log.records.levels import FEATURE_NAME
from tests.support.damage import Cluster, copy_cluster, split, with_values, write
from tests.support.damage_records import LEADER, NEW_ID, partition_record

_LEVEL_34: Final = FeatureLevelRecord(name=FEATURE_NAME, feature_level=34)
_TYPE_30: Final = b"\x01\x1e\x00\x05later\x00"
"""A value of type 30, version 0, with unknown fields."""
_TYPE_501: Final = b"\x01\xf5\x03\x00\x06vendor\x00"
_TAG: Final = b"\x01\x07\x03new"
"""One tagged field, of number 7, in place of the number 0 of tagged fields at a record's end."""
_VOTERS: Final = tuple(LeaderChangeVoter(voter_id=NodeId(voter)) for voter in (1, 2, 3))
_LEADER_CHANGE: Final = LeaderChangeMessage(leader_id=NodeId(LEADER), voters=_VOTERS, granting_voters=_VOTERS[1:])
_CONFIG: Final = ConfigRecord(resource_type=4, resource_name="", name="log.retention.ms", value="3600000")
_FRAME: Final = (b"\x00\x03", b"\x00\x04")
"""The types of a checkpoint's header and footer."""
_CONTROL_7: Final = (b"\x00\x00\x00\x07", b"\x00\x00\x00\x00\x00\x2a")

Value: TypeAlias = MetadataRecord | bytes
Control: TypeAlias = tuple[bytes, bytes]


@dataclass(frozen=True)
class NewerLog:
    """A log with a part of a later release.

    Attributes:
        plant: puts the part into all replicas of a copy of the scenario.
        says: the words by which a tool must name the part.
        hides_metadata: the part is a metadata record, so that the metadata is not known as a whole.
    """

    name: str
    scenario: str
    plant: Callable[[Cluster], None]
    says: str
    hides_metadata: bool = False


def plant_newer(case: NewerLog, clusters: Path, target: Path) -> Cluster:
    """Return a copy of the case's scenario at `target`, with the part of a later release in it."""
    cluster = copy_cluster(clusters / case.scenario, target)
    case.plant(cluster)
    return cluster


def metadata_directories(cluster: Cluster) -> list[Path]:
    """Return the directories of the metadata log of all nodes as they were last; earlier moments are elsewhere."""
    return sorted(path / "data" / METADATA_DIRECTORY for path in cluster.root.glob("node-*"))


def _last_segment(metadata: Path) -> Path:
    return max(metadata.glob("*.log"))


def _last_header(metadata: Path) -> BatchHeader:
    return parse_header(split(_last_segment(metadata))[-1])


def make_alike(cluster: Cluster) -> BatchHeader:
    """Extend all logs to the longest one, as if all replicas had fetched all; return the header of its last batch."""
    directories = metadata_directories(cluster)
    longest = max(directories, key=lambda metadata: _last_header(metadata).next_offset)
    batches = split(_last_segment(longest))
    for metadata in directories:
        last = _last_header(metadata)
        missing = [batch for batch in batches if parse_header(batch).base_offset >= last.next_offset]
        assert all(parse_header(batch).partition_leader_epoch == last.partition_leader_epoch for batch in missing)
        segment = _last_segment(metadata)
        segment.write_bytes(segment.read_bytes() + b"".join(missing))
    return _last_header(longest)


def _append_to_all(cluster: Cluster, batch: bytes) -> None:
    for metadata in metadata_directories(cluster):
        segment = _last_segment(metadata)
        segment.write_bytes(segment.read_bytes() + batch)


def _values(values: Sequence[Value]) -> list[bytes]:
    return [value if isinstance(value, bytes) else encode_record(value, _version_of(value)) for value in values]


def _version_of(record: MetadataRecord) -> int:
    return 2 if type(record).__name__ == "PartitionRecord" else 0


def _data(*values: Value) -> Callable[[Cluster], None]:
    """Return a function that appends one batch of metadata records to all logs."""

    def plant(cluster: Cluster) -> None:
        last = make_alike(cluster)
        batch = build_batch(
            base_offset=Offset(last.next_offset),
            epoch=Epoch(last.partition_leader_epoch),
            timestamp_ms=last.max_timestamp,
            values=_values(values),
        )
        _append_to_all(cluster, batch)

    return plant


def _controls(make: Callable[[Cluster], Control], *, epochs_later: int = 0) -> Callable[[Cluster], None]:
    """Return a function that appends one batch with a control record to all logs, in a later epoch if asked for."""

    def plant(cluster: Cluster) -> None:
        last = make_alike(cluster)
        batch = build_control_batch(
            base_offset=Offset(last.next_offset),
            epoch=Epoch(last.partition_leader_epoch + epochs_later),
            timestamp_ms=last.max_timestamp,
            records=[make(cluster)],
        )
        _append_to_all(cluster, batch)

    return plant


def _of_version(control: Control, version: int) -> Control:
    """Return the control record in a later version, with a field that is not known before its tagged fields."""
    key, value = control
    return key, struct.pack(">h", version) + value[2:-1] + b"\x00\x00\x00\x2a" + value[-1:]


def _voters_record(cluster: Cluster) -> VotersRecord:
    """Return the last set of voters in the log."""
    found = [record for record in _controls_of(metadata_directories(cluster)[0]) if isinstance(record, VotersRecord)]
    return found[-1]


def _controls_of(metadata: Path) -> Iterator[object]:
    for segment in sorted(metadata.glob("*.log")):
        for batch in split(segment):
            header = parse_header(batch)
            for record in batch_records(batch, header) if header.is_control else ():
                yield decode_control(record.key or b"", record.value or b"")


def _voters_of_version_1(cluster: Cluster) -> Control:
    return _of_version(encode_control(_voters_record(cluster)), 1)


def _next_epoch(cluster: Cluster) -> None:
    """Begin an epoch with a LeaderChange of version 2, and have all that the nodes keep beside the log say so."""
    end = int(make_alike(cluster).next_offset)
    _controls(lambda _: _of_version(encode_control(_LEADER_CHANGE), 2), epochs_later=1)(cluster)
    epoch = int(_last_header(metadata_directories(cluster)[0]).partition_leader_epoch)
    for metadata in metadata_directories(cluster):
        path = metadata / EPOCH_FILE
        version, count, *starts = path.read_text().split("\n")
        path.write_text("\n".join([version, str(int(count) + 1), *starts[:-1], f"{epoch} {end}", ""]))
        _edit_state(metadata, leaderId=LEADER, leaderEpoch=epoch)


def _edit_state(metadata: Path, **fields: object) -> None:
    path = metadata / "quorum-state"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}, separators=(",", ":")))


def _state_of_version_2(cluster: Cluster) -> None:
    make_alike(cluster)
    for metadata in metadata_directories(cluster):
        _edit_state(metadata, data_version=2, leaderSince=1)


def _in_checkpoints(cluster: Cluster) -> None:
    """Put level 34, and a record of type 30, into all checkpoints, as if both had been written before the first."""
    for path in cluster.root.glob(f"**/{METADATA_DIRECTORY}/*.checkpoint"):
        if int(path.name.partition("-")[0]):
            write(path, list(_with_newer(split(path))))


def _with_newer(batches: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the batches of a checkpoint, with level 34 and a record of type 30."""
    shift = 0
    for number, batch in enumerate(batches):
        header = parse_header(batch)
        moved = struct.pack(">q", header.base_offset + shift) + batch[8:]
        if header.is_control:
            yield moved
            continue
        values = [_at_level_34(value) for value in batch_values(batch, header)]
        is_last = parse_header(batches[number + 1]).is_control
        yield with_values(moved, [*values, _TYPE_30] if is_last else values)
        shift += is_last


def _with_later_frame(cluster: Cluster) -> None:
    """Give the header and the footer of all checkpoints version 1."""
    for path in cluster.root.glob(f"**/{METADATA_DIRECTORY}/*.checkpoint"):
        if int(path.name.partition("-")[0]):
            write(path, [_later_frame(batch) for batch in split(path)])


def _later_frame(batch: bytes) -> bytes:
    """Return a batch of a checkpoint whose header or footer is of version 1."""
    header = parse_header(batch)
    if not header.is_control:
        return batch
    pairs = [(raw.key or b"", raw.value or b"") for raw in batch_records(batch, header)]
    later = [_of_version(pair, 1) if pair[0][2:] in _FRAME else pair for pair in pairs]
    return build_control_batch(
        base_offset=Offset(header.base_offset),
        epoch=Epoch(header.partition_leader_epoch),
        timestamp_ms=header.max_timestamp,
        records=later,
    )


def _at_level_34(value: bytes) -> bytes:
    record = decode_record(value)
    is_level = isinstance(record, FeatureLevelRecord) and record.name == FEATURE_NAME
    return encode_record(_LEVEL_34, 0) if is_level else value


def _newer_topic() -> list[Value]:
    """Return a topic whose record is of version 1, and its partitions, which are known."""
    topic = encode_record(TopicRecord(name="later", topic_id=NEW_ID), 0)
    assert topic[:3] == b"\x01\x02\x00"
    partitions = [partition_record(NEW_ID, partition_id=number) for number in range(2)]
    return [b"\x01\x02\x01" + topic[3:-1] + b"\x2a\x00", *partitions]


def _tagged(record: MetadataRecord) -> bytes:
    """Return a record with a tagged field that is not known."""
    value = encode_record(record, 0)
    assert value.endswith(b"\x00")
    return value[:-1] + _TAG


_MIXED: Final = (_LEVEL_34, _TYPE_30, *_newer_topic(), _tagged(_CONFIG))


def _mixed(cluster: Cluster) -> None:
    """Plant every part that a release could bring, except those about voters."""
    _data(*_MIXED)(cluster)
    _controls(lambda _: _CONTROL_7)(cluster)
    _data(_CONFIG)(cluster)


NEWER_LOGS: Final = (
    NewerLog("level_34", "basic", _data(_LEVEL_34), "metadata.version 4.5-IV0 (34)"),
    NewerLog(
        "level_35", "basic", _data(FeatureLevelRecord(name=FEATURE_NAME, feature_level=35)), "metadata.version 35"
    ),
    NewerLog(
        "feature_unknown", "basic", _data(FeatureLevelRecord(name="later.version", feature_level=1)), "later.version 1"
    ),
    NewerLog(
        "feature_level_above",
        "basic",
        _data(FeatureLevelRecord(name="group.version", feature_level=9)),
        "group.version 9",
    ),
    NewerLog("record_type_30", "basic", _data(_TYPE_30), "records of type 30", hides_metadata=True),
    NewerLog("record_type_501", "basic", _data(_TYPE_501), "records of type 501", hides_metadata=True),
    NewerLog("topic_record_v1", "basic", _data(*_newer_topic()), "TopicRecord of version 1", hides_metadata=True),
    NewerLog("unknown_tag", "basic", _data(_LEVEL_34, _tagged(_CONFIG)), "tagged fields of ConfigRecord"),
    NewerLog("control_type_7", "basic", _controls(lambda _: _CONTROL_7), "control records of type 7"),
    NewerLog(
        "kraft_version_2",
        "basic",
        _controls(lambda _: encode_control(KRaftVersionRecord(kraft_version=2))),
        "kraft.version 2",
    ),
    NewerLog("voters_record_v1", "basic", _controls(_voters_of_version_1), "VotersRecord of version 1"),
    NewerLog("leader_change_v2", "basic", _next_epoch, "LeaderChangeMessage of version 2"),
    NewerLog("quorum_state_version", "basic", _state_of_version_2, "quorum-state"),
    NewerLog("mixed", "basic", _mixed, "records of type 30", hides_metadata=True),
    NewerLog("checkpoint_frame_v1", "failovers", _with_later_frame, "SnapshotHeaderRecord of version 1"),
    NewerLog("checkpoint_type_30", "failovers", _in_checkpoints, "records of type 30", hides_metadata=True),
)
NEWER_NAMES: Final = tuple(case.name for case in NEWER_LOGS)
