"""The first records of a controller that becomes active.

On an empty log they are the bootstrap records of a cluster, in one metadata transaction (KIP-868). Otherwise they abort
an open transaction of the predecessor. If the metadata topic has no own id yet, the same batch assigns one (KIP-516).
"""

from __future__ import annotations

from metadata_log.errors import InvariantViolation
from metadata_log.ids import METADATA_TOPIC_NAME, TopicId, is_assignable
from metadata_log.image import MetadataImage, ResourceType
from metadata_log.image.features import ELIGIBLE_LEADER_REPLICAS_VERSION, METADATA_VERSION
from metadata_log.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    MetadataRecord,
    TopicRecord,
)
from metadata_log.records.levels import TRANSACTIONS_LEVEL
from quorum.controller.config import ControllerConfig
from quorum.controller.configs.effective import MIN_INSYNC_REPLICAS

BOOTSTRAP_TRANSACTION = "Bootstrap records"
ABORT_REASON = "Controller failover"


def activation_records(
    image: MetadataImage,
    config: ControllerConfig,
    bootstrap_values: tuple[MetadataRecord, ...],
    *,
    open_transaction: bool,
    metadata_topic_id: TopicId,
) -> tuple[MetadataRecord, ...]:
    """Return the records, in order, for one atomic batch, possibly none.

    Raises:
        InvariantViolation: the new id is reserved or in use, or the log is empty and the bootstrap records have no
            metadata.version.
    """
    records: list[MetadataRecord] = [AbortTransactionRecord(reason=ABORT_REASON)] if open_transaction else []
    is_empty = image.features.metadata_version is None
    is_transaction = is_empty and _bootstrap_level(bootstrap_values, METADATA_VERSION) >= TRANSACTIONS_LEVEL
    if is_transaction:
        records.append(BeginTransactionRecord(name=BOOTSTRAP_TRANSACTION))
    if is_empty:
        records += bootstrap_values
        records += _cluster_wide_minimum(bootstrap_values, config)
    if METADATA_TOPIC_NAME not in image.topics.by_name:
        if not is_assignable(metadata_topic_id) or metadata_topic_id in image.topics.by_id:
            raise InvariantViolation("the id handed in for the metadata topic is reserved or another topic's")
        records.append(TopicRecord(name=METADATA_TOPIC_NAME, topic_id=metadata_topic_id))
    if is_transaction:
        records.append(EndTransactionRecord())
    return tuple(records)


def _bootstrap_level(bootstrap_values: tuple[MetadataRecord, ...], feature: str) -> int:
    level = 0
    for record in bootstrap_values:
        if isinstance(record, FeatureLevelRecord) and record.name == feature:
            level = record.feature_level
    if level == 0 and feature == METADATA_VERSION:
        raise InvariantViolation("the log is empty and the bootstrap records name no metadata.version")
    return level


def _cluster_wide_minimum(
    bootstrap_values: tuple[MetadataRecord, ...], config: ControllerConfig
) -> tuple[MetadataRecord, ...]:
    """Return a cluster-wide `min.insync.replicas` if the ELR feature is on: all brokers must agree on it (KIP-966)."""
    if _bootstrap_level(bootstrap_values, ELIGIBLE_LEADER_REPLICAS_VERSION) == 0:
        return ()
    if any(isinstance(record, ConfigRecord) and record.name == MIN_INSYNC_REPLICAS for record in bootstrap_values):
        return ()
    value = str(config.min_insync_replicas)
    return (ConfigRecord(resource_type=ResourceType.BROKER, resource_name="", name=MIN_INSYNC_REPLICAS, value=value),)
