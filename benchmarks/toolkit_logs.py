"""Made logs and checkpoints for the toolkit's benchmark: the same bytes every time.

Decides: what is in them. Must not know: what is measured on them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from metadata_log.directory import META_PROPERTIES_FILE, METADATA_DIRECTORY
from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import build_batch, build_control_batch
from metadata_log.ids import DirectoryId, NodeId, TopicId, Uuid
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.records import (
    FeatureLevelRecord,
    LeaderChangeMessage,
    LeaderChangeVoter,
    MetadataRecord,
    NoOpRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
    encode_control,
    encode_record,
)
from metadata_log.storage.checkpoint import CheckpointTimes, build_checkpoint, checkpoint_name, write_checkpoint

LOG: Final = "00000000000000000000.log"
_TIME_MS: Final = 1_700_000_000_000
_BROKERS: Final = (NodeId(11), NodeId(12), NodeId(13))
_DIRECTORIES: Final = tuple(DirectoryId(bytes((0x40 + node,)) * 16) for node in _BROKERS)
_LEVEL: Final = 30
_PARTITIONS: Final = 2
_META_PROPERTIES: Final = (
    "version=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\nnode.id=1\ndirectory.id=jJgiz5mLShuDNj-Ps3namg\n"
)
_BESIDE: Final = {
    "quorum-state": '{"clusterId":"","leaderId":1,"leaderEpoch":1,"votedId":-1,"appliedOffset":0,'
    '"currentVoters":[{"voterId":1}],"data_version":0}',
    "leader-epoch-checkpoint": "0\n1\n1 0\n",
    "partition.metadata": "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n",
}
"""The sidecar files of such a log, as its leader writes them."""


def topic_log(path: Path, records: int, per_batch: int = 100) -> None:
    """A log of topics of one partition, two records each, after the brokers that they are on."""
    draw = random.Random(records)
    _write_log(path, records, per_batch, lambda at: _topic(f"topic-{at}", draw, partitions=1), _brokers())


def node_directory(path: Path, records: int) -> Path:
    """Make `path` the log directory of a stopped lone voter, whose log holds so many records of topics."""
    metadata = path / METADATA_DIRECTORY
    metadata.mkdir(parents=True)
    draw = random.Random(records)
    first = [encode_record(FeatureLevelRecord(name="metadata.version", feature_level=_LEVEL), 0), *_brokers(2)]
    _write_log(metadata / LOG, records, 100, lambda at: _topic(f"topic-{at}", draw, partitions=1), first)
    (path / META_PROPERTIES_FILE).write_text(_META_PROPERTIES, "utf-8")
    for name, text in _BESIDE.items():
        (metadata / name).write_text(text, "utf-8")
    return path


def no_op_log(path: Path, records: int) -> None:
    """A log of batches of one NoOp each: all headers."""
    value = encode_record(NoOpRecord(), 0)
    _write_log(path, records, 1, lambda at: [value])


def topic_checkpoint(directory: Path, records: int) -> Path:
    """A checkpoint of about so many records: topics of two partitions, named `topic-0` and on."""
    end = OffsetAndEpoch(offset=Offset(records), epoch=Epoch(1))
    path = directory / checkpoint_name(end)
    batches = build_checkpoint(
        _values(records),
        epoch=end.epoch,
        times=CheckpointTimes(last_contained_ms=_TIME_MS, header_ms=_TIME_MS, records_ms=_TIME_MS, footer_ms=_TIME_MS),
    )
    write_checkpoint(OsFiles(), str(path), batches)
    return path


def _values(records: int) -> Iterator[bytes]:
    draw = random.Random(records)
    yield encode_record(FeatureLevelRecord(name="metadata.version", feature_level=_LEVEL), 0)
    for number in range(records // (1 + _PARTITIONS)):
        yield from _topic(f"topic-{number}", draw, partitions=_PARTITIONS)


def _brokers(first_offset: int = 1) -> list[bytes]:
    records = [
        RegisterBrokerRecord(
            broker_id=node, broker_epoch=offset, incarnation_id=Uuid(bytes((node,)) * 16), end_points=(), features=(),
            rack=None, fenced=False, log_dirs=(directory,),
        )
        for offset, (node, directory) in enumerate(zip(_BROKERS, _DIRECTORIES, strict=True), first_offset)
    ]  # fmt: skip
    return [encode_record(record, 3) for record in records]


def _topic(name: str, draw: random.Random, *, partitions: int) -> list[bytes]:
    topic_id = TopicId(draw.randbytes(16))
    records: list[tuple[MetadataRecord, int]] = [(TopicRecord(name=name, topic_id=topic_id), 0)]
    for number in range(partitions):
        partition = PartitionRecord(
            partition_id=number,
            topic_id=topic_id,
            replicas=_BROKERS,
            isr=_BROKERS,
            removing_replicas=(),
            adding_replicas=(),
            leader=_BROKERS[0],
            leader_epoch=0,
            partition_epoch=0,
            directories=_DIRECTORIES,
        )
        records.append((partition, 1))
    return [encode_record(record, version) for record, version in records]


def _write_log(
    path: Path, records: int, per_batch: int, values_at: Callable[[int], list[bytes]], first: Sequence[bytes] = ()
) -> None:
    voter = LeaderChangeVoter(voter_id=NodeId(1))
    change = LeaderChangeMessage(version=0, leader_id=NodeId(1), voters=(voter,), granting_voters=(voter,))
    with path.open("wb") as writing:
        writing.write(
            build_control_batch(
                base_offset=Offset(0), epoch=Epoch(1), timestamp_ms=_TIME_MS, records=[encode_control(change)]
            )
        )
        offset, before = 1, list(first)
        while offset <= records:
            values, before = before, []
            while len(values) < per_batch:
                values += values_at(offset + len(values))
            writing.write(
                build_batch(base_offset=Offset(offset), epoch=Epoch(1), timestamp_ms=_TIME_MS + offset, values=values)
            )
            offset += len(values)
