"""CreateDelegationToken, RenewDelegationToken and ExpireDelegationToken with their answers (KIP-48, KIP-900).

Principals are `Type:name`; times are ms since 1970, and -1 in an answer that refuses.
"""

from __future__ import annotations

import msgspec

from quorum.api.error_codes import Error
from quorum.api.request import Request

NO_TIME = -1


class CreateDelegationToken(Request["CreateDelegationTokenResponse"], frozen=True, kw_only=True, gc=False):
    """Make a token for `owner`, which is the asker itself when None."""

    owner: str | None = None
    renewers: tuple[str, ...] = ()
    max_lifetime_ms: int = -1
    """Not longer than this, if it is above 0, and never longer than the controller's own bound."""

    def rejected(self, error: Error, message: str | None = None) -> CreateDelegationTokenResponse:
        """Return the response that rejects it."""
        return CreateDelegationTokenResponse(error=error, error_message=message, owner=self.owner or "")


class CreateDelegationTokenResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The token; its text form hides `hmac`, which is the secret that its holder proves itself by."""

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
    """Let a token be valid for longer: for `renew_period_ms`, if it is above 0, and never longer than the controller's
    own bound."""

    hmac: bytes
    renew_period_ms: int = -1

    def rejected(self, error: Error, message: str | None = None) -> RenewDelegationTokenResponse:
        """Return the response that rejects it."""
        return RenewDelegationTokenResponse(error=error, error_message=message)

    def __repr__(self) -> str:
        return f"RenewDelegationToken(renew_period_ms={self.renew_period_ms}, hidden)"


class RenewDelegationTokenResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Until when it is valid now."""

    expiry_timestamp: int = NO_TIME
    error: Error = Error.NONE
    error_message: str | None = None


class ExpireDelegationToken(Request["ExpireDelegationTokenResponse"], frozen=True, kw_only=True, gc=False):
    """Let a token be valid for `expiry_period_ms` from now; below 0: it is gone at once."""

    hmac: bytes
    expiry_period_ms: int = -1

    def rejected(self, error: Error, message: str | None = None) -> ExpireDelegationTokenResponse:
        """Return the response that rejects it."""
        return ExpireDelegationTokenResponse(error=error, error_message=message)

    def __repr__(self) -> str:
        return f"ExpireDelegationToken(expiry_period_ms={self.expiry_period_ms}, hidden)"


class ExpireDelegationTokenResponse(RenewDelegationTokenResponse, frozen=True, kw_only=True, gc=False):
    """Until when it is valid now."""
