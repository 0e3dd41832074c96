"""Delegation tokens: the derivation of their secrets, and their lifetime.

A token's secret is the HMAC-SHA-512 of its id with the key that all controllers and brokers share, so no record has it
(KIP-48, KIP-900). Must not know: authorization.
"""

from __future__ import annotations

import hmac

import msgspec

from metadata_log.image import DelegationToken, MetadataImage


class TokenSettings(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The settings, equal on all controllers and brokers. The text form hides the key."""

    secret_key: bytes
    """`delegation.token.secret.key`."""
    max_lifetime_ms: int
    """`delegation.token.max.lifetime.ms`."""
    expiry_time_ms: int
    """`delegation.token.expiry.time.ms`: the validity of a token without renewal."""
    expiry_check_interval_ms: int
    """`delegation.token.expiry.check.interval.ms`."""

    def __repr__(self) -> str:
        return "TokenSettings(hidden)"

    def hmac_of(self, token_id: str) -> bytes:
        """Return the secret of a token."""
        return hmac.digest(self.secret_key, token_id.encode(), "sha512")

    def token_of(self, secret: bytes, image: MetadataImage) -> DelegationToken | None:
        """Return the token with this secret, or None."""
        tokens = image.delegation_tokens.by_id.values()
        return next((token for token in tokens if hmac.compare_digest(self.hmac_of(token.token_id), secret)), None)


def is_expired(token: DelegationToken, wall_ms: int) -> bool:
    """Return True if the token has expired."""
    return min(token.max_timestamp, token.expiration_timestamp) < wall_ms
