"""Rules for metadata records after those before them: a replay that goes on past records which cannot be replayed.

Decides: which record breaks which rule. Must not know: files' bytes, batches' order, and other replicas.

If the records before are not all known (a log that starts without its checkpoint, or after damage), only the form of
records is checked. Otherwise the missing records would make others look wrong.

Source: the replay rules of Kafka's controller (KIP-516, KIP-631, KIP-704, KIP-841, KIP-858, KIP-868, KIP-966).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from metadata_log.errors import MalformedRecordError, UnknownRecordError
from metadata_log.ids import NodeId, TopicId, id_text
from metadata_log.image import ImageBuilder, MetadataImage, ReplayError
from metadata_log.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    MetadataRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    decode_record,
    decode_versioned,
    encode_record,
)
from metadata_log.records.newer import LATEST_RELEASE, NewerPart, newer_level, newer_record, newer_tag
from metadata_log.tools.findings.facts import UndecodableRecord
from metadata_log.tools.findings.sink import FindingSink
from metadata_log.tools.rules.image_records import ImageRecords
from metadata_log.tools.rules.levels import LevelRules
from metadata_log.tools.rules.place import Place
from metadata_log.tools.rules.record_values import RecordValues
from metadata_log.tools.rules.topic_ids import TopicIds
from metadata_log.tools.rules.topics import OffsetAndRecord, TopicRules

_TRANSACTION_RECORDS: Final = (BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord)
_OF_A_TOPIC: Final = (PartitionRecord, PartitionChangeRecord, RemoveTopicRecord)
_OF_A_BROKER: Final = (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)


_STRANGE: Final = NewerPart(what=f"values that no controller of {LATEST_RELEASE} writes")


class RecordRules:
    """Checks the data batches of one log or one checkpoint, in order. `start` sets the image before them."""

    def __init__(self, sink: FindingSink) -> None:
        self._sink = sink
        self._topics = TopicRules(self._add)
        self._values = RecordValues(self._add, self._topics)
        self._ids = TopicIds(self._add)
        self._levels = LevelRules(sink)
        self._image_records = ImageRecords()
        self.gone, self.loose = self._values.gone, self._values.loose
        self._image = MetadataImage.empty()
        self._before: MetadataImage | None = None
        """The published image while a transaction is open, otherwise None."""
        self._transaction_at = -1
        self._transaction_place: Place | None = None
        self._abandoned_in = -1
        """The last epoch whose leader was reported to go on within an earlier epoch's transaction."""
        self.is_trusted = False
        """True if all records before are known."""
        self.is_complete = False
        """True if they are known from the log's first record on: then every topic id ever assigned is known."""
        self.records = 0

    def start(self, image: MetadataImage, *, where: str, is_complete: bool = False) -> None:
        """Continue from `image`, the empty one or a checkpoint's; `where`: words for its place."""
        self._image = image
        self._before = None
        self._levels.start(image.features.metadata_version, where)
        self._ids.start(image, where, is_gap=not self.is_trusted)
        self.is_trusted = True
        self.is_complete = is_complete
        self._topics.start(image)
        self._values.start(image)

    def distrust(self) -> None:
        """Note that records are missing. Until `start`, check only the form of the others."""
        self.is_trusted = self.is_complete = False

    @property
    def image(self) -> MetadataImage | None:
        """Return the published image, or None if records before are missing."""
        if not self.is_trusted:
            return None
        return self._image if self._before is None else self._before

    @property
    def in_transaction(self) -> bool:
        """Return True if a metadata transaction is open."""
        return self._before is not None

    def end_checkpoint(self) -> None:
        """Check what is only final after the last batch of a checkpoint."""
        if self.is_trusted and self._before is None:
            self._topics.settle(self._image)

    def check_end(self, end: int) -> None:
        """Report a metadata transaction that the log, which ends at `end`, leaves open: it has not taken effect."""
        place = self._transaction_place
        if self._before is None or not self.is_trusted or place is None:
            return
        meaning = (
            f"the metadata transaction that begins at offset {self._transaction_at} is not ended at the log's end, "
            f"offset {end}: no record from there on has taken effect, so that topics created since are not seen"
        )
        self._add("open_transaction", meaning, self._transaction_at, place)

    def was_ever(self, topic_id: TopicId) -> bool:
        """Return True if any record here assigned a topic this id."""
        return self._ids.known(topic_id) is not None

    def was_name_removed(self, name: str) -> bool:
        """Return True if a topic of this name was removed."""
        return any(topic.name == name for topic in self._ids.removed())

    def given_at(self, topic_id: TopicId) -> int | None:
        """Return the offset of the record that assigned a topic this id; -1 if a checkpoint has it; None if none
        did."""
        topic = self._ids.known(topic_id)
        return None if topic is None else topic.offset

    def name_of(self, topic_id: TopicId) -> str | None:
        """Return the name of the topic that was assigned this id, or None."""
        topic = self._ids.known(topic_id)
        return None if topic is None else topic.name

    def given_to(self, topic_id: TopicId, name: str, partition: int, broker_id: NodeId | None) -> int | None:
        """Return the offset of the record that assigned this partition of the topic to the broker (if `broker_id`), or
        None.

        If the topic has another name, or replay left it out, return the offset of the record that assigned its id. -1:
        a checkpoint precedes the assignment's record, if there was one.
        """
        topic = self._ids.known(topic_id)
        if topic is None or topic.name != name or self._ids.is_refused(topic_id):
            return None if topic is None else topic.offset
        key = topic_id, partition
        at = self._topics.given.partition_at(key, topic.offset)
        now = None if self.image is None else self.image.topics.partition(topic_id, partition)
        if at is None or topic.offset < 0 or now is None or broker_id is None:
            return at
        return self._topics.given.replica_at(key, broker_id, at, now)

    def on_values(self, values: Iterable[bytes], base_offset: int, place: Place) -> None:
        """Check the records of one data batch; `values` are their encodings."""
        decoded: list[OffsetAndRecord] = []
        offset = base_offset
        for value in values:
            try:
                record = decode_record(value)
            except UnknownRecordError as error:
                place.note_newer(self._sink, newer_record(error), offset)
                self.distrust()
            except MalformedRecordError as error:
                self._add(*UndecodableRecord(offset=offset, fault=str(error)).worded(), offset, place)
                self.distrust()
            else:
                if self._levels.is_newer or type(record) is FeatureLevelRecord:
                    self._judge_newer(record, value, offset, place)
                if self._is_replayed(record, offset, place):
                    self._levels.on_record(record, value, offset, place, is_trusted=self.is_trusted)
                    decoded.append((offset, record))
            offset += 1
        self.records += offset - base_offset
        if decoded and self.is_trusted:
            self._replay(decoded, place)

    def _judge_newer(self, record: MetadataRecord, value: bytes, offset: int, place: Place) -> None:
        """Find levels and tagged fields of a later release; such fields occur only in a log at such a level."""
        if isinstance(record, FeatureLevelRecord):
            part = newer_level(record.name, record.feature_level)
            if part is not None:
                place.note_newer(self._sink, part, offset)
        if self._levels.is_newer and encode_record(record, decode_versioned(value)[1]) != value:
            place.note_newer(self._sink, newer_tag(type(record)), offset)

    def _is_replayed(self, record: MetadataRecord, offset: int, place: Place) -> bool:
        """Return False for a NoOp, and for a record that a checkpoint cannot have, which is reported."""
        why = self._image_records.fault(record, offset) if place.offsets_are_own else None
        if why is not None:
            meaning = f"the {type(record).__name__} at offset {offset}: {why}"
            self._add("checkpoint_malformed", meaning, offset, place)
        return why is None and type(record) is not NoOpRecord

    def _add(
        self, kind: str, meaning: str, offset: int, place: Place, topic_id: TopicId | None = None, group: object = None
    ) -> None:
        if kind == "strange_value" and self._levels.is_newer:
            place.note_newer(self._sink, _STRANGE, offset)
            return
        key = (place.file, topic_id, group) if topic_id is not None or group is not None else None
        self._sink.add(
            kind,
            meaning,
            group=key,
            file=place.file,
            position=place.position,
            offset=offset,
            epoch=place.epoch,
            topic_id=None if topic_id is None else id_text(topic_id),
        )

    def _replay(self, decoded: list[OffsetAndRecord], place: Place) -> None:
        """Replay a batch. A record that cannot be replayed is left out, and the batch is replayed again without it."""
        image = self._image
        waiting: list[OffsetAndRecord] = []
        created = (record for _, record in decoded) if self._levels.is_of_3_3 else ()
        self._values.begin_batch(created, is_older=self._levels.is_older)
        self._check_takeover(decoded[0], place)
        for offset, record in decoded:
            if type(record) in _TRANSACTION_RECORDS:
                image = self._apply(image, waiting, place)
                image = self._on_transaction(image, record, offset, place)
                waiting = []
            elif self._may_follow(record, offset, place):
                waiting.append((offset, record))
        self._image = self._apply(image, waiting, place)
        if self._before is None and not place.offsets_are_own:
            self._topics.settle(self._image)

    def _check_takeover(self, first: OffsetAndRecord, place: Place) -> None:
        """Report a new leader that goes on within an earlier epoch's transaction: it must abort that first
        (KIP-868)."""
        begun, (offset, record) = self._transaction_place, first
        if self._before is None or begun is None or place.epoch <= begun.epoch:
            return
        if isinstance(record, AbortTransactionRecord) or self._abandoned_in == place.epoch:
            return
        self._abandoned_in = place.epoch
        meaning = (
            f"the transaction that begins at offset {self._transaction_at} in epoch {begun.epoch} is open, and the "
            f"leader of epoch {place.epoch} goes on with {type(record).__name__} at offset {offset}, without its abort"
        )
        self._add("transaction_broken", meaning, offset, place)

    def _apply(self, image: MetadataImage, records: list[OffsetAndRecord], place: Place) -> MetadataImage:
        """Return `image` after these records, without those that cannot be replayed."""
        left = records
        while True:
            builder = ImageBuilder(image)
            try:
                for offset, record in left:
                    builder.apply(record, offset)
            except ReplayError as error:
                self._on_impossible(error, record, offset, place)
                left = [(at, kept) for at, kept in left if at != offset]
                continue
            end = image.offset_and_epoch
            after = builder.build(end.offset, end.epoch, image.last_contained_timestamp_ms)
            self._topics.on_batch(image, after, left, place)
            return after

    def _on_impossible(self, error: ReplayError, record: MetadataRecord, offset: int, place: Place) -> None:
        meaning = (
            f"{error.record} at offset {offset} cannot be replayed: {error.why}{self._values.contradicted(record)}"
        )
        if isinstance(record, PartitionChangeRecord):
            kind = "unknown_partition" if error.lacks_partition else "impossible_record"
            self._add(kind, meaning, offset, place, record.topic_id, record.partition_id)
        elif isinstance(record, _OF_A_BROKER):
            self._add("unknown_broker", meaning, offset, place)
        else:
            self._add("impossible_record", meaning, offset, place)

    def _may_follow(self, record: MetadataRecord, offset: int, place: Place) -> bool:
        """Return True if the record may be replayed. Faults of topics and their ids are reported here."""
        if isinstance(record, TopicRecord):
            return self._ids.on_topic(record, offset, place, is_migrated=self._topics.is_migrated)
        if isinstance(record, _OF_A_TOPIC):
            topic = self._ids.on_use(record, offset, place)
            if topic is not None and isinstance(record, RemoveTopicRecord):
                self.gone.on_removal(topic.name, self._image.configs.of_topic(topic.name))
            return topic is not None
        self._values.on_record(record, offset, place, self._ids.names, self._image.cluster, self._levels.level)
        return True

    def _on_transaction(self, image: MetadataImage, record: MetadataRecord, offset: int, place: Place) -> MetadataImage:
        name = type(record).__name__
        if isinstance(record, BeginTransactionRecord):
            if self._before is not None:
                meaning = f"{name} at offset {offset}, though the transaction of offset {self._transaction_at} is open"
                self._add("transaction_broken", meaning, offset, place)
                return image
            self._before = image
            self._ids.begin()
            self._values.begin()
            self._transaction_at, self._transaction_place = offset, place
            return image
        if self._before is None:
            self._add("transaction_broken", f"{name} at offset {offset}, but no transaction is open", offset, place)
            return image
        before, self._before = self._before, None
        if isinstance(record, EndTransactionRecord):
            return image
        self._topics.forget()
        self._values.abort()
        self._ids.abort()
        return before
