"""The differences between the facts of two releases, and between those of one release and this project's tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from tests.kafka_releases import facts as areas
from tests.kafka_releases.schemas import (
    BROKER_API,
    CONTROL_RECORD,
    CONTROLLER_API,
    DEFAULT_OF,
    METADATA_RECORD,
    QUORUM_STATE,
    Attributes,
    Facts,
)

_ALL: Final = re.compile(".*")
_KEPT: Final[dict[str, re.Pattern[str]]] = {
    METADATA_RECORD: _ALL,
    CONTROL_RECORD: _ALL,
    QUORUM_STATE: _ALL,
    areas.CONTROL_TYPE: re.compile("(?!)"),
    areas.LEVEL: _ALL,
    areas.LEVEL_PREDICATE: _ALL,
    areas.RECORD_AT_LEVEL: _ALL,
    areas.FEATURE_LEVEL: _ALL,
    areas.UNSTABLE_FEATURE_LEVEL: _ALL,
    CONTROLLER_API: re.compile("key|first version|last version"),
    BROKER_API: _ALL,
    areas.ERROR_CODE: _ALL,
    areas.TOPIC_CONFIG: re.compile("type|default|synonyms|values|internal"),
    areas.GROUP_CONFIG: re.compile("type|default|synonyms|internal"),
    areas.METRICS_CONFIG: re.compile("type|default|internal"),
    areas.BROKER_CONFIG: re.compile("type|default"),
    areas.MAIN_CLASS: re.compile("(?!)"),
}
"""The areas in the order of the report, and the attributes of each that this project's tables keep."""
_ONLY_NEW: Final = frozenset({areas.BROKER_CONFIG, areas.MAIN_CLASS})
"""Areas of which the tables hold a choice: only a name that the older release lacks has to be chosen or left out."""
_UNSAID: Final = re.compile(f"{DEFAULT_OF}.*|type|default|synonyms|values|supported since")
"""Attributes that a row of the tables may leave unsaid: a field that is always on the wire needs no default."""
_INTERNAL: Final = "internal"


class Difference(msgspec.Struct, frozen=True, order=True):
    """One attribute of a name that differs, or a whole name: then there is no `attribute`.

    `before` None: it is new, or the tables lack it. `after` None: it is gone, or only the tables have it.
    """

    area: str
    name: str
    attribute: str | None
    before: str | None
    after: str | None


def differences(before: Facts, after: Facts) -> list[Difference]:
    """Return what is new, gone or changed, in the order of the areas and names."""
    found: list[Difference] = []
    for area in _KEPT:
        old, new = before.get(area, {}), after.get(area, {})
        found += [Difference(area, name, None, None, _row(new[name])) for name in _sorted(new.keys() - old.keys())]
        found += [Difference(area, name, None, _row(old[name]), None) for name in _sorted(old.keys() - new.keys())]
        for name in _sorted(old.keys() & new.keys()):
            for attribute in sorted(old[name].keys() | new[name].keys()):
                if old[name].get(attribute) != new[name].get(attribute):
                    found.append(Difference(area, name, attribute, old[name].get(attribute), new[name].get(attribute)))
    return found


def lacking(older: Facts, kafka: Facts, ours: Facts) -> list[Difference]:
    """Return how this project's tables differ from the newer release; `before` is what they have."""
    found: list[Difference] = []
    for area in _KEPT:
        theirs, own = kafka.get(area, {}), ours.get(area, {})
        missing = theirs.keys() - own.keys()
        if area in _ONLY_NEW:
            missing -= older.get(area, {}).keys()
        found += [Difference(area, name, None, None, _row(theirs[name])) for name in _sorted(missing)]
        found += [Difference(area, name, None, _row(own[name]), None) for name in _sorted(own.keys() - theirs.keys())]
        for name in _sorted(own.keys() & theirs.keys()):
            found += _different_attributes(area, name, theirs[name], own[name])
    return found


def _different_attributes(area: str, name: str, theirs: Attributes, own: Attributes) -> Iterator[Difference]:
    kept = _KEPT[area]
    is_internal = theirs.get(_INTERNAL) == own.get(_INTERNAL) == "true"
    for attribute in sorted(theirs.keys() | own.keys()):
        has, states = own.get(attribute), theirs.get(attribute)
        if has == states or not kept.fullmatch(attribute):
            continue
        if has is None and (is_internal or _may_be_unsaid(area, attribute)):
            continue
        if states is None and _UNSAID.fullmatch(attribute):
            continue
        yield Difference(area, name, attribute, has, states)


def _may_be_unsaid(area: str, attribute: str) -> bool:
    if area in {areas.TOPIC_CONFIG, areas.GROUP_CONFIG, areas.METRICS_CONFIG}:
        return attribute == "values"
    return attribute != "supported since" and _UNSAID.fullmatch(attribute) is not None


def _sorted(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)])


def _row(attributes: Attributes) -> str:
    """Return the attributes in one line, without those of fields, which would fill pages."""
    shown = (
        f"{name} {value!r}"
        for name, value in attributes.items()
        if not re.match(rf"({DEFAULT_OF})?((request|response) )?field ", name)
    )
    return ", ".join(shown)
