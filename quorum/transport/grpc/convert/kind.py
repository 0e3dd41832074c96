"""What a door has to know of one kind of client's request: a row of the table in `calls`."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import msgspec
from google.protobuf.message import Message

from quorum import api as requests
from quorum.api import Request
from quorum.transport.grpc.convert.by_fields import by_fields


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of request: `name` is its field in `Call` and `Answer`, and the functions are its conversions.

    `is_repeatable`: asking it twice does no harm that asking it once does not, so that it may be sent again when it is
    not known what became of the first.
    """

    name: str
    request: type[Request]
    response_message: type[Any]
    request_to: Callable[[Any], Message]
    request_from: Callable[[Any], Request]
    response_to: Callable[[Any], Any]
    response_from: Callable[[Any], object]
    is_repeatable: bool


def kind_by_fields(module: ModuleType, name: str, request: type[Request], *, is_repeatable: bool) -> Kind:
    """The row of a request that is translated by its fields' names, as its answer is; `module` has their messages.

    Raises:
        TypeError: as `by_fields`.
    """
    spelt = request.__name__
    response_message = getattr(module, f"{spelt}Response")
    asked = by_fields(request, getattr(module, f"{spelt}Request"))
    said = by_fields(getattr(requests, f"{spelt}Response"), response_message)
    return Kind(
        name=name,
        request=request,
        response_message=response_message,
        request_to=asked.to_message,
        request_from=asked.to_struct,
        response_to=said.to_message,
        response_from=said.to_struct,
        is_repeatable=is_repeatable,
    )
