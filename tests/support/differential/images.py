"""The image at the end of a cluster's log, without what two clusters cannot share.

A topic's id is replaced by its name, an ACL's by the ACL. Left out are numbers and epochs of brokers, controllers
and producers, and the replicas that the controller chose; their count is compared. Left out, too, are this project's
metadata topic and quotas that differ by intention. All other records are compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Set
from typing import Any

import msgspec

from metadata_log.ids import METADATA_TOPIC_NAME
from metadata_log.image import MetadataImage
from metadata_log.image.checkpoint import records_of
from metadata_log.records import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    MetadataRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    TopicRecord,
)
from tests.support.differential.world import QuotaEntity

_OWN = (RegisterBrokerRecord, RegisterControllerRecord, ProducerIdsRecord)
_NOT_OF_A_PARTITION = ("topic_id", "leader_epoch", "partition_epoch", "directories")


def comparable_image(
    image: MetadataImage, by_hand: Collection[tuple[str, int]], quotas_apart: Set[QuotaEntity]
) -> list[str]:
    """Return a line for each record, sorted; `by_hand` and `quotas_apart` come from the World that both sides made."""
    return sorted(map(repr, _lines(image, by_hand, quotas_apart)))


def _lines(
    image: MetadataImage, by_hand: Collection[tuple[str, int]], quotas_apart: Set[QuotaEntity]
) -> Iterator[tuple[str, Any]]:
    names: dict[Any, str] = {}
    for record, _ in records_of(image):
        if isinstance(record, TopicRecord):
            names[record.topic_id] = record.name
    for record, _ in records_of(image):
        if isinstance(record, _OWN) or (isinstance(record, TopicRecord) and record.name == METADATA_TOPIC_NAME):
            continue
        if isinstance(record, ClientQuotaRecord) and _entity(record) in quotas_apart:
            continue
        yield type(record).__name__, _fields(record, names, by_hand)


def _entity(record: ClientQuotaRecord) -> QuotaEntity:
    return frozenset((part.entity_type, part.entity_name) for part in record.entity)


def _fields(record: MetadataRecord, names: dict[Any, str], by_hand: Collection[tuple[str, int]]) -> dict[str, Any]:
    fields = msgspec.structs.asdict(record)
    if isinstance(record, AccessControlEntryRecord):
        del fields["id"]
    elif isinstance(record, TopicRecord):
        del fields["topic_id"]
    elif isinstance(record, PartitionRecord):
        name = names[record.topic_id]
        for field in _NOT_OF_A_PARTITION:
            del fields[field]
        if (name, record.partition_id) not in by_hand:
            fields |= {"replicas": len(record.replicas), "isr": len(record.isr), "leader": record.leader >= 0}
        fields["topic"] = name
    return fields
