"""Extracts the response from an answer, and checks that it is of the request's kind."""

from __future__ import annotations

from typing import TypeVar

from quorum.api.calls import AnyAnswer
from quorum.api.request import Request, Response
from quorum.client.errors import UnavailableError
from quorum.transport.grpc.convert.calls import kind_of

R = TypeVar("R", bound=Response)


def response_in(answer: AnyAnswer, request: Request[R]) -> R:
    """Return the response to that request.

    Raises:
        UnavailableError: the answer holds the response to another kind of request.
    """
    kind, response = kind_of(request), answer.response
    if not isinstance(response, kind.response):
        raise UnavailableError(f"the controller answered with {type(response).__name__}, not {kind.response.__name__}")
    return response
