"""Kafka's features other than metadata.version: their levels and requirements.

Decides: the highest level of a feature that software of a metadata.version supports, and the level in a new cluster. A
controller stops if it replays a level above the highest, or a level above 0 of an unknown feature. Must not know:
images.

Source: QuorumFeatures.defaultSupportedFeatureMap of Kafka 4.0.0 to 4.4.0, defaultFeatureMap of 3.8.1 and 3.9.1 (from
the published kafka-metadata jars, without unstable features); the enum Feature; FeatureControlManager.replay.
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.records.declarations.cluster import FeatureLevelRecord
from metadata_log.records.levels import FEATURE_NAME, LATEST_PRODUCTION, metadata_version, plain_level_name


class FeatureLevel(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One level of a feature, above 0.

    Attributes:
        name: of the feature.
        level: of the feature.
        supported_since: the first metadata.version of the first release that supports the level.
        default_since: the metadata.version from which a new cluster has the level on; None: a new cluster never has.
        needs_metadata_version: the lowest metadata.version at which the level may be finalised.
    """

    name: str
    level: int
    supported_since: int
    default_since: int | None
    needs_metadata_version: int = 0


def _row(name: str, level: int, since: int, default: int | None, needs: int = 0) -> FeatureLevel:
    return FeatureLevel(
        name=name, level=level, supported_since=since, default_since=default, needs_metadata_version=needs
    )


FEATURE_LEVELS: Final = (
    _row("eligible.leader.replicas.version", 1, 22, 26, needs=23),
    _row("group.version", 1, 22, 22),
    _row("kraft.version", 1, 21, None),
    _row("share.version", 1, 26, 28),
    _row("share.version", 2, 31, 31),
    _row("streams.version", 1, 28, 29),
    _row("transaction.version", 1, 22, 24),
    _row("transaction.version", 2, 22, 24),
)
"""All levels above 0, by feature and ascending. The lowest level of each feature is 0, which is off."""

IN_KAFKAS_ORDER: Final = (
    FEATURE_NAME,
    "kraft.version",
    "transaction.version",
    "group.version",
    "eligible.leader.replicas.version",
    "share.version",
    "streams.version",
)
"""All features in the order of Kafka's enum Feature, in which its tools print them; metadata.version is the first."""


def highest_feature_level(name: str, level: int) -> int:
    """Return the highest level of a feature other than metadata.version that software of this level supports, or 0."""
    return max((row.level for row in FEATURE_LEVELS if row.name == name and level >= row.supported_since), default=0)


def supported_features(level: int) -> dict[str, int]:
    """Return the features other than metadata.version that software of this level supports, each with its highest."""
    return {row.name: row.level for row in FEATURE_LEVELS if level >= row.supported_since}


def default_features(level: int) -> dict[str, int]:
    """Return the features beside metadata.version that a new cluster of this level has on, by name.

    Raises:
        UnknownLevelError: there is no such level.
    """
    known = metadata_version(level).level
    return {
        row.name: row.level for row in FEATURE_LEVELS if row.default_since is not None and known >= row.default_since
    }


def mapped_features(level: int) -> dict[str, int]:
    """Return the level of every feature that Kafka maps to this metadata.version, in the order of Kafka's tools.

    For kraft.version it is the highest level, though a new cluster may have less: its voters decide.
    Source: Feature.defaultLevel of Kafka 4.4.0.

    Raises:
        UnknownLevelError: there is no such level.
    """
    levels = {
        **default_features(level),
        FEATURE_NAME: level,
        "kraft.version": highest_feature_level("kraft.version", level),
    }
    return {name: levels.get(name, 0) for name in IN_KAFKAS_ORDER}


def needed_metadata_version(name: str, level: int) -> int:
    """Return the lowest metadata.version at which this level of a feature may be finalised; 0: any."""
    return max(
        (row.needs_metadata_version for row in FEATURE_LEVELS if row.name == name and row.level == level), default=0
    )


def unsupported_feature(record: FeatureLevelRecord, level: int) -> str | None:
    """Return why a controller of this metadata.version stops at the record, in half a sentence; None: it does not.

    Levels of metadata.version, and those below 0, are judged by replay.
    """
    if record.name == FEATURE_NAME:
        return None
    return unsupported_level(record.name, record.feature_level, level)


def unsupported_level(name: str, wanted: int, level: int) -> str | None:
    """Return why software of this metadata.version cannot run level `wanted` of another feature; None: it can."""
    highest = highest_feature_level(name, level)
    if wanted <= highest:
        return None
    if not highest:
        return f"{plain_level_name(level)} has no feature {name}"
    return f"{plain_level_name(level)} has {name} up to {highest}"


def why_no_first_level(name: str, wanted: int, level: int) -> str | None:
    """Return why no cluster can be formatted with level `wanted` of another feature at this metadata.version, or None.

    Source: Formatter.calculateEffectiveFeatureLevels and Feature.validateVersion of Kafka 4.4.0.
    """
    known = supported_features(LATEST_PRODUCTION)
    if name not in known:
        return (
            f"Kafka {metadata_version(LATEST_PRODUCTION).release} has no such feature, only {', '.join(sorted(known))}"
        )
    if not 0 <= wanted <= known[name]:
        return f"there is no such level, only 0 to {known[name]}"
    needed = needed_metadata_version(name, wanted)
    if level < needed:
        return f"it needs metadata.version {metadata_version(needed)}, and {metadata_version(level)} is lower"
    return None
