"""The features that Kafka knows beside metadata.version, and the levels of each that a release can run.

Decides: the highest level of a feature that software of a metadata.version supports; a controller stops as it replays
one above that, or one of a feature that it does not know, unless it is 0, which means none. Must not know: images.

Source: QuorumFeatures.defaultSupportedFeatureMap of Kafka 4.0.0, 4.1.0, 4.2.0 and 4.3.0, defaultFeatureMap of 3.8.1 and
3.9.1 (asked of the published kafka-metadata jars, without unstable features); FeatureControlManager.replay.
"""

from __future__ import annotations

from typing import Final

from metadata_log.records.declarations.cluster import FeatureLevelRecord
from metadata_log.records.levels import FEATURE_NAME, LATEST_PRODUCTION, metadata_version

_RELEASED: Final = {
    "group.version": (22, 1),
    "kraft.version": (21, 1),
    "share.version": (26, 1),
    "streams.version": (28, 1),
    "transaction.version": (22, 2),
    "eligible.leader.replicas.version": (22, 1),
}
"""The first metadata.version of the release that knows the feature (3.9-IV0, 4.0-IV0, 4.1-IV0, 4.2-IV0), and the
highest level of it: none has had more than one highest level so far. The lowest is 0."""


def highest_feature_level(name: str, level: int) -> int:
    """The highest level of a feature other than metadata.version that software of this level supports; 0: none."""
    since, highest = _RELEASED.get(name, (level, 0))
    return highest if level >= since else 0


def supported_features(level: int) -> dict[str, int]:
    """All features other than metadata.version that software of this level supports, with the highest level of each."""
    return {name: highest for name, (since, highest) in _RELEASED.items() if level >= since}


def unsupported_feature(record: FeatureLevelRecord, level: int) -> str | None:
    """Why a controller of this metadata.version stops at the record, in half a sentence; None: it does not.

    Levels of metadata.version, and those below 0, are judged by replay.
    """
    if record.name == FEATURE_NAME:
        return None
    return unsupported_level(record.name, record.feature_level, level)


def unsupported_level(name: str, wanted: int, level: int) -> str | None:
    """Why software of this metadata.version cannot run level `wanted` of another feature; None: it can."""
    highest = highest_feature_level(name, level)
    if wanted <= highest:
        return None
    if not highest:
        return f"{metadata_version(level)} has no feature {name}"
    return f"{metadata_version(level)} has {name} up to {highest}"


def unknown_feature(record: FeatureLevelRecord) -> str | None:
    """As `unsupported_feature`, for the newest release that is known here; its unstable features are the same."""
    why = unsupported_feature(record, LATEST_PRODUCTION)
    if why is None:
        return None
    return f"it sets {record.name} to {record.feature_level}, and {why}: its controllers stop at it"
