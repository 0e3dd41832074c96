"""AlterUserScramCredentials and DescribeUserScramCredentials with their responses (KIP-554)."""

from __future__ import annotations

import msgspec

from quorum.api.error_codes import Error
from quorum.api.request import Read, Request


class ScramDeletion(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A credential to delete; `mechanism`: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512."""

    name: str
    mechanism: int


class ScramUpsertion(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A credential to create or replace. The password comes salted; `repr` hides it."""

    name: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes

    def __repr__(self) -> str:
        return f"ScramUpsertion(name={self.name!r}, mechanism={self.mechanism}, hidden)"


class AlterUserScramCredentials(Request["AlterUserScramCredentialsResponse"], frozen=True, kw_only=True, gc=False):
    """Change credentials, at most one of each user. A rejected user does not affect the others."""

    deletions: tuple[ScramDeletion, ...] = ()
    upsertions: tuple[ScramUpsertion, ...] = ()

    def rejected(self, error: Error, message: str | None = None) -> AlterUserScramCredentialsResponse:
        """Return the response that rejects each user for the same reason."""
        users = dict.fromkeys([each.name for each in self.deletions] + [each.name for each in self.upsertions])
        results = tuple(AlteredScramUser(user=user, error=error, error_message=message) for user in users)
        return AlterUserScramCredentialsResponse(results=results, error=error, error_message=message)


class AlteredScramUser(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The outcome of one user."""

    user: str
    error: Error = Error.NONE
    error_message: str | None = None


class AlterUserScramCredentialsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Each user once, in the order of the request."""

    results: tuple[AlteredScramUser, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None


class DescribeUserScramCredentials(Read["DescribeUserScramCredentialsResponse"], frozen=True, kw_only=True, gc=False):
    """List the credentials of these users, or of all users if none is named."""

    users: tuple[str, ...] = ()

    def rejected(self, error: Error, message: str | None = None) -> DescribeUserScramCredentialsResponse:
        """Return the response that rejects the whole request."""
        return DescribeUserScramCredentialsResponse(error=error, error_message=message)


class ScramCredentialInfo(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One credential without its secret. `mechanism`: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512."""

    mechanism: int
    iterations: int


class DescribedScramUser(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One user; the credentials sorted by mechanism."""

    user: str
    credentials: tuple[ScramCredentialInfo, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None


class DescribeUserScramCredentialsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Each user once, in the order of the request, or by name if the request named none."""

    results: tuple[DescribedScramUser, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None
