"""Configs of removed topics that Kafka leaves in its checkpoints.

Decides: which configs a checkpoint may hold beyond its log, because Kafka left them behind, and how a finding describes
them. Must not know: files.

Kafka's nodes load the records of many batches in one step: the whole log at their start, later what has piled up.
`ConfigurationsDelta.replay(RemoveTopicRecord)` (Kafka 4.3) removes only configs of a topic that had some in the image
before that step. So if a topic gets its config and is removed within one step, the config stays behind, on that node
alone. Every later checkpoint of the node holds it, and so does every node that loads one of these,
until a topic of that name is removed in a later step.

A new topic of that name takes the config up. Then suppose that an active controller has loaded such a checkpoint, and a
client sets the config to the orphaned value. `ConfigurationControlManager` writes only changes, so it writes no
ConfigRecord, and the other nodes never get the config.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from metadata_log.image import ConfigResource, ConfigsImage, MetadataImage, ResourceType
from metadata_log.image.maps import Map
from metadata_log.records import ConfigRecord

_NAMES_SHOWN: Final = 5


class LeftConfigs(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Orphaned configs by the name of their topic. `offset`, `position`: of the first one, in its checkpoint."""

    topic: str
    values: Mapping[str, str]
    offset: int | None = None
    position: int | None = None


class RemovedTopicConfigs:
    """The configs that topics had when they were removed, which may have stayed behind. Takes a log's records."""

    def __init__(self) -> None:
        self._by_topic: dict[str, dict[str, set[str]]] = {}
        self._in_batch: dict[str, dict[str, set[str]]] = {}

    def begin_batch(self) -> None:
        """Begin a batch. The image before it holds the configs of earlier batches."""
        self._in_batch.clear()

    def on_config(self, record: ConfigRecord) -> None:
        """Take a ConfigRecord: the same batch may remove its topic."""
        if record.resource_type == ResourceType.TOPIC and record.value is not None:
            values = self._in_batch.setdefault(record.resource_name, {})
            values.setdefault(record.name, set()).add(record.value)

    def on_removal(self, topic: str, configs: Mapping[str, str]) -> None:
        """Take a RemoveTopicRecord; `configs`: those of the topic before the batch."""
        self._add(topic, configs.items())
        for name, values in self._in_batch.get(topic, {}).items():
            self._add(topic, ((name, value) for value in values))

    def on_left(self, left: Iterable[LeftConfigs]) -> None:
        """Take the configs that are already orphaned in the checkpoint from which replay goes on."""
        for one in left:
            self._add(one.topic, one.values.items())

    def explains(self, topic: str, values: Mapping[str, str]) -> bool:
        """Return True if topics of that name had all of these configs when they were removed."""
        known = self._by_topic.get(topic, {})
        return all(value in known.get(name, ()) for name, value in values.items())

    def _add(self, topic: str, configs: Iterable[tuple[str, str]]) -> None:
        for name, value in configs:
            self._by_topic.setdefault(topic, {}).setdefault(name, set()).add(value)


def orphaned_configs(image: MetadataImage) -> dict[str, Mapping[str, str]]:
    """Return the configs of topics that the image lacks, by topic name, sorted."""
    topics = image.topics.by_name
    loose = (resource.name for resource in _of_topics(image.configs) if resource.name not in topics)
    return {name: image.configs.of_topic(name) for name in sorted(loose)}


def taken_up(image: MetadataImage, log: MetadataImage, gone: RemovedTopicConfigs) -> dict[str, Mapping[str, str]]:
    """Return the configs that `image` has beyond its `log` because a new topic took up orphaned ones, by topic name.

    `gone`: the configs of removed topics, which must explain them.
    """
    found: dict[str, Mapping[str, str]] = {}
    for resource in _of_topics(image.configs):
        known = log.configs.of_topic(resource.name)
        values = image.configs.of_topic(resource.name)
        more = {name: value for name, value in values.items() if name not in known}
        if more and resource.name in image.topics.by_name and gone.explains(resource.name, more):
            found[resource.name] = more
    return dict(sorted(found.items()))


def without(image: MetadataImage, left: Mapping[str, Mapping[str, str]]) -> MetadataImage:
    """Return the image without these configs."""
    if not left:
        return image
    changed = image.configs.by_resource.mutate()
    for topic, values in left.items():
        resource = ConfigResource(resource_type=ResourceType.TOPIC, name=topic)
        kept: Map[str, str] = changed[resource]
        for name in values:
            kept = kept.delete(name)
        if kept:
            changed[resource] = kept
        else:
            del changed[resource]
    return msgspec.structs.replace(image, configs=ConfigsImage(by_resource=changed.finish()))


def left_text(left: Sequence[LeftConfigs], topics: Container[str]) -> str:
    """Return the text of a finding on these configs. `topics`: names of the topics that the node has at the log's
    end."""
    names = sorted({one.topic for one in left})
    text = (
        f"it holds configs of {_listed(names)}, removed since: Kafka leaves them behind where a node loads a topic's "
        "config and its removal in one step, as it starts or is busy"
    )
    again = [name for name in names if name in topics]
    if not again:
        return text
    values = {name: value for one in left if one.topic == again[0] for name, value in one.values.items()}
    said = ", ".join(f"{name}={value}" for name, value in sorted(values.items()))
    are = "is" if len(again) == 1 else "are"
    return f"{text}. At the log's end {_listed(again)} {are} there again: on this node {again[0]!r} may have {said}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:_NAMES_SHOWN]))
    more = len(names) - _NAMES_SHOWN
    return f"{'topic' if len(names) == 1 else 'topics'} {shown}{f' and {more} more' if more > 0 else ''}"


def _of_topics(configs: ConfigsImage) -> Iterator[ConfigResource]:
    return (resource for resource in configs.by_resource if resource.resource_type == ResourceType.TOPIC)
