"""Conversions that all others need: errors, ids, endpoints, and the exception for a malformed message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kraft.v1 import common_pb2
from metadata_log.ids import (
    ID_BYTES,
    ZERO_DIRECTORY_ID,
    ZERO_TOPIC_ID,
    DirectoryId,
    TopicId,
    Uuid,
)
from metadata_log.voters import Endpoint
from quorum.api.error_codes import Error

_ERRORS: Final[Mapping[int, Error]] = {int(error): error for error in Error}


class BadMessage(Exception):
    """A message is malformed. The sender gets `error` in the response."""

    def __init__(self, error: Error, why: str) -> None:
        super().__init__(why)
        self.error = error
        self.why = why


def error_from(code: int) -> Error:
    """Return the error of that code, or UNKNOWN_SERVER_ERROR for a code that only a newer node knows."""
    return _ERRORS.get(code, Error.UNKNOWN_SERVER_ERROR)


def topic_id_from(value: bytes) -> TopicId:
    """Return the topic id of 16 bytes; an empty value is the null id.

    Raises:
        BadMessage: it has another length.
    """
    if not value:
        return ZERO_TOPIC_ID
    if len(value) != ID_BYTES:
        raise BadMessage(Error.INVALID_REQUEST, f"a topic id has {len(value)} bytes, not {ID_BYTES}")
    return TopicId(value)


def directory_id_from(value: bytes) -> DirectoryId:
    """Return the directory id of 16 bytes; an empty value is the zero id.

    Raises:
        BadMessage: it has another length.
    """
    if not value:
        return ZERO_DIRECTORY_ID
    if len(value) != ID_BYTES:
        raise BadMessage(Error.INVALID_REQUEST, f"a directory id has {len(value)} bytes, not {ID_BYTES}")
    return DirectoryId(value)


def uuid_from(value: bytes) -> Uuid:
    """Return the incarnation id of 16 bytes.

    Raises:
        BadMessage: it has another length, or is missing.
    """
    if len(value) != ID_BYTES:
        raise BadMessage(Error.INVALID_REQUEST, f"an incarnation id has {len(value)} bytes, not {ID_BYTES}")
    return Uuid(value)


def endpoint_to(endpoint: Endpoint) -> common_pb2.Endpoint:
    """Return the message of an endpoint."""
    return common_pb2.Endpoint(name=endpoint.name, host=endpoint.host, port=endpoint.port)


def endpoints_to(endpoints: Iterable[Endpoint]) -> list[common_pb2.Endpoint]:
    """Return the messages of endpoints."""
    return [endpoint_to(endpoint) for endpoint in endpoints]


def endpoint_from(message: common_pb2.Endpoint) -> Endpoint:
    """Return the endpoint in `message`."""
    return Endpoint(name=message.name, host=message.host, port=message.port)


def endpoints_from(messages: Iterable[common_pb2.Endpoint]) -> tuple[Endpoint, ...]:
    """Return the endpoints in `messages`."""
    return tuple(endpoint_from(message) for message in messages)
