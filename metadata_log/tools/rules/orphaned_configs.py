"""Configs of removed topics that Kafka leaves in its checkpoints.

Decides: which configs a checkpoint may hold beyond what its log says, because Kafka left them behind, and how that
reads. Must not know: files. Pure.

Kafka's nodes load the records of many batches in one step (all of the log as they start, what piled up when they are
busy). `ConfigurationsDelta.replay(RemoveTopicRecord)` (Kafka 4.3) takes away only configs of which the image before
that step knew the topic to have some. So a topic that is given its config and removed within one step leaves the
config behind, on that node alone, in every checkpoint that it writes from then on and in all that loads one of these:
until a topic of that name is removed in a later step. A topic that is created by that name takes the config up; and an
active controller that has loaded such a checkpoint writes no ConfigRecord for a config that is asked for with the value
that was left (`ConfigurationControlManager` writes only what changes), so that the other nodes never have it.
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
    """Configs by the name of a topic that has none such. `offset`, `position`: of the first, in its checkpoint."""

    topic: str
    values: Mapping[str, str]
    offset: int | None = None
    position: int | None = None


class GoneConfigs:
    """The configs that topics had when they were removed: what may have been left behind. Takes a log's records."""

    def __init__(self) -> None:
        self._by_topic: dict[str, dict[str, set[str]]] = {}
        self._in_batch: dict[str, dict[str, set[str]]] = {}

    def begin_batch(self) -> None:
        """What is set in a batch is in the image before the next."""
        self._in_batch.clear()

    def on_config(self, record: ConfigRecord) -> None:
        """ConfigRecord: one batch may set it and remove its topic."""
        if record.resource_type == ResourceType.TOPIC and record.value is not None:
            values = self._in_batch.setdefault(record.resource_name, {})
            values.setdefault(record.name, set()).add(record.value)

    def on_removal(self, topic: str, configs: Mapping[str, str]) -> None:
        """RemoveTopicRecord: of the topic that had these before its batch."""
        self._add(topic, configs.items())
        for name, values in self._in_batch.get(topic, {}).items():
            self._add(topic, ((name, value) for value in values))

    def on_left(self, left: Iterable[LeftConfigs]) -> None:
        """A checkpoint that replay goes on from, and that has them left already."""
        for one in left:
            self._add(one.topic, one.values.items())

    def explains(self, topic: str, values: Mapping[str, str]) -> bool:
        """Whether topics of that name had all of these when they were removed."""
        known = self._by_topic.get(topic, {})
        return all(value in known.get(name, ()) for name, value in values.items())

    def _add(self, topic: str, configs: Iterable[tuple[str, str]]) -> None:
        for name, value in configs:
            self._by_topic.setdefault(topic, {}).setdefault(name, set()).add(value)


def loose_configs(image: MetadataImage) -> dict[str, Mapping[str, str]]:
    """The configs of topics that the image does not have, by their names, in order."""
    topics = image.topics.by_name
    loose = (resource.name for resource in _of_topics(image.configs) if resource.name not in topics)
    return {name: image.configs.of_topic(name) for name in sorted(loose)}


def taken_up(image: MetadataImage, log: MetadataImage, gone: GoneConfigs) -> dict[str, Mapping[str, str]]:
    """The configs of topics that are there again which `image` has beyond what its log says, and `gone` explains."""
    found: dict[str, Mapping[str, str]] = {}
    for resource in _of_topics(image.configs):
        known = log.configs.of_topic(resource.name)
        values = image.configs.of_topic(resource.name)
        more = {name: value for name, value in values.items() if name not in known}
        if more and resource.name in image.topics.by_name and gone.explains(resource.name, more):
            found[resource.name] = more
    return dict(sorted(found.items()))


def without(image: MetadataImage, left: Mapping[str, Mapping[str, str]]) -> MetadataImage:
    """The image without these configs."""
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
    """What a finding says of them. `topics`: the names of those that the node has at the log's end."""
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
