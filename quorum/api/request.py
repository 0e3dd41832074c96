"""A client's request to the controller, its response, and the tie between the two.

Decides: that a request's class names the class of its response, and whether it is a read. All code on the path of a
request takes both from here, so a response of the wrong kind is a type error.
"""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar, get_type_hints

import msgspec

from quorum.api.error_codes import Error


class Response(Protocol):
    """A response; `error` concerns the request as a whole."""

    @property
    def error(self) -> Error: ...

    @property
    def error_message(self) -> str | None: ...


R_co = TypeVar("R_co", bound=Response, covariant=True)


class Request(msgspec.Struct, Generic[R_co], frozen=True, kw_only=True, gc=False):
    """A request that an `R_co` answers."""

    def rejected(self, error: Error, message: str | None = None) -> R_co:
        """Return the response that rejects the whole request for one reason, in this request's shape."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it is rejected")


class Read(Request[R_co], Generic[R_co], frozen=True, kw_only=True, gc=False):
    """A request that changes nothing and is answered from an image. It may be repeated.

    If the request names an offset, any replica whose image reaches it answers. Otherwise the leader answers after a
    read barrier (DESIGN 2.1).

    A replica that does not lead has no soft state. So the handler may use the turn's image, config and context only:
    what it would find in the turn's `state` is empty (`ImageReader`).
    """


AnyRequest = Request[Response]
R = TypeVar("R", bound=Response)


def response_of(request: type[Request[R]]) -> type[R]:
    """Return the class of the response, as the request's `rejected` declares it."""
    response: type[R] = get_type_hints(request.rejected)["return"]
    return response
