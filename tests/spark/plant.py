"""Planting faults in copies of logs: batches taken apart, changed, and sealed again where the fault asks for it."""

from __future__ import annotations

import shutil
import struct
from dataclasses import dataclass
from pathlib import Path

import msgspec

from metadata_log.directory import META_PROPERTIES_FILE, METADATA_DIRECTORY, MetaProperties, format_meta_properties
from metadata_log.format.batch import batch_values, build_batch, build_control_batch, iter_batches, parse_header
from metadata_log.ids import DirectoryId, NodeId
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import (
    LeaderChangeMessage,
    MetadataRecord,
    TopicRecord,
    decode_versioned,
    encode_control,
    encode_record,
)
from metadata_log.records.control import LeaderChangeVoter

FIXTURES = Path(__file__).parent.parent / "fixtures"
_EPOCH_POSITION = 12


@dataclass
class Replica:
    """One replica's log; faults are planted in its last segment."""

    node_id: int
    directory: Path

    @property
    def metadata(self) -> Path:
        return self.directory / METADATA_DIRECTORY

    @property
    def segment(self) -> Path:
        return sorted(self.metadata.glob("*.log"))[-1]

    @property
    def checkpoint(self) -> Path:
        return sorted(self.metadata.glob("*.checkpoint"))[-1]

    def batches(self) -> list[bytes]:
        return split(self.segment)

    def write(self, batches: list[bytes]) -> None:
        self.segment.write_bytes(b"".join(batches))

    def append(self, *records: MetadataRecord | bytes, epoch: int = 1) -> int:
        """Append a batch of records, or of values as they are; its base offset."""
        last = parse_header(self.batches()[-1])
        values = [value if isinstance(value, bytes) else encode_record(value, 0) for value in records]
        batch = build_batch(
            base_offset=last.next_offset, epoch=Epoch(epoch), timestamp_ms=last.max_timestamp + 1, values=values
        )
        self.write([*self.batches(), batch])
        return last.next_offset


def copy_basic(node_id: int, into: Path) -> Replica:
    """A writable copy of a controller of the fixture `basic`."""
    source = FIXTURES / "basic" / f"node-{node_id}" / "data"
    target = into / f"node-{node_id}"
    shutil.copytree(source, target, copy_function=shutil.copyfile)
    return Replica(node_id=node_id, directory=target)


def copy_failovers(into: Path) -> Path:
    """The logs of `failovers` as log directories of their nodes, node 2 as it was before it cut its tail."""
    sources = {
        1: FIXTURES / "failovers" / "node-1" / "data" / METADATA_DIRECTORY,
        2: FIXTURES / "failovers" / "divergent-before" / "node-2" / "data" / METADATA_DIRECTORY,
        3: Path(__file__).parent / "data" / "failovers" / "node-3",
    }
    for node_id, source in sources.items():
        data = into / f"node-{node_id}"
        shutil.copytree(source, data / METADATA_DIRECTORY, copy_function=shutil.copyfile)
        properties = MetaProperties(
            cluster_id="failovers", node_id=NodeId(node_id), directory_id=DirectoryId(b"directory-id-00%d" % node_id)
        )
        (data / META_PROPERTIES_FILE).write_bytes(format_meta_properties(properties, 0))
    return into


def split(path: Path) -> list[bytes]:
    """A file's batches, each with its bytes."""
    data = path.read_bytes()
    return [data[position : position + header.size_in_bytes] for position, header in iter_batches(data)]


def base_offset(batch: bytes) -> int:
    return int(parse_header(batch).base_offset)


def with_epoch(batch: bytes, epoch: int) -> bytes:
    """The batch in another epoch, which its checksum does not cover."""
    return batch[:_EPOCH_POSITION] + struct.pack(">i", epoch) + batch[_EPOCH_POSITION + 4 :]


def flipped(batch: bytes) -> bytes:
    """The batch with one bit of its last record turned."""
    return batch[:-2] + bytes((batch[-2] ^ 0x10, batch[-1]))


def other_bytes(batch: bytes) -> bytes:
    """A sound batch of the same offsets and epoch that says something else: it is of another time."""
    header = parse_header(batch)
    return build_batch(
        base_offset=header.base_offset,
        epoch=header.partition_leader_epoch,
        timestamp_ms=header.max_timestamp + 1,
        values=[b"\x01\x14\x00\x00"] * header.count,
    )


def with_topic_named(batch: bytes, name: str) -> bytes:
    """The batch with another name in each of its TopicRecords, and a right checksum."""
    header = parse_header(batch)
    values = []
    for value in batch_values(batch, header, 0):
        record, version = decode_versioned(value)
        if isinstance(record, TopicRecord):
            value = encode_record(msgspec.structs.replace(record, name=name), version)  # noqa: PLW2901
        values.append(value)
    return build_batch(
        base_offset=header.base_offset,
        epoch=header.partition_leader_epoch,
        timestamp_ms=header.max_timestamp,
        values=values,
    )


def without_time(batch: bytes) -> bytes:
    """The batch with -1 as its records' times, which is Kafka's value for none; a control batch as it is."""
    header = parse_header(batch)
    if header.is_control:
        return batch
    values = list(batch_values(batch, header, 0))
    return build_batch(
        base_offset=header.base_offset, epoch=header.partition_leader_epoch, timestamp_ms=-1, values=values
    )


def leader_change(offset: int, epoch: int, leader_id: int, timestamp_ms: int) -> bytes:
    """The batch that a new leader of the three voters writes first."""
    voters = tuple(LeaderChangeVoter(voter_id=NodeId(voter)) for voter in (1, 2, 3))
    message = LeaderChangeMessage(leader_id=NodeId(leader_id), voters=voters, granting_voters=voters[:2])
    return build_control_batch(
        base_offset=Offset(offset), epoch=Epoch(epoch), timestamp_ms=timestamp_ms, records=[encode_control(message)]
    )
