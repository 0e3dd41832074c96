"""The differences of two images as text.

Decides: the compared parts and the text of a difference. Must not know: the origin of the images. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

import msgspec

from metadata_log.ids import TopicId, id_text
from metadata_log.image import ConfigResource, MetadataImage, ResourceType, TopicImage
from metadata_log.image.access import QuotaEntity, ScramCredential, ScramUser

SHOWN: Final = 8
_ID_BYTES: Final = 16


class Difference(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One difference. `topic_id`: the topic that differs, or None."""

    text: str
    topic_id: TopicId | None = None


def differences(one: MetadataImage, other: MetadataImage, names: tuple[str, str]) -> Iterator[Difference]:
    """Yield the differences of two images; `names` are their names within a sentence."""
    yield from _topics(one, other, names)
    for what, mine, theirs in _maps(one, other):
        for key in _changed(mine, theirs):
            yield Difference(text=_changed_text(f"{what} {_key_text(key)}", mine.get(key), theirs.get(key), names))
    if one.producer_ids != other.producer_ids:
        mine_next, theirs_next = one.producer_ids.next_producer_id, other.producer_ids.next_producer_id
        yield Difference(text=f"the next producer id is {mine_next} {names[0]} and {theirs_next} {names[1]}")


def described(found: Iterator[Difference]) -> tuple[str, TopicId | None]:
    """Return the first differences in one sentence, and the first topic id among them or None."""
    shown = list(islice(found, SHOWN + 1))
    text = "; ".join(difference.text for difference in shown[:SHOWN])
    topic_id = next((difference.topic_id for difference in shown if difference.topic_id is not None), None)
    return text + ("; and more" if len(shown) > SHOWN else ""), topic_id


def _maps(one: MetadataImage, other: MetadataImage) -> Iterator[tuple[str, Mapping[Any, Any], Mapping[Any, Any]]]:
    yield "feature", _features(one), _features(other)
    yield "broker", one.cluster.brokers, other.cluster.brokers
    yield "controller", one.cluster.controllers, other.cluster.controllers
    yield "the configs of", one.configs.by_resource, other.configs.by_resource
    yield "the quotas of", one.client_quotas.by_entity, other.client_quotas.by_entity
    yield "ACL", one.acls.by_id, other.acls.by_id
    yield "the credential of", one.scram.credentials, other.scram.credentials
    yield "delegation token", one.delegation_tokens.by_id, other.delegation_tokens.by_id


def _features(image: MetadataImage) -> dict[str, int | None]:
    return {"metadata.version": image.features.metadata_version, **dict(image.features.levels.items())}


def _changed(mine: Mapping[Any, Any], theirs: Mapping[Any, Any]) -> Iterator[Any]:
    if mine is theirs:
        return
    changed = [key for key in mine if mine[key] != theirs.get(key)]
    changed += [key for key in theirs if key not in mine]
    yield from sorted(changed, key=repr)


def _changed_text(what: str, mine: object, theirs: object, names: tuple[str, str]) -> str:
    if theirs is None:
        return f"{what} is only {names[0]}"
    if mine is None:
        return f"{what} is only {names[1]}"
    if isinstance(mine, msgspec.Struct) and type(mine) is type(theirs):
        return f"{what}: {_of_fields(mine, theirs, names)}"
    if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
        key = next(_changed(mine, theirs))
        return f"{what}: {_changed_text(str(key), mine.get(key), theirs.get(key), names)}"
    return f"{what} is {_value(mine)} {names[0]} and {_value(theirs)} {names[1]}"


def _key_text(key: object) -> str:
    """Return the text for an entry's key: the resource, quota entity or user."""
    if isinstance(key, bytes):
        return _value(key)
    if isinstance(key, ConfigResource):
        known = key.resource_type in set(ResourceType)
        kind = ResourceType(key.resource_type).name.lower() if known else f"resource of type {key.resource_type}"
        return f"{kind.replace('_', ' ')} {key.name!r}"
    if isinstance(key, ScramUser):
        return f"user {key.name!r}, mechanism {key.mechanism}"
    if isinstance(key, QuotaEntity):
        return ", ".join(f"{kind} {'(default)' if name is None else repr(name)}" for kind, name in key.parts)
    return str(key)


def _topics(one: MetadataImage, other: MetadataImage, names: tuple[str, str]) -> Iterator[Difference]:
    mine, theirs = one.topics.by_id, other.topics.by_id
    for topic_id in _changed(mine, theirs):
        topic, rival = mine.get(topic_id), theirs.get(topic_id)
        shown = topic or rival
        name = f"topic {'' if shown is None else repr(shown.name)} ({id_text(topic_id)})"
        if topic is None or rival is None:
            yield Difference(text=_changed_text(name, topic, rival, names), topic_id=topic_id)
        else:
            yield Difference(text=_of_topic(name, topic, rival, names), topic_id=topic_id)


def _of_topic(name: str, topic: TopicImage, rival: TopicImage, names: tuple[str, str]) -> str:
    if topic.name != rival.name:
        return f"{name} is called {rival.name!r} {names[1]}"
    if len(topic.partitions) != len(rival.partitions):
        return f"{name} has {len(topic.partitions)} partitions {names[0]} and {len(rival.partitions)} {names[1]}"
    for mine, theirs in zip(topic.partitions, rival.partitions, strict=True):
        if mine != theirs:
            return f"{name}, partition {mine.partition_id}: {_of_fields(mine, theirs, names)}"
    return f"{name} differs"


def _of_fields(mine: msgspec.Struct, theirs: msgspec.Struct, names: tuple[str, str]) -> str:
    """Return the text of the first field that differs."""
    if isinstance(mine, ScramCredential):
        return "the credentials differ"  # their values are secret
    for field in mine.__struct_fields__:
        one, other = getattr(mine, field), getattr(theirs, field)
        if one != other:
            return f"{field} is {_value(one)} {names[0]} and {_value(other)} {names[1]}"
    return "the same"


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, bytes):
        return id_text(value) if len(value) == _ID_BYTES else f"{len(value)} bytes"
    if isinstance(value, msgspec.Struct):
        return "(" + ", ".join(f"{field} {_value(getattr(value, field))}" for field in value.__struct_fields__) + ")"
    return "none" if value is None else str(value)
