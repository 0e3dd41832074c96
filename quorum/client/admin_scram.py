"""SCRAM credentials (KIP-554), in the terms of Kafka's Admin.

The password itself never leaves the client: it is salted and hashed here (RFC 5802).
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
"""The default of kafka-configs.sh."""
_SALT_BYTES: Final = 32
_MOST_ITERATIONS: Final = (1 << 31) - 1
"""The largest int32, the type of the field. The controller enforces a mechanism's own minimum and maximum."""


class ScramMechanism(enum.IntEnum):
    """The hash of a SCRAM mechanism."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2


class AlterUserScramCredentialsResult(Results[str, AlteredScramUser]):
    """The outcome for each user."""


class DescribeUserScramCredentialsResult(Results[str, DescribedScramUser]):
    """The credentials of each user."""


def scram_upsertion(
    user: str,
    mechanism: ScramMechanism,
    password: str,
    *,
    iterations: int = DEFAULT_ITERATIONS,
    salt: bytes | None = None,
) -> ScramUpsertion:
    """Return a credential to add or replace, made from a password. The salt is random by default.

    Raises:
        InvalidRequestError: the mechanism is unknown, `iterations` is not from 1 to 2^31 - 1, or UTF-8 cannot encode
            the password.
    """
    salt = secrets.token_bytes(_SALT_BYTES) if salt is None else salt
    if mechanism not in HASHES:
        raise not_sent(f"mechanism {mechanism} is not one of {', '.join(each.name for each in ScramMechanism)}")
    if not 0 < iterations <= _MOST_ITERATIONS:
        raise not_sent(f"iterations is {iterations}, which is not from 1 to {_MOST_ITERATIONS}")
    try:
        secret = password.encode()
    except UnicodeEncodeError:  # not chained: the text of this error contains the password
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
