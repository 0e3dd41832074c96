"""The items in the controller role's purgatories."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from metadata_log.offsets import Offset
from quorum.api.calls import ClientCall
from quorum.api.request import Response

R = TypeVar("R", bound=Response)


class WaitingAnswer(msgspec.Struct, Generic[R], frozen=True, kw_only=True):
    """An answer that is true once everything before `offset` is committed."""

    call: ClientCall[R]
    response: R
    offset: Offset
    deadline_ms: int
    writes_from: Offset | None
    """The offset of its first record, or None without records. Once they are appended, a loss of leadership makes
    the outcome unknown."""
    token: int | None = None
    """The read barrier that it also waits for, if it has no records that prove leadership."""


class WaitingRead(msgspec.Struct, Generic[R], frozen=True, kw_only=True):
    """A read that no image may answer yet."""

    call: ClientCall[R]
    deadline_ms: int


AnyWaitingAnswer = WaitingAnswer[Any]
"""An answer in a purgatory that holds answers of every kind. A generic function completes it; there, its call names the
response again."""
AnyWaitingRead = WaitingRead[Any]
"""A read in a purgatory that holds reads of every kind, in the same way."""
