"""UpdateFeatures and its response (KIP-584, KIP-778, KIP-1022)."""

from __future__ import annotations

import enum

import msgspec

from quorum.api.error_codes import Error
from quorum.api.request import Request


class UpgradeType(enum.IntEnum):
    """The direction in which a level may change, with Kafka's numbers."""

    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The new level of a feature; 0 removes it. `upgrade_type` is a plain int, because a client may send an unknown
    one."""

    name: str
    level: int
    upgrade_type: int = UpgradeType.UPGRADE


class UpdateFeatures(Request["UpdateFeaturesResponse"], frozen=True, kw_only=True, gc=False):
    """Set the levels of features, all or none. If a feature is named twice, the last entry counts."""

    updates: tuple[FeatureUpdate, ...]
    validate_only: bool = False
    timeout_ms: int = 60_000

    def rejected(self, error: Error, message: str | None = None) -> UpdateFeaturesResponse:
        """Return the response that rejects the whole request."""
        return UpdateFeaturesResponse(error=error, error_message=message)


class UpdateFeaturesResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The response to UpdateFeatures."""

    error: Error = Error.NONE
    error_message: str | None = None
