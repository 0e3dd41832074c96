"""UpdateFeatures: finalizes levels of features, all or none (KIP-584, KIP-778, KIP-1022).

Every broker and controller must support a level. metadata.version is lowered only if no record changed between the
levels. When the ELR feature is enabled, the whole cluster must agree on the smallest ISR, so brokers lose their own
values (KIP-966). When it is disabled, all ELRs are cleared. Checkpoints then have no ELRs; an ELR that stayed until the
feature returns would name replicas that have missed records.

kraft.version is in control records, which Raft writes: here it is only validated.
"""

from __future__ import annotations

from metadata_log.ids import NodeId
from metadata_log.image import NO_LEADER, PartitionImage, ResourceType
from metadata_log.image.features import ELIGIBLE_LEADER_REPLICAS_VERSION, KRAFT_VERSION, METADATA_VERSION
from metadata_log.records import (
    ClearElrRecord,
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionChangeRecord,
)
from metadata_log.records.levels import METADATA_VERSIONS, level_name, level_text
from quorum.api.context import CLUSTER, Operation, authorize
from quorum.api.error_codes import Error
from quorum.api.features import FeatureUpdate, UpdateFeatures, UpdateFeaturesResponse, UpgradeType
from quorum.controller.configs.effective import MIN_INSYNC_REPLICAS
from quorum.controller.features import why_not_on_its_own, why_not_supported
from quorum.controller.metadata_levels import level_of
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn

_UPGRADE_TYPES = frozenset(UpgradeType) - {UpgradeType.UNKNOWN}


def handle_update_features(request: UpdateFeatures, turn: Turn) -> ControllerResult[UpdateFeaturesResponse]:
    """Return a FeatureLevelRecord for each feature, even for an unchanged level."""
    error = authorize(turn.context, Operation.ALTER, CLUSTER, turn.image)
    if error is not Error.NONE:
        return ControllerResult(response=request.rejected(error, "Authorization failed."))
    updates = {update.name: update for update in request.updates}
    levels = {
        **dict(turn.image.features.levels.items()),
        METADATA_VERSION: level_of(turn.image),
        **{update.name: update.level for update in updates.values()},
    }
    for update in updates.values():
        why = _why_refused(update, levels, turn)
        if why is not None:
            why = f"The update failed for all features since the following feature had an error: {why}"
            return ControllerResult(response=request.rejected(Error.INVALID_UPDATE_VERSION, why))
    if request.validate_only:
        return ControllerResult(response=UpdateFeaturesResponse())
    if KRAFT_VERSION in updates:
        why = f"{KRAFT_VERSION} is not raised by the controller but by Raft: ask for it with UpgradeKRaftVersion."
        return ControllerResult(response=request.rejected(Error.INVALID_REQUEST, why))
    records: list[MetadataRecord] = []
    elr = updates.get(ELIGIBLE_LEADER_REPLICAS_VERSION)
    if elr is not None and elr.level > 0:
        records += _one_minimum(turn)
    elif elr is not None and turn.image.features.elr_enabled:
        records += _without_elr(turn)
        if len(records) > turn.config.max_records_per_batch:
            why = "Too many partitions have no leader to give up their eligible replicas at once: start brokers first."
            return ControllerResult(response=request.rejected(Error.POLICY_VIOLATION, why))
    records += [FeatureLevelRecord(name=update.name, feature_level=update.level) for update in updates.values()]
    return ControllerResult(records=tuple(records), response=UpdateFeaturesResponse())


def _without_elr(turn: Turn) -> list[MetadataRecord]:
    """Return records that clear all ELRs.

    If a partition has neither a leader nor an ISR, a formerly eligible replica joins the ISR. As without the ELR
    feature, only that replica may lead again.
    """
    records: list[MetadataRecord] = [
        PartitionChangeRecord(
            topic_id=topic.topic_id,
            partition_id=partition.partition_id,
            isr=_last_in_sync(partition),
            eligible_leader_replicas=(),
        )
        for topic in turn.state.index.leaderless_topics(turn.image)
        for partition in topic.partitions
        if partition.leader == NO_LEADER and partition.elr and not partition.isr
    ]
    return [*records, ClearElrRecord(topic_name="")]


def _last_in_sync(partition: PartitionImage) -> tuple[NodeId, ...]:
    """Return the last leader, which left the ISR last, or the first eligible replica if that one is not eligible."""
    last = (*partition.last_known_elr, *partition.replicas)
    return tuple(broker for broker in last if broker in partition.elr)[:1]


def _why_refused(update: FeatureUpdate, levels: dict[str, int], turn: Turn) -> str | None:
    why = _why_invalid(update, levels, turn)
    if why is None and update.name == METADATA_VERSION:
        return _why_unreadable(update, turn)
    if why is None:
        return None
    return f"Invalid update version {level_text(update.name, update.level)} for feature {update.name}. {why}"


def _why_invalid(update: FeatureUpdate, levels: dict[str, int], turn: Turn) -> str | None:
    if update.upgrade_type not in _UPGRADE_TYPES:
        return "The controller does not support the given upgrade type."
    if update.level < 0:
        return "A feature version cannot be less than 0."
    why = why_not_supported(update.name, update.level, turn.image, turn.config)
    if why is not None or update.name == KRAFT_VERSION:
        return why
    current = turn.image.features.level_of(update.name)
    is_upgrade = update.upgrade_type == UpgradeType.UPGRADE
    if update.level < current and is_upgrade:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe"
            " downgrade."
        )
    if update.level > current and not is_upgrade:
        return "Can't downgrade to a newer version."
    return why_not_on_its_own(update.name, update.level, levels)


def _why_unreadable(update: FeatureUpdate, turn: Turn) -> str | None:
    """Return why a metadata.version cannot be lowered, or None: older software may not read changed records."""
    current = level_of(turn.image)
    if not any(update.level < each.level <= current and each.changes_records for each in METADATA_VERSIONS):
        return None
    if update.upgrade_type == UpgradeType.UNSAFE_DOWNGRADE:
        why = "Unsafe metadata downgrade is not supported in this version."
    else:
        why = "Refusing to perform the requested downgrade because it might delete metadata information."
    return f"Unsupported metadata.version downgrade from {level_name(current)} to {level_name(update.level)}. {why}"


def _one_minimum(turn: Turn) -> list[MetadataRecord]:
    """Return records that set a cluster-wide smallest ISR unless it exists, and remove the brokers' own."""

    def record(broker: str, value: str | None) -> ConfigRecord:
        return ConfigRecord(
            resource_type=ResourceType.BROKER, resource_name=broker, name=MIN_INSYNC_REPLICAS, value=value
        )

    configs = turn.image.configs
    records: list[MetadataRecord] = []
    if MIN_INSYNC_REPLICAS not in configs.of_cluster():
        records.append(record("", str(turn.config.min_insync_replicas)))
    own = [
        resource.name
        for resource, values in configs.by_resource.items()
        if resource.resource_type == ResourceType.BROKER and resource.name and MIN_INSYNC_REPLICAS in values
    ]
    return [*records, *(record(broker, None) for broker in sorted(own))]
