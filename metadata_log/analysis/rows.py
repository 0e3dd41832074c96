"""The two tables that Spark sees, and making their rows from bytes: one of batches and damage, one of records.

Decides: the columns. Must not know: Spark. A task reads files one after the other and gives rows in chunks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import msgspec

from metadata_log.analysis.inputs import Piece
from metadata_log.errors import CorruptBatchError, RecordError, UnknownRecordError
from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import batch_records, batch_values
from metadata_log.ids import ReplicaKey, id_text
from metadata_log.image.features import KRAFT_VERSION
from metadata_log.records import (
    FeatureLevelRecord,
    KRaftVersionRecord,
    LeaderChangeMessage,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    SnapshotFooterRecord,
    TopicRecord,
    VotersRecord,
    decode_control,
    decode_versioned,
)
from metadata_log.records.newer import NewerPart, newer_control, newer_level, newer_record
from metadata_log.records.registry import CONTROL_RECORDS, METADATA_RECORDS
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.read.contents import control_facts
from metadata_log.tools.read.scan import Damage, scan

Row: TypeAlias = tuple[object, ...]

BATCHES: Final = "batches"
RECORDS: Final = "records"
NO_LEADER: Final = -1
"""In place of a leader that a LeaderChange of a later release names."""

COLUMNS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    BATCHES: (
        ("replica", "int"),
        ("file", "string"),
        ("file_base", "bigint"),
        ("is_checkpoint", "boolean"),
        ("position", "bigint"),
        ("size", "bigint"),
        ("fault", "string"),  # null: a sound batch; else a `scan.Fault`
        ("detail", "string"),  # what is wrong with it
        ("base_offset", "bigint"),
        ("last_offset", "bigint"),
        ("epoch", "int"),
        ("timestamp_ms", "bigint"),  # of its newest record
        ("records", "int"),
        ("digest", "bigint"),  # BLAKE2b of all its bytes, shortened
        ("leader_id", "int"),  # of the LeaderChange in it; -1: that is of a later release
        ("electors", "string"),  # the voters that the LeaderChange names
        ("voters", "string"),  # of the VotersRecord in it; empty: that is of a later release
        ("is_footer", "boolean"),  # whether it ends a checkpoint
    ),
    RECORDS: (
        ("replica", "int"),
        ("file", "string"),
        ("file_base", "bigint"),
        ("is_checkpoint", "boolean"),
        ("offset", "bigint"),
        ("epoch", "int"),
        ("timestamp_ms", "bigint"),
        ("type", "string"),  # its class, without "Record"
        ("version", "int"),
        ("topic_id", "string"),
        ("name", "string"),
        ("partition", "int"),
        ("fault", "string"),  # why it cannot be read
        ("newer", "string"),  # the `NewerPart` that it is, as JSON
    ),
}
"""Name and Spark type of each column, by table."""

_ROWS_PER_CHUNK: Final = 8192
_DIGEST_BYTES: Final = 8


def read_rows(table: str, pieces: Sequence[Piece]) -> Iterator[list[Row]]:
    """The rows of these pieces, in chunks. Sums of batches are kept only where the table asks for them."""
    rows: list[Row] = []
    for piece in pieces:
        for found in _found(piece):
            if table == BATCHES:
                rows.append(_damage_row(piece, found) if isinstance(found, Damage) else _batch_row(piece, found))
            elif not isinstance(found, Damage):
                rows.extend(_record_rows(piece, found))
            if len(rows) >= _ROWS_PER_CHUNK:
                yield rows
                rows = []
    if rows:
        yield rows


def _found(piece: Piece) -> Iterator[LocatedBatch | Damage]:
    handle = OsFiles().open(piece.path, read_only=True)
    try:
        yield from scan(handle, piece.start, min(piece.end, handle.size()))
    finally:
        handle.close()


def _damage_row(piece: Piece, damage: Damage) -> Row:
    where: Row = (piece.replica, piece.name, piece.base, piece.is_checkpoint, damage.position, damage.size)
    unknown: Row = (None,) * 8
    return (*where, str(damage.fault), damage.what, damage.base_offset, *unknown, False)


def _batch_row(piece: Piece, batch: LocatedBatch) -> Row:
    header = batch.header
    digest = hashlib.blake2b(
        memoryview(batch.buffer)[batch.at : batch.at + header.size_in_bytes], digest_size=_DIGEST_BYTES
    ).digest()
    leader_id, electors, voters, detail, is_footer = None, None, None, None, False
    if header.is_control:
        facts = control_facts(batch)
        leader_id, detail = facts.leader_id, facts.unreadable
        electors, voters = _keys_text(facts.electors), _keys_text(facts.voters)
        newer = facts.newer_types
        leader_id = NO_LEADER if leader_id is None and LeaderChangeMessage.CONTROL_TYPE in newer else leader_id
        voters = "" if voters is None and VotersRecord.CONTROL_TYPE in newer else voters
        is_footer = SnapshotFooterRecord.__name__ in facts.types or SnapshotFooterRecord.CONTROL_TYPE in newer
    return (
        piece.replica,
        piece.name,
        piece.base,
        piece.is_checkpoint,
        batch.position,
        header.size_in_bytes,
        None,
        detail,
        header.base_offset,
        header.last_offset,
        header.partition_leader_epoch,
        header.max_timestamp,
        header.count,
        int.from_bytes(digest, "big", signed=True),
        leader_id,
        electors,
        voters,
        is_footer,
    )


def _keys_text(keys: Sequence[ReplicaKey] | None) -> str | None:
    return None if keys is None else ",".join(map(str, keys))


def _record_rows(piece: Piece, batch: LocatedBatch) -> Iterator[Row]:
    header = batch.header
    where: Row = (piece.replica, piece.name, piece.base, piece.is_checkpoint)
    when: Row = (header.partition_leader_epoch, header.max_timestamp)
    offset = int(header.base_offset)
    try:
        if header.is_control:
            for record in batch_records(batch.buffer, header, batch.at):
                yield (*where, offset, *when, *_control_facts(record.key or b"", record.value or b""))
                offset += 1
            return
        for value in batch_values(batch.buffer, header, batch.at):
            yield (*where, offset, *when, *_metadata_facts(value))
            offset += 1
    except CorruptBatchError as error:
        yield (*where, offset, *when, None, None, None, None, None, error.what, None)


def _control_facts(key: bytes, value: bytes) -> Row:
    try:
        record = decode_control(key, value)
    except UnknownRecordError as error:
        return _newer_facts(error, CONTROL_RECORDS.get(error.api_key), newer_control(error))
    except RecordError as error:
        return (None, None, None, None, None, str(error), None)
    level = record.kraft_version if isinstance(record, KRaftVersionRecord) else 0
    return (_type_name(type(record)), record.version, None, None, None, None, _level_text(KRAFT_VERSION, level))


def _metadata_facts(value: bytes) -> Row:
    try:
        record, version = decode_versioned(value)
    except UnknownRecordError as error:
        return _newer_facts(error, METADATA_RECORDS.get(error.api_key), newer_record(error))
    except RecordError as error:
        return (None, None, None, None, None, str(error), None)
    topic_id, name, partition = _topic_facts(record)
    newer = _level_text(record.name, record.feature_level) if isinstance(record, FeatureLevelRecord) else None
    return (_type_name(type(record)), version, topic_id, name, partition, None, newer)


def _newer_facts(error: UnknownRecordError, known: type | None, part: NewerPart) -> Row:
    name = f"type {error.api_key}" if known is None else _type_name(known)
    return (name, error.version, None, None, None, None, msgspec.json.encode(part).decode())


def _level_text(name: str, level: int) -> str | None:
    """Return the part that is a level of a later release, as JSON."""
    part = newer_level(name, level)
    return None if part is None else msgspec.json.encode(part).decode()


def _topic_facts(record: MetadataRecord) -> tuple[str | None, str | None, int | None]:
    match record:
        case TopicRecord():
            return id_text(record.topic_id), record.name, None
        case PartitionRecord() | PartitionChangeRecord():
            return id_text(record.topic_id), None, record.partition_id
        case RemoveTopicRecord():
            return id_text(record.topic_id), None, None
        case _:
            return None, None, None


def _type_name(record: type) -> str:
    return record.__name__.removesuffix("Record").removesuffix("Message")
