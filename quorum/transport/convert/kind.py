"""What a door has to know of one kind of client's request: a row of the table in `calls`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from google.protobuf.message import Message

from quorum.controller.requests import Request


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
