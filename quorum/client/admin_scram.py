"""SCRAM credentials, in the words of Kafka's Admin (KIP-554): what `Admin` asks about them, and what it tells.

Decides: that the password itself never leaves the client; it is salted here (RFC 5802).
"""

from __future__ import annotations

import enum
import hashlib
import secrets
from collections.abc import Iterable
from typing import Final

from metadata_log.offsets import Offset
from metadata_log.scram import FEWEST_ITERATIONS, HASHES
from quorum.api.scram import (
    AlteredScramUser,
    AlterUserScramCredentials,
    DescribedScramUser,
    DescribeUserScramCredentials,
    ScramDeletion,
    ScramUpsertion,
)
from quorum.client.admin_results import Results, outcomes_of
from quorum.client.arguments import several
from quorum.client.client import Client
from quorum.client.errors import not_sent

DEFAULT_ITERATIONS: Final = FEWEST_ITERATIONS
"""As kafka-configs.sh has it."""
_SALT_BYTES: Final = 32
_MOST_ITERATIONS: Final = (1 << 31) - 1
"""A request has no room for more; which of them are too many or too few the controller says."""


class ScramMechanism(enum.IntEnum):
    """How a password is hashed."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2


class AlterUserScramCredentialsResult(Results[str, AlteredScramUser]):
    """What became of each user's credential."""


class DescribeUserScramCredentialsResult(Results[str, DescribedScramUser]):
    """Which credentials each user has."""


def scram_upsertion(
    user: str,
    mechanism: ScramMechanism,
    password: str,
    *,
    iterations: int = DEFAULT_ITERATIONS,
    salt: bytes | None = None,
) -> ScramUpsertion:
    """A credential to be made or replaced, of a password; without a salt with a random one.

    Raises:
        InvalidRequestError: the password is no text that UTF-8 can write, no request has room for so many iterations,
            or there is no such mechanism.
    """
    salt = secrets.token_bytes(_SALT_BYTES) if salt is None else salt
    if mechanism not in HASHES:
        raise not_sent(f"mechanism {mechanism} is none of {', '.join(each.name for each in ScramMechanism)}")
    if not 0 < iterations <= _MOST_ITERATIONS:
        raise not_sent(f"iterations is {iterations}, which is not from 1 to {_MOST_ITERATIONS}")
    try:
        secret = password.encode()
    except UnicodeEncodeError:  # whose text would show the password
        raise not_sent("password is not a text that UTF-8 can write") from None
    salted = hashlib.pbkdf2_hmac(HASHES[mechanism], secret, salt, iterations)
    return ScramUpsertion(name=user, mechanism=mechanism, iterations=iterations, salt=salt, salted_password=salted)


async def alter_user_scram_credentials(
    client: Client, alterations: Iterable[ScramUpsertion | ScramDeletion], timeout_s: float | None
) -> AlterUserScramCredentialsResult:
    """See `Admin.alter_user_scram_credentials`."""
    asked = tuple(alterations)
    request = AlterUserScramCredentials(
        deletions=tuple(each for each in asked if isinstance(each, ScramDeletion)),
        upsertions=tuple(each for each in asked if isinstance(each, ScramUpsertion)),
    )
    response = await client.ask(request, timeout_s=timeout_s)
    return AlterUserScramCredentialsResult(outcomes_of(((each.user, each) for each in response.results), _text))


async def describe_user_scram_credentials(
    client: Client, users: Iterable[str], *, at_least_offset: Offset | None, timeout_s: float | None
) -> DescribeUserScramCredentialsResult:
    """See `Admin.describe_user_scram_credentials`."""
    request = DescribeUserScramCredentials(users=several(users, "users"))
    response = await client.ask(request, at_least_offset=at_least_offset, timeout_s=timeout_s)
    return DescribeUserScramCredentialsResult(outcomes_of(((each.user, each) for each in response.results), _text))


def _text(user: str) -> str:
    return f"user {user!r}"
