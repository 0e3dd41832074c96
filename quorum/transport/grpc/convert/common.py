"""What every conversion needs: errors, ids, endpoints, and the two ways in which a message can be bad."""

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
    """A message cannot be understood; `error` is what its sender is answered."""

    def __init__(self, error: Error, why: str) -> None:
        super().__init__(why)
        self.error = error
        self.why = why


def error_from(code: int) -> Error:
    """The error of that code; UNKNOWN_SERVER_ERROR for one that only a newer node knows."""
    return _ERRORS.get(code, Error.UNKNOWN_SERVER_ERROR)


def topic_id_from(value: bytes) -> TopicId:
    """A topic id of 16 bytes; empty stands for the null id.

    Raises:
        BadMessage: it has another length.
    """
    if not value:
        return ZERO_TOPIC_ID
    if len(value) != ID_BYTES:
        raise BadMessage(Error.INVALID_REQUEST, f"a topic id has {len(value)} bytes, not {ID_BYTES}")
    return TopicId(value)


def directory_id_from(value: bytes) -> DirectoryId:
    """A directory id of 16 bytes; empty stands for none.

    Raises:
        BadMessage: it has another length.
    """
    if not value:
        return ZERO_DIRECTORY_ID
    if len(value) != ID_BYTES:
        raise BadMessage(Error.INVALID_REQUEST, f"a directory id has {len(value)} bytes, not {ID_BYTES}")
    return DirectoryId(value)


def uuid_from(value: bytes) -> Uuid:
    """An id of 16 bytes.

    Raises:
        BadMessage: it has another length, or is missing.
    """
    if len(value) != ID_BYTES:
        raise BadMessage(Error.INVALID_REQUEST, f"an incarnation id has {len(value)} bytes, not {ID_BYTES}")
    return Uuid(value)


def endpoint_to(endpoint: Endpoint) -> common_pb2.Endpoint:
    """The endpoint on the wire."""
    return common_pb2.Endpoint(name=endpoint.name, host=endpoint.host, port=endpoint.port)


def endpoints_to(endpoints: Iterable[Endpoint]) -> list[common_pb2.Endpoint]:
    """The endpoints on the wire."""
    return [endpoint_to(endpoint) for endpoint in endpoints]


def endpoint_from(message: common_pb2.Endpoint) -> Endpoint:
    """The endpoint that `message` tells."""
    return Endpoint(name=message.name, host=message.host, port=message.port)


def endpoints_from(messages: Iterable[common_pb2.Endpoint]) -> tuple[Endpoint, ...]:
    """The endpoints that `messages` tell."""
    return tuple(endpoint_from(message) for message in messages)
