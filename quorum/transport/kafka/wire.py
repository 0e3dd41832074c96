"""Requests and responses of Kafka's protocol: headers, kio's entities by API and version, bytes.

Decides: how the content of a frame is decoded and encoded. Must not know: which requests are supported, and how.

Source: KIP-482 (flexible versions), KIP-511 (the response to ApiVersions always has the oldest header).
"""

from __future__ import annotations

import dataclasses
import datetime
import importlib
import struct
import uuid
from collections.abc import Callable, Iterable
from functools import cache
from types import ModuleType
from typing import Any, Final

import msgspec
from kio.schema.errors import ErrorCode

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.voters import Endpoint
from quorum.api.error_codes import Error
from quorum.transport.kafka import beside_kio
from quorum.transport.kafka.reader import MAX_ELEMENTS, NUMBERS_AN_ELEMENT, BadFrame, Cursor, reader_of
from quorum.transport.kafka.writer import writer_of

API_VERSIONS: Final = 18
_HEAD: Final = struct.Struct(">hhih")
_CORRELATION: Final = struct.Struct(">i")
_LENGTH: Final = struct.Struct(">i")
_CODES: Final[dict[int, ErrorCode]] = {code.value: code for code in ErrorCode}
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_SPELT: Final = {"error": "error_code"}
_ALTER_PARTITION: Final = 56
_ELECT_LEADERS: Final = 43
_MOST_ELEMENTS: Final = {_ALTER_PARTITION: 350_000}
"""APIs with a larger bound. A broker sends the partitions of all that it leads at once, and repeats that until it
gets a response. No frame holds more."""
_NUMBERS_AN_ELEMENT: Final = {_ELECT_LEADERS: 1}
"""APIs with a smaller bound. Each partition is elected on its own, and its result carries a text."""
_MOST_SAID: Final = 4_000
"""Characters of at most four bytes each, which stay below the 32,767 bytes of a text."""
NO_THROTTLE: Final = datetime.timedelta(0)


Fields = dict[str, Any]
"""Fields of one of kio's entities, by name. A field that the version lacks is omitted."""


class Header(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The header of a request, up to the client id. `ends_at`: offset of the byte behind it."""

    key: int
    version: int
    correlation_id: int
    client_id: str | None
    ends_at: int


def read_header(data: bytes) -> Header:
    """Return the header of a request, without its tagged fields.

    Raises:
        BadFrame: the header is malformed.
    """
    if len(data) < _HEAD.size:
        raise BadFrame(f"a request of {len(data)} bytes: its header alone has more")
    key, version, correlation_id, length = _HEAD.unpack_from(data)
    cursor = Cursor(data, _HEAD.size)
    try:
        client_id = None if length < 0 else cursor.take(length).decode()
    except UnicodeDecodeError as error:
        raise BadFrame("the client's id is not UTF-8") from error
    return Header(key=key, version=version, correlation_id=correlation_id, client_id=client_id, ends_at=cursor.at)


@cache
def _module(name: str, version: int, kind: str) -> ModuleType:
    if (name, version) in beside_kio.DECLARED:
        return beside_kio
    return importlib.import_module(f"kio.schema.{name}.v{version}.{kind}")


def _class_name(name: str, kind: str) -> str:
    return "".join(part.capitalize() for part in name.split("_")) + kind.capitalize()


@cache
def request_class(name: str, version: int) -> type[Any]:
    """Return kio's class of a request; `name` in kio's spelling: `create_topics`."""
    found: type[Any] = getattr(_module(name, version, "request"), _class_name(name, "request"))
    return found


def read_request(name: str, header: Header, data: bytes) -> Any:
    """Return the body of a request as kio's entity.

    Raises:
        BadFrame: the bytes are malformed, or some are left over.
    """
    entity = request_class(name, header.version)
    most = _MOST_ELEMENTS.get(header.key, MAX_ELEMENTS)
    cursor = Cursor(data, header.ends_at, most, _NUMBERS_AN_ELEMENT.get(header.key, NUMBERS_AN_ELEMENT))
    if entity.__flexible__:
        skip_tags(cursor)
    body = reader_of(entity)(cursor)
    if cursor.at != cursor.end:
        raise BadFrame(f"{cursor.end - cursor.at} bytes are left over")
    return body


def skip_tags(cursor: Cursor) -> None:
    """Skip the tagged fields of a header: all are unknown."""
    if cursor.passes_zero():
        return
    for _ in cursor.elements(cursor.uvarint()):
        cursor.uvarint()
        cursor.take(cursor.uvarint())


class _Entities:
    """A factory of kio's entities of one API's requests or responses in one version, and of their bytes."""

    def __init__(self, name: str, version: int, kind: str) -> None:
        self._module = _module(name, version, kind)
        self._whole: type[Any] = getattr(self._module, _class_name(name, kind))
        self._entities: dict[str, tuple[type[Any], frozenset[str]]] = {}
        self._bytes_of = writer_of(self._whole)

    def make(self, entity_name: str, /, **values: Any) -> Any:
        """Return kio's entity with those values whose fields this version has. An `Error` becomes kio's."""
        entity, known = self._known(entity_name)
        given = {key: value for key, value in values.items() if key in known}
        if "throttle_time" in known:
            given.setdefault("throttle_time", NO_THROTTLE)
        return _made(entity, given)

    def rows(self, entity_name: str, rows: Iterable[Any], /, **others: Callable[[Any], Any]) -> tuple[Any, ...]:
        """Return kio's entities of structs of one type.

        Fields of equal name are copied; `error` becomes `error_code`. `others` compute the fields of another name or
        form from the struct.
        """
        entity, known = self._known(entity_name)
        made = [(name, of) for name, of in others.items() if name in known]
        same: list[tuple[str, str]] | None = None
        found = []
        for row in rows:
            if same is None:
                spelt = ((_SPELT.get(name, name), name) for name in row.__struct_fields__)
                same = [(name, ours) for name, ours in spelt if name in known and name not in others]
            given = {name: getattr(row, ours) for name, ours in same}
            for name, of in made:
                given[name] = of(row)
            found.append(_made(entity, given))
        return tuple(found)

    def _known(self, entity_name: str) -> tuple[type[Any], frozenset[str]]:
        """Return the entity of that name, and its fields' names."""
        found = self._entities.get(entity_name)
        if found is None:
            entity = getattr(self._module, entity_name)
            names = frozenset(field.name for field in dataclasses.fields(entity))
            found = self._entities[entity_name] = entity, names
        return found

    def has(self, name: str) -> bool:
        """Return True if this version has an entity of that name."""
        return hasattr(self._module, name)


def _made(entity: type[Any], given: dict[str, Any]) -> Any:
    """Return the entity of these fields, with kio's error code and a message that is cut to its limit."""
    error, message = given.get("error_code"), given.get("error_message")
    if isinstance(error, Error):
        given["error_code"] = _CODES.get(error, error)  # kio 0.6.5 knows no error above 133
    if message is not None:
        given["error_message"] = said_briefly(message)
    return entity(**given)


class Answers(_Entities):
    """The responses of one API and version that this node sends."""

    def __init__(self, name: str, version: int) -> None:
        super().__init__(name, version, "response")
        # KIP-511: a client that asks for versions cannot parse a newer header yet.
        self._end_of_header = b"\0" if _has_header_tags(name, self._whole) else b""

    def response(self, **values: Any) -> Any:
        """Return the entity of the whole response."""
        return self.make(self._whole.__name__, **values)

    def node_endpoints(self, leader_id: int, leader: Endpoint | None) -> tuple[Any, ...]:
        """Return the leader's endpoint, in the versions that have it (KIP-853)."""
        if leader is None or not self.has("NodeEndpoint"):
            return ()
        return (self.make("NodeEndpoint", node_id=leader_id, host=leader.host, port=leader.port, rack=None),)

    def frame(self, correlation_id: int, body: Any) -> bytes:
        """Return the response with its header, without its length."""
        return _CORRELATION.pack(correlation_id) + self._end_of_header + self._bytes_of(body)


class Questions(_Entities):
    """The requests of one API and version that this node sends, and the responses that it gets."""

    def __init__(self, name: str, key: int, version: int) -> None:
        super().__init__(name, version, "request")
        self.key = key
        self.version = version
        self._answer: type[Any] = getattr(_module(name, version, "response"), _class_name(name, "response"))
        self._end_of_header = b"\0" if self._whole.__flexible__ else b""
        self._has_tags = _has_header_tags(name, self._answer)

    def request(self, **values: Any) -> Any:
        """Return the entity of the whole request."""
        return self.make(self._whole.__name__, **values)

    def frame(self, correlation_id: int, client_id: str, body: Any) -> bytes:
        """Return the request with its header and its length."""
        return self.frame_around(correlation_id, client_id, self._bytes_of(body))

    def frame_around(self, correlation_id: int, client_id: str, body: bytes) -> bytes:
        """Return the frame of a request whose body is encoded already."""
        client = client_id.encode()
        head = _HEAD.pack(self.key, self.version, correlation_id, len(client)) + client + self._end_of_header
        return _LENGTH.pack(len(head) + len(body)) + head + body

    def read(self, data: bytes) -> Any:
        """Return the body of a response as kio's entity; `data` begins with the correlation id.

        Raises:
            BadFrame: the bytes are malformed, or some are left over.
        """
        cursor = Cursor(data, _CORRELATION.size)
        if self._has_tags:
            skip_tags(cursor)
        body = reader_of(self._answer)(cursor)
        if cursor.at != cursor.end:
            raise BadFrame(f"{cursor.end - cursor.at} bytes are left over")
        return body


def _has_header_tags(name: str, answer: type[Any]) -> bool:
    return name != "api_versions" and bool(answer.__flexible__)


@cache
def answers_of(name: str, version: int) -> Answers:
    """Return the cached `Answers`."""
    return Answers(name, version)


@cache
def questions_of(name: str, key: int, version: int) -> Questions:
    """Return the cached `Questions`."""
    return Questions(name, key, version)


def said_briefly(message: str | None) -> str | None:
    """Return the message, cut to what fits a text: it may repeat a client's input."""
    return message if message is None or len(message) <= _MOST_SAID else f"{message[:_MOST_SAID]}..."


def uuid_to(value: bytes) -> uuid.UUID:
    """Return 16 bytes in kio's form. kio writes zero as null if the field is nullable, and as zero otherwise."""
    return uuid.UUID(bytes=value)


def bytes_of(value: uuid.UUID | None) -> bytes:
    """Return 16 bytes; kio's None is the zero id."""
    return bytes(16) if value is None else value.bytes


def key_from(node_id: int, directory_id: uuid.UUID | None) -> ReplicaKey:
    """Return a replica's key. An older version without a directory has the zero id."""
    return ReplicaKey(node_id=NodeId(node_id), directory_id=DirectoryId(bytes_of(directory_id)))


def timestamp_to(wall_ms: int) -> datetime.datetime:
    """Return kio's form of ms since 1970. A time past the year 9999 becomes its end."""
    try:
        return _EPOCH + datetime.timedelta(milliseconds=wall_ms)
    except OverflowError:
        return datetime.datetime.max.replace(tzinfo=datetime.UTC)


def duration_to(ms: int) -> datetime.timedelta:
    """Return kio's form of a duration in ms."""
    return datetime.timedelta(milliseconds=ms)


def milliseconds(value: datetime.timedelta) -> int:
    """Return the duration in whole ms."""
    return value // datetime.timedelta(milliseconds=1)
