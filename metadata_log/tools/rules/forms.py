"""Rules for single metadata records, without the records before them.

Decides: whether a record decodes, and which values no record may have. Must not know: replay (`rules.records` does it,
and checks all of this, too).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from metadata_log.errors import MalformedRecordError, UnknownRecordError
from metadata_log.ids import METADATA_TOPIC_ID, ZERO_TOPIC_ID, TopicId, id_text
from metadata_log.records import (
    AccessControlEntryRecord,
    FeatureLevelRecord,
    PartitionRecord,
    RegisterControllerRecord,
    TopicRecord,
    decode_record,
)
from metadata_log.records.newer import newer_level, newer_record
from metadata_log.tools.findings.facts import InvalidTopicName, NullTopicId, SentinelTopicId, UndecodableRecord
from metadata_log.tools.findings.sink import FindingSink
from metadata_log.tools.rules.acls import entry_fault
from metadata_log.tools.rules.partitions import broken_rules
from metadata_log.tools.rules.place import Place
from metadata_log.tools.rules.values import controller_fault
from metadata_log.topic_names import name_fault


class _Assignment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The assignment in a PartitionRecord, with the names of the image."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    removing: tuple[int, ...]
    adding: tuple[int, ...]


class RecordForms:
    """Checks the data batches of one log or one checkpoint."""

    def __init__(self, sink: FindingSink) -> None:
        self._sink = sink

    def on_values(self, values: Iterable[bytes], base_offset: int, place: Place) -> None:
        """Check the records of one data batch; `values` are their encodings."""
        offset = base_offset
        for value in values:
            try:
                record = decode_record(value)
            except UnknownRecordError as error:
                place.note_newer(self._sink, newer_record(error), offset)
            except MalformedRecordError as error:
                self._add(*UndecodableRecord(offset=offset, fault=str(error)).worded(), offset, place)
            else:
                kind = type(record)
                if kind is PartitionRecord or kind is TopicRecord:
                    self._judge(record, offset, place)  # type: ignore[arg-type]
                elif kind is FeatureLevelRecord:
                    self._judge_feature(record, offset, place)  # type: ignore[arg-type]
                elif kind is AccessControlEntryRecord or kind is RegisterControllerRecord:
                    self._judge_values(record, offset, place)  # type: ignore[arg-type]
            offset += 1

    def _judge(self, record: PartitionRecord | TopicRecord, offset: int, place: Place) -> None:
        topic_id = record.topic_id
        if isinstance(record, TopicRecord):
            if topic_id == ZERO_TOPIC_ID:
                self._add(*NullTopicId(topic=record.name).worded(), offset, place, topic_id)
            elif topic_id == METADATA_TOPIC_ID:
                self._add(*SentinelTopicId(topic=record.name).worded(), offset, place, topic_id)
            why = name_fault(record.name)
            if why is not None:
                self._add(*InvalidTopicName(fault=why).worded(), offset, place, topic_id)
            return
        said = _Assignment(
            replicas=record.replicas,
            isr=record.isr,
            leader=record.leader,
            elr=record.eligible_leader_replicas or (),
            last_known_elr=record.last_known_elr or (),
            removing=record.removing_replicas,
            adding=record.adding_replicas,
        )
        for kind, why in broken_rules(said).items():
            what = f"the PartitionRecord at offset {offset} gives partition {record.partition_id} {why}"
            self._add(kind, what, offset, place, topic_id)

    def _judge_feature(self, record: FeatureLevelRecord, offset: int, place: Place) -> None:
        part = newer_level(record.name, record.feature_level)
        if part is not None:
            place.note_newer(self._sink, part, offset)

    def _judge_values(
        self, record: AccessControlEntryRecord | RegisterControllerRecord, offset: int, place: Place
    ) -> None:
        if isinstance(record, RegisterControllerRecord):
            fault = controller_fault(record)
        else:
            fault = entry_fault(record, may_be_unknown=True)
        if fault is not None:
            self._add("strange_value", f"{type(record).__name__} at offset {offset}: {fault}", offset, place)

    def _add(self, kind: str, meaning: str, offset: int, place: Place, topic_id: TopicId | None = None) -> None:
        self._sink.add(
            kind,
            meaning,
            file=place.file,
            position=place.position,
            offset=offset,
            epoch=place.epoch,
            topic_id=None if topic_id is None else id_text(topic_id),
        )
