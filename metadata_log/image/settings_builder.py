"""Replay of the records about features and configs.

Decides: the effect of each record on a `FeaturesImage` and a `ConfigsImage`, by the rules of Kafka's controller. Must
not know: which configs exist. (Kafka can drop unknown configs in replay; here every config is kept.)
"""

from __future__ import annotations

from metadata_log.image.configs import NO_CONFIGS, ConfigResource, ConfigsImage, ResourceType
from metadata_log.image.errors import ImpossibleRecordError
from metadata_log.image.features import KRAFT_VERSION, METADATA_VERSION, FeaturesImage
from metadata_log.image.sharing import share
from metadata_log.records import ConfigRecord, FeatureLevelRecord
from metadata_log.records.levels import LATEST_PRODUCTION, LOWEST_LEVEL, level_name


class FeaturesBuilder:
    """Applies records one by one; `build` returns the image after them."""

    __slots__ = ("_levels", "_metadata_version")

    def __init__(self, image: FeaturesImage) -> None:
        self._levels = image.levels
        self._metadata_version = image.metadata_version

    def build(self) -> FeaturesImage:
        """Return the image after all records."""
        return FeaturesImage(levels=self._levels, metadata_version=self._metadata_version)

    def on_feature_level(self, record: FeatureLevelRecord) -> None:
        """Apply FeatureLevelRecord: set a level; 0 removes it. One for kraft.version has no effect (see `features`).

        Unknown later levels, and those below the minimum, are applied, too: `check_known_levels` rejects them for a
        node.
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
    """Applies records one by one; `build` returns the image after them. The former image never changes."""

    __slots__ = ("_by_resource", "_image", "changed")

    def __init__(self, image: ConfigsImage) -> None:
        self._image = image
        self._by_resource = image.by_resource.mutate()
        self.changed: set[ConfigResource] = set()

    def build(self) -> ConfigsImage:
        """Return the image after all records. The builder is used up."""
        return ConfigsImage(by_resource=self._by_resource.finish()) if self.changed else self._image

    def on_config(self, record: ConfigRecord) -> None:
        """Apply ConfigRecord: set one value; None removes it. A resource without values has no entry."""
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
        """Remove the configs of a removed topic: RemoveTopicRecord removes them without records of their own."""
        resource = ConfigResource(resource_type=ResourceType.TOPIC, name=name)
        if self._by_resource.pop(resource, None) is not None:
            self.changed.add(resource)
