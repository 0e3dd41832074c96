"""The table of the keys that Apache Kafka knows, and which of them hold passwords.

`kafka_keys.json` holds the keys of Kafka's own `KafkaConfig`. `python -m tests.kafka_releases.config_keys` writes it
from Kafka's published jars.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import msgspec

_TABLE: Final = Path(__file__).with_name("kafka_keys.json")
_PASSWORD: Final = "PASSWORD"


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


@cache
def kafka_keys() -> KafkaKeys:
    """Read the table, once in a process: a start asks it for the keys, and for those of passwords."""
    return msgspec.json.decode(_TABLE.read_bytes(), type=KafkaKeys)


def is_password(name: str) -> bool:
    """Return True if Kafka gives the key the type password, also behind a prefix such as `listener.name.sasl_ssl.`."""
    return name.endswith(_endings()) or name in _passwords()


@cache
def _passwords() -> frozenset[str]:
    return frozenset(
        key.name
        for key in kafka_keys().keys
        if _PASSWORD in {release.type for release in (key.before, key.newest) if release is not None}
    )


@cache
def _endings() -> tuple[str, ...]:
    return tuple(f".{name}" for name in sorted(_passwords()))
