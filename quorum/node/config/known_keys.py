"""The keys that Apache Kafka knows, and what a key means here that this node does not use.

Decides: which keys are unknown, which of these are errors, and which known key may be meant. Must not know: values.

`kafka_keys.json` holds the keys of Kafka's own `KafkaConfig`. `python -m tests.kafka_releases.config_keys` writes it
from Kafka's published jars.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from quorum.node.config.keys import ALIASES, KEYS
from quorum.node.config.providers import is_provider_key

_TABLE: Final = Path(__file__).with_name("kafka_keys.json")
_FURTHEST: Final = 2
"""The edit distance up to which a known key may be meant."""
_STRICT_PREFIXES: Final = (
    "ssl.",
    "sasl.",
    "listener.name.",
    "authorizer",
    "super.users",
    "controller.quorum.",
)
"""An unknown key behind one of these is always an error: its writer believes that it protects or forms the quorum."""
_OF_PLUGINS: Final = ("rlmm.config.", "rsm.config.")
"""The usual prefixes of keys that Kafka's broker hands to its managers of remote storage."""


class KeyOfRelease(msgspec.Struct, frozen=True, kw_only=True):
    """A key as one release of Kafka defines it."""

    type: str
    default: str | None = None
    """As text; None: Kafka has no default, or the default is null."""


class KafkaKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key in the two releases of the table; None where a release does not have it."""

    name: str
    is_used: bool
    """True if a node of this software reads the key."""
    before: KeyOfRelease | None = None
    newest: KeyOfRelease | None = None


class KafkaKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The table of Kafka's keys, in the order of their names."""

    before: str
    """The older release, such as 3.9.1."""
    newest: str
    keys: tuple[KafkaKey, ...]


class SortedKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a file that its node does not use."""

    unused: tuple[str, ...]
    """Kafka knows them."""
    warnings: tuple[str, ...]
    errors: tuple[str, ...]


def kafka_keys() -> KafkaKeys:
    """Read the table."""
    return msgspec.json.decode(_TABLE.read_bytes(), type=KafkaKeys)


def sort_keys(given: Iterable[str], used: Iterable[str], *, strict: bool) -> SortedKeys:
    """Sort the given keys that are not used; `strict`: every unknown key is an error."""
    ours = set(used)
    others = [name for name in given if name not in ours and not is_provider_key(name)]
    if not others:
        return SortedKeys(unused=(), warnings=(), errors=())
    kafkas = {key.name for key in kafka_keys().keys}
    known = ours | kafkas
    unused, warnings, errors = list[str](), list[str](), list[str]()
    for name in others:
        if name in kafkas or name.startswith(_OF_PLUGINS):
            unused.append(name)
            continue
        near = _nearest(name, known)
        hint = f": did you mean {near}?" if near else ""
        if strict or name.startswith(_STRICT_PREFIXES):
            errors.append(f"unknown key {name}{hint or ': remove it'}")
        else:
            warnings.append(f"unknown key {name} is ignored{hint}")
    return SortedKeys(unused=tuple(sorted(unused)), warnings=tuple(warnings), errors=tuple(errors))


def missing_key(name: str, given: Iterable[str]) -> str:
    """Return a problem that names the given key which is probably the missing one, misspelled."""
    near = _nearest(name, (key for key in given if key not in KEYS and key not in ALIASES))
    return f"{name} is missing: {f'write it in place of {near}, an unknown key' if near else 'it must be set'}"


def _nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known key with the least edit distance, the first of several, or None if all are too far."""
    found = ((edit_distance(name, other, _FURTHEST), other) for other in known)
    distance, nearest = min(found, default=(_FURTHEST + 1, ""))
    return nearest if distance <= _FURTHEST else None


def edit_distance(one: str, other: str, most: int) -> int:
    """Return how many characters must be inserted, removed or replaced, or `most + 1` if more than `most` must be."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    row = list(range(len(other) + 1))
    for at, char in enumerate(one, start=1):
        above, row = row, [at]
        for column, wanted in enumerate(other):
            row.append(min(above[column] + (char != wanted), above[column + 1] + 1, row[column] + 1))
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)
