"""Whether the records of a checkpoint are such as stand in one: what is there, each once, and nothing that happened.

Decides: which types those are, and what makes two records of one type the same thing's. Must not know: their order, and
how they are replayed. Topics and partitions that stand there twice are found where their ids are judged.

Source: Kafka's MetadataImage.write, which is what its snapshots are, and RecordsSnapshotWriter before it.
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
"""By type, what a record is about; None: its ids are judged elsewhere."""


class ImageRecords:
    """Takes the records of one checkpoint."""

    def __init__(self) -> None:
        self._seen: dict[tuple[type[Any], object], int] = {}

    def fault(self, record: MetadataRecord, offset: int) -> str | None:
        """Why the record cannot stand there, in half a sentence."""
        kind = type(record)
        if kind not in _OF_WHAT:
            return "a checkpoint says what is there, and this record what happened"
        of_what = _OF_WHAT[kind]
        if of_what is None:
            return None
        first = self._seen.setdefault((kind, of_what(record)), offset)
        return None if first == offset else f"the one at offset {first} says the same thing already"
