"""Delegation tokens: how their secrets are derived, and how long they live.

Decides: that a token's secret is HMAC-SHA-512 of its id under the key that all controllers and brokers share, and so
stands in no record (KIP-48, KIP-900). Must not know: who may have a token.
"""

from __future__ import annotations

import hmac

import msgspec

from metadata_log.image import DelegationToken, MetadataImage


class TokenSettings(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The same on all of a quorum and on its brokers. Its text form hides the key."""

    secret_key: bytes
    """`delegation.token.secret.key`."""
    max_lifetime_ms: int
    """`delegation.token.max.lifetime.ms`."""
    expiry_time_ms: int
    """`delegation.token.expiry.time.ms`: for how long it is valid without being renewed."""
    expiry_check_interval_ms: int
    """`delegation.token.expiry.check.interval.ms`."""

    def __repr__(self) -> str:
        return "TokenSettings(hidden)"

    def hmac_of(self, token_id: str) -> bytes:
        """The secret of a token."""
        return hmac.digest(self.secret_key, token_id.encode(), "sha512")

    def token_of(self, secret: bytes, image: MetadataImage) -> DelegationToken | None:
        """The token whose secret this is."""
        tokens = image.delegation_tokens.by_id.values()
        return next((token for token in tokens if hmac.compare_digest(self.hmac_of(token.token_id), secret)), None)


def is_expired(token: DelegationToken, wall_ms: int) -> bool:
    """Whether it is valid no more."""
    return min(token.max_timestamp, token.expiration_timestamp) < wall_ms
