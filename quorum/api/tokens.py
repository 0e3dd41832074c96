"""CreateDelegationToken, RenewDelegationToken and ExpireDelegationToken with their responses (KIP-48, KIP-900).

Principals are `Type:name`. Times are in ms since 1970; a response that rejects has -1.
"""

from __future__ import annotations

import msgspec

from quorum.api.error_codes import Error
from quorum.api.request import Request

NO_TIME = -1


class CreateDelegationToken(Request["CreateDelegationTokenResponse"], frozen=True, kw_only=True, gc=False):
    """Create a token for `owner`, or for the requesting principal if None."""

    owner: str | None = None
    renewers: tuple[str, ...] = ()
    max_lifetime_ms: int = -1
    """The longest lifetime, if above 0. The controller's own limit applies as well."""

    def rejected(self, error: Error, message: str | None = None) -> CreateDelegationTokenResponse:
        """Return the response that rejects the request."""
        return CreateDelegationTokenResponse(error=error, error_message=message, owner=self.owner or "")


class CreateDelegationTokenResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The created token. `repr` hides `hmac`, the secret with which its holder authenticates."""

    owner: str = ""
    requester: str = ""
    issue_timestamp: int = NO_TIME
    expiry_timestamp: int = NO_TIME
    max_timestamp: int = NO_TIME
    token_id: str = ""
    hmac: bytes = b""
    error: Error = Error.NONE
    error_message: str | None = None

    def __repr__(self) -> str:
        return f"CreateDelegationTokenResponse(error={self.error.name}, token_id={self.token_id!r}, hidden)"


class RenewDelegationToken(Request["RenewDelegationTokenResponse"], frozen=True, kw_only=True, gc=False):
    """Extend a token's lifetime by `renew_period_ms`, if above 0. The controller's own limit applies as well."""

    hmac: bytes
    renew_period_ms: int = -1

    def rejected(self, error: Error, message: str | None = None) -> RenewDelegationTokenResponse:
        """Return the response that rejects the request."""
        return RenewDelegationTokenResponse(error=error, error_message=message)

    def __repr__(self) -> str:
        return f"RenewDelegationToken(renew_period_ms={self.renew_period_ms}, hidden)"


class RenewDelegationTokenResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The time at which the token expires now."""

    expiry_timestamp: int = NO_TIME
    error: Error = Error.NONE
    error_message: str | None = None


class ExpireDelegationToken(Request["ExpireDelegationTokenResponse"], frozen=True, kw_only=True, gc=False):
    """Set a token to expire `expiry_period_ms` from now. A negative value deletes it at once."""

    hmac: bytes
    expiry_period_ms: int = -1

    def rejected(self, error: Error, message: str | None = None) -> ExpireDelegationTokenResponse:
        """Return the response that rejects the request."""
        return ExpireDelegationTokenResponse(error=error, error_message=message)

    def __repr__(self) -> str:
        return f"ExpireDelegationToken(expiry_period_ms={self.expiry_period_ms}, hidden)"


class ExpireDelegationTokenResponse(RenewDelegationTokenResponse, frozen=True, kw_only=True, gc=False):
    """The time at which the token expires now."""
