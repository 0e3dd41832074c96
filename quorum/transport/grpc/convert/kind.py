"""One kind of client request, as a listener needs it: a row of the table in `calls`."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final, Generic, TypeVar

import msgspec
from google.protobuf.message import Message

from quorum.api.request import Read, Request, Response, response_of
from quorum.transport.grpc.convert.by_fields import by_fields

R = TypeVar("R", bound=Response)
_WORD_BEGINS: Final = re.compile(r"(?<!^)(?=[A-Z])")


class Kind(msgspec.Struct, Generic[R], frozen=True, kw_only=True):
    """One kind of request: `name` is its field in `Call` and `Answer`, and the functions are its conversions.

    `is_repeatable`: a second request has the same effect as one. The client may send it again if the first one's
    outcome is unknown.
    """

    name: str
    request: type[Request[R]]
    response: type[R]
    response_message: type[Any]
    request_to: Callable[[Any], Message]
    request_from: Callable[[Any], Request[R]]
    response_to: Callable[[R], Any]
    response_from: Callable[[Any], R]
    is_repeatable: bool


def name_of(request: type[Request[Response]]) -> str:
    """Return a request's field in `Call` and `Answer`: `create_topics` of CreateTopics."""
    return _WORD_BEGINS.sub("_", request.__name__).lower()


def kind_by_fields(module: ModuleType, request: type[Request[R]], *, is_repeatable: bool = False) -> Kind[R]:
    """Return the row of a request that is converted by field name, as is its response.

    `module` has their messages. A `Read` is always repeatable.

    Raises:
        TypeError: as `by_fields`.
    """
    response = response_of(request)
    response_message = getattr(module, response.__name__)
    asked = by_fields(request, getattr(module, f"{request.__name__}Request"))
    said = by_fields(response, response_message)
    return Kind(
        name=name_of(request),
        request=request,
        response=response,
        response_message=response_message,
        request_to=asked.to_message,
        request_from=asked.to_struct,
        response_to=said.to_message,
        response_from=said.to_struct,
        is_repeatable=is_repeatable or issubclass(request, Read),
    )
