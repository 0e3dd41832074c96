"""RegisterController (KIP-919) and UnregisterController (KIP-1312) with their responses."""

from __future__ import annotations

import msgspec

from metadata_log.ids import Uuid
from quorum.api.brokers import FeatureRange, Listener
from quorum.api.error_codes import Error
from quorum.api.request import Request


class RegisterController(Request["RegisterControllerResponse"], frozen=True, kw_only=True, gc=False):
    """A controller registers itself. If the image already has the same registration, nothing is written."""

    controller_id: int
    incarnation_id: Uuid
    listeners: tuple[Listener, ...]
    features: tuple[FeatureRange, ...]

    def rejected(self, error: Error, message: str | None = None) -> RegisterControllerResponse:
        """Return the response that rejects the whole request."""
        return RegisterControllerResponse(error=error, error_message=message)


class RegisterControllerResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The response to RegisterController."""

    error: Error = Error.NONE
    error_message: str | None = None


class UnregisterController(Request["UnregisterControllerResponse"], frozen=True, kw_only=True, gc=False):
    """A request to remove the registration of a controller that is gone for good."""

    controller_id: int

    def rejected(self, error: Error, message: str | None = None) -> UnregisterControllerResponse:
        """Return the response that rejects the whole request."""
        return UnregisterControllerResponse(error=error, error_message=message)


class UnregisterControllerResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The response to UnregisterController."""

    error: Error = Error.NONE
    error_message: str | None = None
