"""UpdateFeatures and its answer (KIP-584, KIP-778, KIP-1022)."""

from __future__ import annotations

import enum

import msgspec

from quorum.api.error_codes import Error
from quorum.api.request import Request


class UpgradeType(enum.IntEnum):
    """In which direction a feature may go, with Kafka's numbers."""

    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The level that a feature shall have; 0 takes it away. `upgrade_type` is a plain number, since anybody may send
    any."""

    name: str
    level: int
    upgrade_type: int = UpgradeType.UPGRADE


class UpdateFeatures(Request["UpdateFeaturesResponse"], frozen=True, kw_only=True, gc=False):
    """Set the levels of features, all or none; of one that is named twice the last counts."""

    updates: tuple[FeatureUpdate, ...]
    validate_only: bool = False
    timeout_ms: int = 60_000

    def rejected(self, error: Error, message: str | None = None) -> UpdateFeaturesResponse:
        """Return the response that rejects the whole request."""
        return UpdateFeaturesResponse(error=error, error_message=message)


class UpdateFeaturesResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The answer to UpdateFeatures."""

    error: Error = Error.NONE
    error_message: str | None = None
