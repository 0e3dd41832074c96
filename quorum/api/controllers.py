"""RegisterController and its answer: a controller tells its listeners and features (KIP-919)."""

from __future__ import annotations

import msgspec

from metadata_log.ids import Uuid
from quorum.api.brokers import FeatureRange, Listener
from quorum.api.error_codes import Error


class RegisterController(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A controller's process introduces itself; nothing is written when the image holds just this already."""

    controller_id: int
    incarnation_id: Uuid
    listeners: tuple[Listener, ...]
    features: tuple[FeatureRange, ...]

    def refused(self, error: Error, message: str | None = None) -> RegisterControllerResponse:
        """The answer that refuses the whole request."""
        return RegisterControllerResponse(error=error, error_message=message)


class RegisterControllerResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The answer to RegisterController."""

    error: Error = Error.NONE
    error_message: str | None = None
