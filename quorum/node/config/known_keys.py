"""The keys that Apache Kafka knows, and the treatment of a key that this node does not use.

Decides: which keys are unknown, which of these are errors, and which known key was probably meant. Must not know:
values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

import msgspec

from quorum.node.config.kafka_table import kafka_keys
from quorum.node.config.keys import ALIASES, KEYS
from quorum.node.config.providers import is_provider_key

LISTED: Final = 20
"""The most unknown keys that are named, separately for errors and for warnings; the others are only counted.

Each suggestion compares the key with all known keys; more of them would take seconds.
"""
_FURTHEST: Final = 2
"""The largest edit distance of a suggestion."""
_STRICT_PREFIXES: Final = (
    "ssl.",
    "sasl.",
    "listener.name.",
    "authorizer",
    "super.users",
    "controller.quorum.",
)
"""An unknown key with one of these prefixes is always an error: the operator believes that it protects or forms the
quorum."""
_OF_LISTENER: Final = re.compile(r"listener\.name\.[^.]+\.(?P<key>([^.]+\.)?(ssl|sasl)\..+)")
_OF_PLUGINS: Final = ("rlmm.config.", "rsm.config.")
"""The usual prefixes of keys that Kafka's broker passes to its remote storage managers."""


class SortedKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a file that its node does not use."""

    unused: tuple[str, ...]
    """Kafka's keys."""
    warnings: tuple[str, ...]
    errors: tuple[str, ...]


@cache
def _kafkas() -> frozenset[str]:
    return frozenset(key.name for key in kafka_keys().keys)


def is_known(name: str) -> bool:
    """Return True if Kafka or a node of this software knows the key, also behind the prefix of a listener."""
    if name.startswith(("listener.name.", *_OF_PLUGINS)) or is_provider_key(name):
        return True
    return name in KEYS or name in ALIASES or name in _kafkas()


def is_strict(name: str) -> bool:
    """Return True if a mistake in the key, or in a value that nothing reads, is always an error."""
    return name.startswith(_STRICT_PREFIXES)


def sort_keys(given: Iterable[str], used: Iterable[str], *, strict: bool) -> SortedKeys:
    """Sort the given keys that are not used. With `strict`, every unknown key is an error."""
    ours = set(used)
    others = [name for name in given if name not in ours and not is_provider_key(name)]
    if not others:
        return SortedKeys(unused=(), warnings=(), errors=())
    kafkas = _kafkas()
    unused, wrong, ignored, unprotected = list[str](), list[str](), list[str](), list[str]()
    for name in others:
        if _protects_listener(name):
            unprotected.append(name)
        elif name in kafkas or name.startswith(_OF_PLUGINS):
            unused.append(name)
        else:
            (wrong if strict or is_strict(name) else ignored).append(name)
    known = ours | kafkas
    return SortedKeys(
        unused=tuple(sorted(unused)),
        warnings=_said(ignored, known, end=" is ignored", otherwise="", rest="are ignored"),
        errors=(
            *_unserved(unprotected),
            *_said(wrong, known, end="", otherwise=": remove it", rest="are wrong: remove them"),
        ),
    )


def _protects_listener(name: str) -> bool:
    """Return True for a Kafka key that secures one listener, with or without a SASL mechanism in front."""
    found = _OF_LISTENER.fullmatch(name)
    return found is not None and (found["key"] in _kafkas() or found["key"].partition(".")[2] in _kafkas())


def _unserved(names: list[str]) -> Iterator[str]:
    """Yield an error for each of the first keys that secure a listener, and one with the count of the others."""
    why = "only PLAINTEXT is served here, so that this listener would be unprotected"
    listed = names[:LISTED] if len(names) > LISTED + 1 else names
    for name in listed:
        yield f"{name}: Kafka knows this key, but {why}: see kraft docs security"
    if left := len(names) - len(listed):
        yield f"{left} more keys secure a listener that would be unprotected"


def _said(names: list[str], known: Iterable[str], *, end: str, otherwise: str, rest: str) -> tuple[str, ...]:
    """Return a line for each of the first unknown keys, and one with the count of the others."""
    listed = names[:LISTED] if len(names) > LISTED + 1 else names
    lines = []
    for name in listed:
        near = _nearest(name, known)
        lines.append(f"unknown key {name}{end}{f': did you mean {near}?' if near else otherwise}")
    left = len(names) - len(listed)
    return (*lines, f"{left} more unknown keys {rest}") if left else tuple(lines)


def misspelled(name: str, given: Iterable[str]) -> str | None:
    """Return the given key that is probably the missing key `name`, or None."""
    return _nearest(name, (key for key in given if key not in KEYS and key not in ALIASES))


def missing_key(name: str, near: str | None) -> str:
    """Return the problem of a missing key. `near` is the unknown key that was probably meant, or None."""
    return f"{name} is missing: {f'write it in place of {near}, an unknown key' if near else 'it must be set'}"


def _nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known key with the least edit distance, the first of several, or None if all are too far."""
    found = ((edit_distance(name, other, _FURTHEST), other) for other in known)
    distance, nearest = min(found, default=(_FURTHEST + 1, ""))
    return nearest if distance <= _FURTHEST else None


def edit_distance(one: str, other: str, most: int) -> int:
    """Return the number of characters to insert, remove or replace, or `most + 1` if that exceeds `most`."""
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
