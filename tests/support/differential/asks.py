"""One request as data, sent to both clusters as kio's entity, and the comparable part of its response.

Decides: what of a response is compared (error codes and results; not texts, throttle times, or ids as such). Must not
know: which requests there are.
"""

from __future__ import annotations

import dataclasses
import enum
import typing
import uuid
from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from typing import Any, Final

import msgspec

from tests.support.kafka_wire import requests_of

_NOT_COMPARED: Final = frozenset({"throttle_time", "error_message", "throttle_time_ms"})


class TopicRef(msgspec.Struct, frozen=True):
    """The id of the nth topic created under this name; each cluster has its own."""

    name: str
    nth: int


class Ask(msgspec.Struct, frozen=True):
    """A request: its API, its version, and its fields by kio's names; fields that the version lacks are left out."""

    key: int
    version: int
    fields: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.key} v{self.version} {self.fields}"


class Ids:
    """Topic ids of one cluster, in the order of creation."""

    def __init__(self) -> None:
        self._given: dict[str, list[uuid.UUID]] = {}
        self._names: dict[uuid.UUID, str] = {}

    def note(self, name: str, topic_id: uuid.UUID) -> None:
        """Note the id of a created topic."""
        given = self._given.setdefault(name, [])
        self._names[topic_id] = f"id {len(given)} of {name}"
        given.append(topic_id)

    def resolve(self, ref: TopicRef) -> uuid.UUID:
        """Return this cluster's id for the reference."""
        return self._given[ref.name][ref.nth]

    def told(self, topic_id: uuid.UUID) -> str:
        """Return a comparable form: an unknown id is just "another", unless every cluster knows it."""
        return self._names.get(topic_id) or ("the metadata topic's id" if topic_id.int == 1 else "another id")


def entity_of(ask: Ask, ids: Ids) -> Any:
    """Return kio's entity of the request."""
    module = requests_of(ask.key, ask.version)
    (kind,) = (
        each
        for name, each in vars(module).items()
        if name.endswith("Request") and dataclasses.is_dataclass(each) and each.__module__ == module.__name__
    )
    return _built(kind, ask.fields, ids)


def _built(kind: Any, values: Mapping[str, Any], ids: Ids) -> Any:
    hints = _hints(kind)
    return kind(
        **{
            field.name: _value(hints[field.name], values[field.name], ids)
            for field in dataclasses.fields(kind)
            if field.name in values
        }
    )


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _value(hint: Any, value: Any, ids: Ids) -> Any:
    if isinstance(value, TopicRef):
        return ids.resolve(value)
    if isinstance(value, tuple):
        return tuple(_value(_element(hint), each, ids) for each in value)
    if isinstance(value, Mapping):
        return _built(hint, value, ids)
    return value


def _element(hint: Any) -> Any:
    """Return the element type of `tuple[T, ...]` or `tuple[T, ...] | None`."""
    if typing.get_origin(hint) is tuple:
        return typing.get_args(hint)[0]
    (of_tuple,) = (each for each in typing.get_args(hint) if typing.get_origin(each) is tuple)
    return typing.get_args(of_tuple)[0]


def comparable(value: Any, ids: Ids) -> Any:
    """Return a response, or a part of it, without what two clusters may differ in; lists are sorted."""
    if dataclasses.is_dataclass(value):
        return {
            field.name: comparable(getattr(value, field.name), ids)
            for field in dataclasses.fields(value)
            if field.name not in _NOT_COMPARED
        }
    if isinstance(value, tuple):
        return sorted((comparable(each, ids) for each in value), key=repr)
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, uuid.UUID):
        return ids.told(value)
    return value


def seconds(count: float) -> timedelta:
    """Return a request's timeout."""
    return timedelta(seconds=count)
