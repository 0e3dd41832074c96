"""Features: the supported levels, and the nodes that must support a level before it is finalized.

Source: the features of Kafka 4.4 and their dependencies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from metadata_log.image import MetadataImage
from metadata_log.image.cluster import SupportedFeature
from metadata_log.image.features import METADATA_VERSION
from metadata_log.records.feature_levels import needed_metadata_version, supported_features
from metadata_log.records.levels import (
    CONTROLLER_REGISTRATION_LEVEL,
    LATEST_PRODUCTION,
    MINIMUM_LEVEL,
    level_name,
    level_text,
)
from quorum.api.brokers import FeatureRange
from quorum.controller.config import ControllerConfig
from quorum.controller.metadata_levels import level_of

SUPPORTED_FEATURES: Final = (
    FeatureRange(name=METADATA_VERSION, min_supported_version=MINIMUM_LEVEL, max_supported_version=LATEST_PRODUCTION),
    *(
        FeatureRange(name=name, min_supported_version=0, max_supported_version=most)
        for name, most in supported_features(LATEST_PRODUCTION).items()
    ),
)
"""The supported levels of this software, as in the registration of Kafka 4.4's controllers."""

_OWN: Final = {each.name: (each.min_supported_version, each.max_supported_version) for each in SUPPORTED_FEATURES}


def why_not_supported(name: str, level: int, image: MetadataImage, config: ControllerConfig) -> str | None:
    """Return which node does not support this level, as a message, or None.

    Checked are this controller, all registered brokers and, from 3.7-IV0 on, the controllers that vote or were heard.
    The registration of a controller that is gone does not count.
    """
    if name not in _OWN:
        return f"Local controller {config.node_id} does not support this feature."
    for who, ranges in _everybody(image, config):
        least, most = ranges.get(name, (0, 0))
        if not least <= level <= most:
            known = f"{level_text(name, least)} to {level_text(name, most)}"
            return f"{who} does not support this feature." if most == 0 else f"{who} only supports {known}."
    if level_of(image) >= CONTROLLER_REGISTRATION_LEVEL:
        for node_id in sorted(config.quorum_node_ids - {config.node_id}):
            if node_id not in image.cluster.controllers:
                return f"controller {node_id} has not registered, and may not support this feature"
    return None


def _everybody(image: MetadataImage, config: ControllerConfig) -> Iterator[tuple[str, Mapping[str, tuple[int, int]]]]:
    yield f"Local controller {config.node_id}", _OWN
    for broker_id, broker in sorted(image.cluster.brokers.items()):
        yield f"Broker {broker_id}", _ranges(broker.supported_features)
    if level_of(image) >= CONTROLLER_REGISTRATION_LEVEL:
        living = config.living_controllers
        for node_id, controller in sorted(image.cluster.controllers.items()):
            if node_id != config.node_id and (living is None or node_id in living):
                yield f"Controller {node_id}", _ranges(controller.supported_features)


def _ranges(features: tuple[SupportedFeature, ...]) -> dict[str, tuple[int, int]]:
    return {each.name: (each.min_version, each.max_version) for each in features}


def why_not_on_its_own(name: str, level: int, levels: Mapping[str, int]) -> str | None:
    """Return which dependency of this level is missing among the other features' levels, as a message, or None."""
    least = needed_metadata_version(name, level)
    if levels.get(METADATA_VERSION, 0) < least:
        return f"{name} could not be set to {level} because it depends on {METADATA_VERSION} {level_name(least)}"
    return None
