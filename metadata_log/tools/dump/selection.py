"""The selection of records of a log: by offset, time, epoch, type, topic or broker.

Decides: when a record concerns a topic or a broker. Must not know: how records are shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from metadata_log.errors import RecordError
from metadata_log.format.batch import BatchHeader, Record
from metadata_log.ids import TopicId
from metadata_log.records import (
    ConfigRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
    decode_control,
    decode_record,
)
from metadata_log.records.json_form import type_name
from metadata_log.records.registry import METADATA_RECORDS, ControlRecord
from metadata_log.tools.dump.lines import CONTROL_NAMES

_OF_A_PARTITION: Final = (bytes((PartitionRecord.API_KEY,)), bytes((PartitionChangeRecord.API_KEY,)))
_TOPIC_RESOURCE: Final = 2
_BROKER_RESOURCE: Final = 4
_NODE_FIELDS: Final = ("broker_id", "controller_id", "leader", "leader_id", "voter_id")
_NODES_FIELDS: Final = (
    "replicas", "isr", "removing_replicas", "adding_replicas", "eligible_leader_replicas", "last_known_elr",
)  # fmt: skip


class BrokerPartitions:
    """The partitions of which records name a node as replica or leader. A change that removes it from the ISR does
    not name it."""

    def __init__(self, broker_id: int) -> None:
        self._broker_id = broker_id
        self._found: set[tuple[TopicId, int]] = set()

    def take(self, batches: Iterable[list[bytes]]) -> None:
        """Collect the partitions in the values of these batches."""
        for values in batches:
            for value in values:
                if value[1:2] in _OF_A_PARTITION:
                    try:
                        self.holds(decode_record(value))
                    except RecordError:
                        continue

    def holds(self, record: MetadataRecord | ControlRecord) -> bool:
        """Return True if the record is of a partition for which this or an earlier record names the node."""
        if not isinstance(record, PartitionRecord | PartitionChangeRecord):
            return False
        key = (record.topic_id, record.partition_id)
        if key not in self._found and _names_node(record, self._broker_id):
            self._found.add(key)
        return key in self._found


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The conditions for a shown record. All must hold; of several types, epochs or topics, one must.

    Attributes:
        from_offset, to_offset: the second is exclusive.
        since_ms, until_ms: of the record's timestamp, milliseconds since 1970; the second is exclusive.
        types: in the form of `plain_type`.
        topic_ids, topic_names: of the topics; `topic_ids` includes those of the names.
        broker_id: a broker, or a controller.
        broker_partitions: those of which it is or was a replica or leader; grows while records are tested.
    """

    from_offset: int | None = None
    to_offset: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    epochs: frozenset[int] = frozenset()
    types: frozenset[str] = frozenset()
    topic_ids: frozenset[TopicId] = frozenset()
    topic_names: frozenset[str] = frozenset()
    broker_id: int | None = None
    broker_partitions: BrokerPartitions | None = None

    @property
    def is_everything(self) -> bool:
        return self == Selection()

    def of_batch(self, header: BatchHeader) -> Callable[[Record], bool] | None:
        """Return a test for a batch's records, or None if it can select none."""
        if self.epochs and header.partition_leader_epoch not in self.epochs:
            return None
        if self.from_offset is not None and header.last_offset < self.from_offset:
            return None
        if self.to_offset is not None and header.base_offset >= self.to_offset:
            return None
        return lambda record: self._chooses(header, record)

    def _chooses(self, header: BatchHeader, record: Record) -> bool:
        if not _within(record.offset, self.from_offset, self.to_offset):
            return False
        if not _within(record.timestamp_ms, self.since_ms, self.until_ms):
            return False
        by_topic = bool(self.topic_ids or self.topic_names)
        if not (self.types or by_topic or self.broker_id is not None):
            return True
        try:
            decoded = _decode(header, record)
        except RecordError:
            return False
        return (
            (self.broker_id is None or self._is_of_broker(decoded, self.broker_id))
            and (not self.types or _type_of(decoded) in self.types)
            and (not by_topic or self._is_of_topic(decoded))
        )

    def _is_of_broker(self, record: MetadataRecord | ControlRecord, broker_id: int) -> bool:
        if self.broker_partitions is not None and self.broker_partitions.holds(record):
            return True
        return _names_node(record, broker_id)

    def _is_of_topic(self, record: MetadataRecord | ControlRecord) -> bool:
        if getattr(record, "topic_id", None) in self.topic_ids:
            return True
        if isinstance(record, ConfigRecord):
            return record.resource_type == _TOPIC_RESOURCE and record.resource_name in self.topic_names
        return isinstance(record, TopicRecord) and record.name in self.topic_names


def plain_type(text: str) -> str:
    """Return a type's name without differences in spelling: `TOPIC_RECORD`, `TopicRecord` and `topic` are equal."""
    return re.sub(r"[_-]|record$", "", text, flags=re.IGNORECASE).lower()


def known_types() -> dict[str, str]:
    """Return every type's plain name, with the name that the dump shows."""
    names = [type_name(record) for record in METADATA_RECORDS.values()] + [name for name, _ in CONTROL_NAMES.values()]
    return {plain_type(name): name for name in names}


def ids_of(names: frozenset[str], batches: Iterable[list[bytes]]) -> set[TopicId]:
    """Return the ids that topics of these names ever had, by the TopicRecords in the values of these batches."""
    wanted = tuple(name.encode() for name in names)
    found: set[TopicId] = set()
    for values in batches:
        for value in values:
            if value[1:2] == bytes((TopicRecord.API_KEY,)) and any(name in value for name in wanted):
                try:
                    record = decode_record(value)
                except RecordError:
                    continue
                if isinstance(record, TopicRecord) and record.name in names:
                    found.add(record.topic_id)
    return found


def _within(value: int, first: int | None, end: int | None) -> bool:
    return (first is None or value >= first) and (end is None or value < end)


def _decode(header: BatchHeader, record: Record) -> MetadataRecord | ControlRecord:
    if header.is_control:
        return decode_control(record.key or b"", record.value or b"")
    return decode_record(record.value or b"")


def _type_of(record: MetadataRecord | ControlRecord) -> str:
    known = CONTROL_NAMES.get(type(record))  # type: ignore[arg-type]
    return plain_type(known[0] if known else type(record).__name__)


def _names_node(record: MetadataRecord | ControlRecord, node_id: int) -> bool:
    if isinstance(record, ConfigRecord):
        return record.resource_type == _BROKER_RESOURCE and record.resource_name == str(node_id)
    if any(getattr(record, name, None) == node_id for name in _NODE_FIELDS):
        return True
    if any(node_id in (getattr(record, name, None) or ()) for name in _NODES_FIELDS):
        return True
    return any(voter.voter_id == node_id for voter in getattr(record, "voters", ()))
