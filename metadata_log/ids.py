"""Identifiers: topic ids, directory ids and replica keys, and Kafka's text form of them.

The three types must never be mixed. A topic id and a directory id both have 16 bytes. The value 1 is the metadata
topic's sentinel as a topic id, but "unassigned" as a directory id. Ids are `bytes` at run time (cheap to hash, compare
and decode); only messages, files and the API use text.

Sources: KIP-516 (random UUIDs as topic ids, the sentinel, base64 text), KIP-858 (reserved directory ids), KIP-853
(replica keys).
"""

from __future__ import annotations

import base64
import binascii
from typing import Final, NewType

import msgspec

from metadata_log.quoting import quoted

TopicId = NewType("TopicId", bytes)
DirectoryId = NewType("DirectoryId", bytes)
Uuid = NewType("Uuid", bytes)
"""Any other 16-byte identifier, such as an incarnation id."""

NodeId = NewType("NodeId", int)

ID_BYTES: Final = 16
_TEXT_CHARACTERS: Final = 22
_RESERVED_DIRECTORY_IDS: Final = 100
_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")
_DASH: Final = 62
"""The six bits that the text form writes as `-`."""


def _of_int(value: int) -> bytes:
    return value.to_bytes(ID_BYTES, "big")


ZERO_TOPIC_ID: Final = TopicId(_of_int(0))
"""The null id: no topic has it."""
METADATA_TOPIC_ID: Final = TopicId(_of_int(1))
"""The sentinel for `__cluster_metadata`, valid before and beside its own id (KIP-516): `AAAAAAAAAAAAAAAAAAAAAQ`."""
RESERVED_TOPIC_IDS: Final = frozenset({ZERO_TOPIC_ID, METADATA_TOPIC_ID})

MIGRATING_DIRECTORY_ID: Final = DirectoryId(_of_int(0))
UNASSIGNED_DIRECTORY_ID: Final = DirectoryId(_of_int(1))
LOST_DIRECTORY_ID: Final = DirectoryId(_of_int(2))
ZERO_DIRECTORY_ID: Final = MIGRATING_DIRECTORY_ID
"""Also the unknown directory id of static voters, and of votes before kraft.version 1."""

METADATA_TOPIC_NAME: Final = "__cluster_metadata"


class InvalidIdError(ValueError):
    """A text or byte string is not an id, or the id is reserved and not allowed here."""


class ReplicaKey(msgspec.Struct, frozen=True, kw_only=True, gc=False, order=True):
    """The key of a voter or observer. The same node with another directory is another replica (KIP-853)."""

    node_id: NodeId
    directory_id: DirectoryId = ZERO_DIRECTORY_ID

    def __str__(self) -> str:
        return f"{self.node_id}:{id_text(self.directory_id)}"


def id_text(value: bytes) -> str:
    """Return Kafka's text form of a 16-byte id: URL-safe base64 without padding, 22 characters."""
    return binascii.b2a_base64(value, newline=False).translate(_URL_SAFE).decode("ascii").rstrip("=")


def parse_id(text: str) -> bytes:
    """Return the 16 bytes of an id in text form.

    Raises:
        InvalidIdError: `text` is not the canonical URL-safe base64 of exactly 16 bytes.
    """
    if len(text) != _TEXT_CHARACTERS:
        raise InvalidIdError(f"{quoted(text)} is not an id: it has {len(text)} characters, not {_TEXT_CHARACTERS}")
    try:
        value = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidIdError(f"{text!r} is not an id: it is not URL-safe base64") from error
    if id_text(value) != text:
        raise InvalidIdError(f"{text!r} is not an id in its canonical form, which would be {id_text(value)!r}")
    return value


def parse_topic_id(text: str) -> TopicId:
    """Return a topic id from its text form, as `parse_id`; `is_reserved_topic_id` is the caller's check."""
    return TopicId(parse_id(text))


def parse_directory_id(text: str) -> DirectoryId:
    """Return a directory id from its text form, as `parse_id`; `is_reserved_directory_id` is the caller's check."""
    return DirectoryId(parse_id(text))


def is_reserved_topic_id(topic_id: TopicId) -> bool:
    """Return True for the null id and the metadata topic's sentinel, which no ordinary topic may have."""
    return topic_id in RESERVED_TOPIC_IDS


def why_no_cluster_id(text: str, said: str) -> str | None:
    """Return why a text cannot be a cluster id and what to do, with the prefix `said`, or None.

    Kafka accepts any text. Here a cluster id must be printable, and neither the null id nor the metadata topic's
    sentinel.
    """
    make = "make one with `kraft storage random-uuid`"
    if not text or not text.isprintable():
        return f"{said}: {quoted(text)} is not an id: it is empty, or has characters that cannot be shown; {make}"
    is_reserved = text in map(id_text, RESERVED_TOPIC_IDS)
    return f"{said} {text}: this id is reserved, and no cluster's; {make}" if is_reserved else None


def doubt_of_cluster_id(text: str, said: str) -> str | None:
    """Return a warning if a cluster id is not a UUID, which Kafka accepts anyway, or None."""
    try:
        parse_id(text)
    except InvalidIdError:
        return f"{said}: {quoted(text)} is no UUID. Kafka takes it; `kraft storage random-uuid` makes one"
    return None


def is_reserved_directory_id(directory_id: DirectoryId) -> bool:
    """Return True if no directory may have this id: KIP-858 reserves the first hundred values."""
    return int.from_bytes(directory_id, "big") < _RESERVED_DIRECTORY_IDS


_VERSION_4: Final = bytes(byte & 0x0F | 0x40 for byte in range(256))
_VARIANT_2: Final = bytes(byte & 0x3F | 0x80 for byte in range(256))


def as_random_uuids(random_bytes: bytes) -> bytes:
    """Return version 4 UUIDs (variant 2, RFC 9562), 16 bytes each, made of as many random bytes."""
    made = bytearray(random_bytes)
    made[6::ID_BYTES] = made[6::ID_BYTES].translate(_VERSION_4)
    made[8::ID_BYTES] = made[8::ID_BYTES].translate(_VARIANT_2)
    return bytes(made)


def is_assignable(value: bytes) -> bool:
    """Return True if 16 random bytes may become a new id: not reserved, and without a leading dash as text.

    On a command line, a leading dash would look like an option; Kafka's `Uuid.randomUuid` avoids it, too.
    """
    return value[0] >> 2 != _DASH and int.from_bytes(value, "big") >= _RESERVED_DIRECTORY_IDS
