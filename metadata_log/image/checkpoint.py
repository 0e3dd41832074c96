"""Conversion between an image and the metadata records of a checkpoint.

Decides: the records that describe a whole image, their versions and order. Must not know: batches, files, or the
control records around them (`storage.checkpoint`).

The order of kinds is Kafka's; features are first, as metadata.version determines the versions of the rest. Within a
kind records are sorted, so that equal images yield equal records. Kafka's order follows its hash tables.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, TypeAlias

from metadata_log.ids import NodeId
from metadata_log.image.access import QuotaEntity
from metadata_log.image.builder import ImageBuilder
from metadata_log.image.errors import UnwritableMetadataError
from metadata_log.image.features import METADATA_VERSION
from metadata_log.image.image import MetadataImage
from metadata_log.image.known_partitions import Replayable
from metadata_log.image.older_release import NOT_SAVED, why_older
from metadata_log.image.partition_values import PartitionValues
from metadata_log.image.to_records import (
    partition_record,
    register_broker_record,
    register_controller_record,
    unwritable,
)
from metadata_log.offsets import OffsetAndEpoch
from metadata_log.records import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    EntityData,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    TopicRecord,
    UserScramCredentialRecord,
    encode_record,
)
from metadata_log.records.levels import LATEST_PRODUCTION, MINIMUM_LEVEL, is_writable, level_name, write_version

RecordAndVersion: TypeAlias = tuple[MetadataRecord, int]

_RUN: Final = 2000
"""The number of names that are sorted at once."""


def image_of_checkpoint(
    records: Iterable[Replayable], *, end: OffsetAndEpoch, last_contained_timestamp_ms: int
) -> MetadataImage:
    """Return the image of a checkpoint: `end` is in its name, the timestamp (ms since 1970) in its header record.

    Raises:
        ReplayError: a record is invalid; the error's offset is the record's index in `records`.
    """
    builder = ImageBuilder(MetadataImage.empty())
    for index, record in enumerate(records):
        builder.apply(record, index)
    return builder.build(end.offset, end.epoch, last_contained_timestamp_ms)


def records_of(image: MetadataImage) -> Iterator[RecordAndVersion]:
    """Yield the records of a checkpoint of `image`, each with the version for its finalized level.

    The order does not depend on the hash seed.

    Raises:
        UnwritableMetadataError: there is no metadata.version yet, it is unknown, or the image has data for which its
            level has no record.
    """
    return _records_at(image, _level_of(image))


def known_records_of(image: MetadataImage) -> Iterator[RecordAndVersion]:
    """Return the records of an image for a tool, even if its level is unknown, missing or too low.

    At a later release's level they are the records of the highest known level. They must not be written: the image
    lacks the later release's data. Without a metadata.version (before Kafka 3.3), or below the lowest level that nodes
    follow, they are the records of that lowest level.

    Raises:
        UnwritableMetadataError: the image has data for which its level has no record.
    """
    level = image.features.metadata_version or MINIMUM_LEVEL
    return _records_at(image, min(max(level, MINIMUM_LEVEL), LATEST_PRODUCTION))


def _records_at(image: MetadataImage, level: int) -> Iterator[RecordAndVersion]:
    yield from _before_topics(image, level)
    yield from _topics(image, level)
    yield from _after_topics(image, level)


def values_in_slices(image: MetadataImage, records: int) -> Iterator[list[bytes]]:
    """Yield the encoded records of a checkpoint in slices of at most `records` values.

    The caller can do other work between two slices: the image is immutable. A slice may be shorter or empty after a
    slow step, such as sorting a part of the topic names.

    Raises:
        UnwritableMetadataError: as `records_of`.
    """
    level = _level_of(image)
    yield from _in_slices(_encoded(_before_topics(image, level)), records)
    yield from _topic_values(image, level, records)
    yield from _in_slices(_encoded(_after_topics(image, level)), records)


def _level_of(image: MetadataImage) -> int:
    level = image.features.metadata_version
    older = why_older(image)
    if older is not None:
        raise UnwritableMetadataError(f"{older}. {NOT_SAVED}")
    if level is None:
        raise UnwritableMetadataError("there is no metadata.version yet: the log has not been bootstrapped")
    if level > LATEST_PRODUCTION:
        raise UnwritableMetadataError(
            f"metadata.version {level_name(level)} is of a later release, and its records are not known here: "
            "use the release that has finalised it"
        )
    return level


def _encoded(records: Iterable[RecordAndVersion]) -> Iterator[bytes]:
    return (encode_record(record, version) for record, version in records)


def _in_slices(values: Iterator[bytes], size: int) -> Iterator[list[bytes]]:
    while values_of_one := list(islice(values, size)):
        yield values_of_one


def _before_topics(image: MetadataImage, level: int) -> Iterator[RecordAndVersion]:
    yield from _features(image)
    yield from _nodes(image, level)


def _after_topics(image: MetadataImage, level: int) -> Iterator[RecordAndVersion]:
    yield from _configs(image)
    yield from _client_quotas(image)
    if image.producer_ids.next_producer_id >= 0:
        next_producer_id = image.producer_ids.next_producer_id
        yield ProducerIdsRecord(broker_id=NodeId(-1), broker_epoch=-1, next_producer_id=next_producer_id), 0
    yield from _acls(image)
    yield from _credentials(image, level)


def _features(image: MetadataImage) -> Iterator[RecordAndVersion]:
    if image.features.metadata_version is not None:
        yield FeatureLevelRecord(name=METADATA_VERSION, feature_level=image.features.metadata_version), 0
    for name, feature_level in sorted(image.features.levels.items()):
        yield FeatureLevelRecord(name=name, feature_level=feature_level), 0


def _nodes(image: MetadataImage, level: int) -> Iterator[RecordAndVersion]:
    for _, broker in sorted(image.cluster.brokers.items()):
        yield register_broker_record(broker, level), write_version(RegisterBrokerRecord, level)
    for _, controller in sorted(image.cluster.controllers.items()):
        _check_writable(RegisterControllerRecord, level, f"the registration of controller {controller.controller_id}")
        yield register_controller_record(controller), write_version(RegisterControllerRecord, level)


def _topics(image: MetadataImage, level: int) -> Iterator[RecordAndVersion]:
    by_id, by_name = image.topics.by_id, image.topics.by_name
    version = write_version(PartitionRecord, level)
    with_elr = image.features.elr_enabled
    for name in sorted(by_name):
        topic_id = by_name[name]
        yield TopicRecord(name=name, topic_id=topic_id), 0
        for partition in by_id[topic_id].partitions:
            yield partition_record(topic_id, partition, level, with_elr=with_elr), version


def _topic_values(image: MetadataImage, level: int, size: int) -> Iterator[list[bytes]]:
    """Yield the encoded records of all topics, in slices."""
    by_id, by_name = image.topics.by_id, image.topics.by_name
    partition_values = PartitionValues(level, with_elr=image.features.elr_enabled)
    values: list[bytes] = []
    for name in _sorted_in_steps(by_name):
        if name is None:
            yield []
            continue
        if len(values) >= size:
            yield values
            values = []
        topic_id = by_name[name]
        values.append(encode_record(TopicRecord(name=name, topic_id=topic_id), 0))
        for partition in by_id[topic_id].partitions:
            if len(values) >= size:
                yield values
                values = []
            values.append(partition_values.of(topic_id, partition))
    yield values


def _sorted_in_steps(names: Iterable[str]) -> Iterator[str | None]:
    """Yield the names in order, and None after each sorted run, so that each step is short. Runs are merged lazily."""
    rest, runs = iter(names), list[list[str]]()
    while run := sorted(islice(rest, _RUN)):
        runs.append(run)
        yield None
    yield from heapq.merge(*runs)


def _configs(image: MetadataImage) -> Iterator[RecordAndVersion]:
    for resource in sorted(image.configs.by_resource):
        for name, value in sorted(image.configs.by_resource[resource].items()):
            yield (
                ConfigRecord(resource_type=resource.resource_type, resource_name=resource.name, name=name, value=value),
                0,
            )


def _client_quotas(image: MetadataImage) -> Iterator[RecordAndVersion]:
    by_entity = image.client_quotas.by_entity
    for entity in sorted(by_entity, key=_entity_order):
        parts = tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in entity.parts)
        for key, value in sorted(by_entity[entity].items()):
            yield ClientQuotaRecord(entity=parts, key=key, value=value, remove=False), 0


def _acls(image: MetadataImage) -> Iterator[RecordAndVersion]:
    for acl_id in sorted(image.acls.by_id):
        entry = image.acls.by_id[acl_id]
        record = AccessControlEntryRecord(
            id=acl_id,
            resource_type=entry.resource_type,
            resource_name=entry.resource_name,
            pattern_type=entry.pattern_type,
            principal=entry.principal,
            host=entry.host,
            operation=entry.operation,
            permission_type=entry.permission_type,
        )
        yield record, 0


def _credentials(image: MetadataImage, level: int) -> Iterator[RecordAndVersion]:
    for user in sorted(image.scram.credentials):
        _check_writable(UserScramCredentialRecord, level, f"the SCRAM credential of user {user.name!r}")
        credential = image.scram.credentials[user]
        scram = UserScramCredentialRecord(
            name=user.name,
            mechanism=user.mechanism,
            salt=credential.salt,
            stored_key=credential.stored_key,
            server_key=credential.server_key,
            iterations=credential.iterations,
        )
        yield scram, 0
    for token_id, token in sorted(image.delegation_tokens.by_id.items()):
        _check_writable(DelegationTokenRecord, level, f"the delegation token {token_id!r}")
        record = DelegationTokenRecord(
            owner=token.owner,
            requester=token.requester,
            renewers=token.renewers,
            issue_timestamp=token.issue_timestamp,
            max_timestamp=token.max_timestamp,
            expiration_timestamp=token.expiration_timestamp,
            token_id=token_id,
        )
        yield record, 0


def _check_writable(record_type: type[MetadataRecord], level: int, what: str) -> None:
    if not is_writable(record_type, level):
        raise unwritable(level, what)


def _entity_order(entity: QuotaEntity) -> tuple[tuple[str, bool, str], ...]:
    return tuple((kind, name is not None, name or "") for kind, name in entity.parts)
