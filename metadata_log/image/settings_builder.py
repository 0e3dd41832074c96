"""Replay of the records about features and configs.

Decides: what each of them does to a `FeaturesImage` and a `ConfigsImage`, by the rules of Kafka's controller. Must not
know: which configs exist (Kafka can drop those that it no longer knows while it replays; here every one is kept).
"""

from __future__ import annotations

from metadata_log.image.configs import NO_CONFIGS, ConfigResource, ConfigsImage, ResourceType
from metadata_log.image.errors import ImpossibleRecordError
from metadata_log.image.features import KRAFT_VERSION, METADATA_VERSION, FeaturesImage
from metadata_log.image.sharing import share
from metadata_log.records import ConfigRecord, FeatureLevelRecord
from metadata_log.records.levels import LATEST_PRODUCTION, LOWEST_LEVEL, level_name


class FeaturesBuilder:
    """Takes records one by one; `build` gives the image after them."""

    __slots__ = ("_levels", "_metadata_version")

    def __init__(self, image: FeaturesImage) -> None:
        self._levels = image.levels
        self._metadata_version = image.metadata_version

    def build(self) -> FeaturesImage:
        """The image after all records taken."""
        return FeaturesImage(levels=self._levels, metadata_version=self._metadata_version)

    def on_feature_level(self, record: FeatureLevelRecord) -> None:
        """FeatureLevelRecord: sets a level, 0 removes it. One for kraft.version means nothing (see `features`).

        A level that only a later release knows is taken like any other, and so is one below the minimum:
        `check_known_levels` refuses both for a node.
        """
        name, level = record.name, record.feature_level
        if level < 0:
            raise ImpossibleRecordError(f"level {level} of {name} is below 0, which means none")
        if name == KRAFT_VERSION:
            return
        if name == METADATA_VERSION:
            if level < LOWEST_LEVEL:
                known = f"{level_name(LOWEST_LEVEL)} to {level_name(LATEST_PRODUCTION)}"
                raise ImpossibleRecordError(f"metadata.version has no level {level}: known are {known}")
            self._metadata_version = level
        elif level != 0:
            self._levels = self._levels.set(name, level)
        elif name in self._levels:
            self._levels = self._levels.delete(name)


class ConfigsBuilder:
    """Takes records one by one; `build` gives the image after them. The image it began with is never touched."""

    __slots__ = ("_by_resource", "_image", "changed")

    def __init__(self, image: ConfigsImage) -> None:
        self._image = image
        self._by_resource = image.by_resource.mutate()
        self.changed: set[ConfigResource] = set()

    def build(self) -> ConfigsImage:
        """The image after all records taken. The builder is used up."""
        return ConfigsImage(by_resource=self._by_resource.finish()) if self.changed else self._image

    def on_config(self, record: ConfigRecord) -> None:
        """ConfigRecord: sets one value, None removes it. A resource without values left has no entry."""
        resource = ConfigResource(resource_type=record.resource_type, name=record.resource_name)
        configs = self._by_resource.get(resource, NO_CONFIGS)
        if record.value is not None:
            self._by_resource[resource] = configs.set(share(record.name), share(record.value))
        elif record.name not in configs:
            return
        elif len(configs) == 1:
            del self._by_resource[resource]
        else:
            self._by_resource[resource] = configs.delete(record.name)
        self.changed.add(resource)

    def remove_topic(self, name: str) -> None:
        """RemoveTopicRecord takes the topic's configs along, without records of their own."""
        resource = ConfigResource(resource_type=ResourceType.TOPIC, name=name)
        if self._by_resource.pop(resource, None) is not None:
            self.changed.add(resource)
