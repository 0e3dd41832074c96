"""Rules for the values of records, given the records before them.

Decides: which rules apply to each type of record. Must not know: the rules themselves (`rules.values`, `rules.acls`),
and how records are replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Final, Protocol

from metadata_log.image import ClusterImage, MetadataImage, ResourceType
from metadata_log.records import (
    AccessControlEntryRecord,
    BrokerRegistrationChangeRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FenceBrokerRecord,
    MetadataRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveAccessControlEntryRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UserScramCredentialRecord,
    ZkMigrationStateRecord,
)
from metadata_log.records.levels import ACL_RANGES_LEVEL
from metadata_log.tools.rules.acls import AclRules, entry_fault
from metadata_log.tools.rules.directory_owners import DirectoryOwners
from metadata_log.tools.rules.orphaned_configs import RemovedTopicConfigs
from metadata_log.tools.rules.place import Place
from metadata_log.tools.rules.topics import AddFinding, TopicRules
from metadata_log.tools.rules.values import (
    KindAndFault,
    block_fault,
    broker_fault,
    config_fault,
    controller_fault,
    credential_fault,
    producer_fault,
    quota_fault,
    token_fault,
)

_MIGRATION_STATES: Final = range(5)
"""None, before, during and after the migration, and not begun (Kafka 3.9's ZkMigrationState)."""

_Registration = RegisterBrokerRecord | BrokerRegistrationChangeRecord


class BrokerRule(Protocol):
    """A rule that compares the registrations of brokers, also within one batch: it keeps what it needs of each."""

    def start(self, cluster: ClusterImage) -> None:
        """Continue from the brokers of this image."""

    def begin(self) -> None:
        """Begin a metadata transaction."""

    def abort(self) -> None:
        """Discard all changes since `begin`."""

    def fault(self, record: _Registration) -> KindAndFault | None:
        """Return the fault in a registration, or in a change of one, or None."""

    def on_record(self, record: _Registration | UnregisterBrokerRecord) -> None:
        """Take a record, after `fault` has judged it."""


BROKER_RULES: Final[tuple[Callable[[], BrokerRule], ...]] = (DirectoryOwners,)
"""The rules that compare brokers, in the order of their findings: a record has at most one. A new rule is one entry."""


class RecordValues:
    """Checks the records of one log or one checkpoint, except those of topics and transactions."""

    def __init__(self, add: AddFinding, topics: TopicRules) -> None:
        self._add = add
        self._topics = topics
        self._acls = AclRules()
        self._broker_rules = [rule() for rule in BROKER_RULES]
        self._before = RecordsBefore()
        self._is_older, self._created = False, frozenset[str]()
        self._producer_ids_end: int | None = None
        self.gone = RemovedTopicConfigs()
        self.loose: dict[str, tuple[int, int]] = {}
        """In a checkpoint: offset and position of the first config of each topic that does not precede it."""

    def start(self, image: MetadataImage) -> None:
        """Continue from this image."""
        self._acls.start(image.acls)
        for rule in self._broker_rules:
            rule.start(image.cluster)
        self._producer_ids_end = int(image.producer_ids.next_producer_id)

    def contradicted(self, record: MetadataRecord) -> str:
        """Return words for the earlier record that a record which cannot be replayed contradicts; empty if unknown."""
        return self._before.contradicted(record)

    def begin_batch(self, records: Iterable[MetadataRecord], *, is_older: bool) -> None:
        """Begin a batch. `records`: those of the batch if a controller up to Kafka 3.3 may have written it, otherwise
        none.

        Such a controller writes a new topic's configs before the topic. `is_older`: no metadata.version is finalised,
        as before Kafka 3.3, where a broker's epoch is not its record's offset.
        """
        self.gone.begin_batch()
        self._is_older = is_older
        self._created = frozenset(record.name for record in records if isinstance(record, TopicRecord))

    def begin(self) -> None:
        """Begin a metadata transaction."""
        self._acls.begin()
        for rule in self._broker_rules:
            rule.begin()

    def abort(self) -> None:
        """Discard all changes since `begin`."""
        self._acls.abort()
        for rule in self._broker_rules:
            rule.abort()
        self._producer_ids_end = None

    def on_record(
        self,
        record: MetadataRecord,
        offset: int,
        place: Place,
        topics: Container[str],
        cluster: ClusterImage,
        level: int,
    ) -> None:
        """Check a record. `topics` (by name) and `cluster` are those before its batch; `level` is the metadata.version.

        A checkpoint may have all its records in one batch. So a rule that compares records of one batch keeps its own
        state, with `begin` and `abort`: `BROKER_RULES` and `AclRules`.
        """
        if isinstance(record, ConfigRecord):
            self.gone.on_config(record)
            of_new = record.resource_type == ResourceType.TOPIC and record.resource_name in self._created
            fault = None if of_new else config_fault(record, topics)
            if fault is not None and place.offsets_are_own and record.resource_type == ResourceType.TOPIC:
                self.loose.setdefault(record.resource_name, (offset, place.position))
            elif fault is not None:
                resource = (record.resource_type, record.resource_name)
                what = f"the ConfigRecord at offset {offset} sets {record.name!r}: {fault}"
                self._add("config_of_nothing", what, offset, place, group=resource)
            elif not record.name:
                what = f"the ConfigRecord at offset {offset} sets a config without a name on {record.resource_name!r}"
                self._add("strange_value", what, offset, place)
            return
        if isinstance(record, ProducerIdsRecord | RegisterBrokerRecord):
            self._before.on_record(record, None if place.offsets_are_own else offset)
        if isinstance(record, RegisterBrokerRecord | BrokerRegistrationChangeRecord):
            broken = self._on_registration(record, offset, place, cluster)
        elif isinstance(record, UnregisterBrokerRecord):
            self._on_removal(record)
            return
        elif isinstance(record, AccessControlEntryRecord):
            broken = self._on_entry(record, level >= ACL_RANGES_LEVEL and not place.offsets_are_own)
        elif isinstance(record, RemoveAccessControlEntryRecord):
            self._acls.on_removal(record)
            return
        elif isinstance(record, ZkMigrationStateRecord):
            broken = self._on_migration(record)
        else:
            strange = self._strange(record, place, cluster)
            broken = None if strange is None else ("strange_value", strange)
        if broken is not None:
            self._add(broken[0], f"{type(record).__name__} at offset {offset}: {broken[1]}", offset, place)

    def _on_registration(
        self,
        record: _Registration,
        offset: int,
        place: Place,
        cluster: ClusterImage,
    ) -> KindAndFault | None:
        self._topics.on_registration(record)
        offsets = None if place.offsets_are_own or self._is_older else range(place.base_offset, offset + 1)
        broken = broker_fault(record, cluster, offsets) if isinstance(record, RegisterBrokerRecord) else None
        for rule in self._broker_rules:
            broken = broken or rule.fault(record)
            rule.on_record(record)
        return broken

    def _on_removal(self, record: UnregisterBrokerRecord) -> None:
        for rule in self._broker_rules:
            rule.on_record(record)

    def _on_entry(self, record: AccessControlEntryRecord, has_checked_host: bool) -> tuple[str, str] | None:
        broken = self._acls.on_entry(record)
        is_migrated = self._topics.is_migrated
        if is_migrated:  # before 3.6 a new leader repeated an unfinished migration
            broken = None
        fault = entry_fault(record, may_be_unknown=is_migrated, has_checked_host=has_checked_host)
        return broken if broken is not None or fault is None else ("strange_value", fault)

    def _on_migration(self, record: ZkMigrationStateRecord) -> tuple[str, str] | None:
        state = record.zk_migration_state
        self._topics.is_migrated |= state > 0
        if state in _MIGRATION_STATES:
            return None
        return "impossible_record", f"there is no state {state} of a migration: controllers of Kafka 3.x stop at it"

    def _strange(self, record: MetadataRecord, place: Place, cluster: ClusterImage) -> str | None:
        """Return a fault that no controller writes but replay accepts, or None. Values from ZooKeeper are not
        judged."""
        if self._topics.is_migrated:
            return None
        if isinstance(record, ProducerIdsRecord):
            end, self._producer_ids_end = self._producer_ids_end, record.next_producer_id
            # A checkpoint's one names no broker and has no predecessor.
            return None if place.offsets_are_own else producer_fault(record, cluster) or block_fault(record, end)
        if isinstance(record, UserScramCredentialRecord):
            return credential_fault(record)
        if isinstance(record, ClientQuotaRecord):
            return quota_fault(record)
        if isinstance(record, DelegationTokenRecord):
            return token_fault(record)
        return controller_fault(record) if isinstance(record, RegisterControllerRecord) else None


class RecordsBefore:
    """Takes registrations of brokers, and blocks of producer ids, before they are replayed."""

    def __init__(self) -> None:
        self._registered: dict[int, int | None] = {}
        self._last_block: int | None = None
        self._block_before: int | None = None

    def on_record(self, record: ProducerIdsRecord | RegisterBrokerRecord, offset: int | None) -> None:
        """Take a record. `offset`: in the log; None in a checkpoint."""
        if isinstance(record, RegisterBrokerRecord):
            self._registered[record.broker_id] = offset
        else:
            self._block_before, self._last_block = self._last_block, offset

    def contradicted(self, record: MetadataRecord) -> str:
        """Return words for the earlier record, as the end of a sentence; empty if unknown."""
        if isinstance(record, ProducerIdsRecord):
            at = self._block_before
            return "" if at is None else f", of the record at offset {at}, which may be the wrong one of the two"
        broker = _broker_of(record)
        at = None if broker is None else self._registered.get(broker)
        if at is None:
            return ""
        return f"; its registration is the record at offset {at}, which may be the wrong one of the two"


def _broker_of(record: MetadataRecord) -> int | None:
    if isinstance(record, FenceBrokerRecord | UnfenceBrokerRecord):
        return int(record.id)
    if isinstance(record, BrokerRegistrationChangeRecord | UnregisterBrokerRecord):
        return int(record.broker_id)
    return None
