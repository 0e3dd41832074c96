"""AlterUserScramCredentials and DescribeUserScramCredentials with their answers (KIP-554)."""

from __future__ import annotations

import msgspec

from quorum.api.error_codes import Error
from quorum.api.request import Read, Request


class ScramDeletion(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A credential to be gone; `mechanism`: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512."""

    name: str
    mechanism: int


class ScramUpsertion(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A credential to be made or replaced. The password comes salted; its text form hides it."""

    name: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes

    def __repr__(self) -> str:
        return f"ScramUpsertion(name={self.name!r}, mechanism={self.mechanism}, hidden)"


class AlterUserScramCredentials(Request["AlterUserScramCredentialsResponse"], frozen=True, kw_only=True, gc=False):
    """Change credentials: of each user one. One refused user leaves the others be."""

    deletions: tuple[ScramDeletion, ...] = ()
    upsertions: tuple[ScramUpsertion, ...] = ()

    def rejected(self, error: Error, message: str | None = None) -> AlterUserScramCredentialsResponse:
        """Return the response that rejects each user for the same reason."""
        users = dict.fromkeys([each.name for each in self.deletions] + [each.name for each in self.upsertions])
        results = tuple(AlteredScramUser(user=user, error=error, error_message=message) for user in users)
        return AlterUserScramCredentialsResponse(results=results, error=error, error_message=message)


class AlteredScramUser(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What became of one user."""

    user: str
    error: Error = Error.NONE
    error_message: str | None = None


class AlterUserScramCredentialsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Each user once, in the order of the request."""

    results: tuple[AlteredScramUser, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None


class DescribeUserScramCredentials(Read["DescribeUserScramCredentialsResponse"], frozen=True, kw_only=True, gc=False):
    """Tell which credentials these users have; without names: all who have any."""

    users: tuple[str, ...] = ()

    def rejected(self, error: Error, message: str | None = None) -> DescribeUserScramCredentialsResponse:
        """Return the response that rejects the whole request."""
        return DescribeUserScramCredentialsResponse(error=error, error_message=message)


class ScramCredentialInfo(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is told of one credential: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512; how often the password was hashed."""

    mechanism: int
    iterations: int


class DescribedScramUser(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One user; the credentials in the order of their mechanisms."""

    user: str
    credentials: tuple[ScramCredentialInfo, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None


class DescribeUserScramCredentialsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Each user once, in the order of the request; by name where it named none."""

    results: tuple[DescribedScramUser, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None
