"""Rules for a checkpoint's records: only records of present state, each thing once.

Decides: the types that a checkpoint may have, and when two records of a type describe the same thing. Must not know:
their order, and how they are replayed. Topics and partitions that occur twice are found by the rules for their ids.

Source: Kafka's MetadataImage.write, which writes its snapshots, and RecordsSnapshotWriter before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from metadata_log.records import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    TopicRecord,
    UserScramCredentialRecord,
    ZkMigrationStateRecord,
)

_OF_WHAT: Final[dict[type[Any], Callable[[Any], object] | None]] = {
    AccessControlEntryRecord: None,
    TopicRecord: None,
    PartitionRecord: None,
    ClientQuotaRecord: lambda quota: (
        frozenset((part.entity_type, part.entity_name) for part in quota.entity), quota.key,
    ),
    ConfigRecord: lambda config: (config.resource_type, config.resource_name, config.name),
    DelegationTokenRecord: lambda token: token.token_id,
    FeatureLevelRecord: lambda feature: feature.name,
    ProducerIdsRecord: lambda producer_ids: None,
    RegisterBrokerRecord: lambda broker: broker.broker_id,
    RegisterControllerRecord: lambda controller: controller.controller_id,
    UserScramCredentialRecord: lambda credential: (credential.name, credential.mechanism),
    ZkMigrationStateRecord: lambda state: None,
}  # fmt: skip
"""By type, the function that identifies the thing which a record describes; None: the rules for its ids check it."""


class ImageRecords:
    """Checks the records of one checkpoint."""

    def __init__(self) -> None:
        self._seen: dict[tuple[type[Any], object], int] = {}

    def fault(self, record: MetadataRecord, offset: int) -> str | None:
        """Return why a checkpoint cannot have this record, as half a sentence, or None."""
        kind = type(record)
        if kind not in _OF_WHAT:
            return "a checkpoint says what is there, and this record what happened"
        of_what = _OF_WHAT[kind]
        if of_what is None:
            return None
        first = self._seen.setdefault((kind, of_what(record)), offset)
        return None if first == offset else f"the one at offset {first} says the same thing already"
