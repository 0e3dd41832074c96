"""SCRAM credentials by `quorum.client.Admin`, through the real door."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest

from metadata_log.image import ScramUser
from quorum.api.error_codes import Error
from quorum.client import Admin, RefusedError, ScramDeletion, ScramMechanism, scram_upsertion
from quorum.controller.authorizer import Authorizer
from tests.support.controlled_door import controlled
from tests.support.loop import run

SHA_256, SHA_512 = ScramMechanism
AUTH_MESSAGE = (
    "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    "s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
)
SERVER_SIGNATURE = "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
"""The exchange of RFC 7677, section 3."""


def test_a_server_proves_itself_by_what_is_kept_of_a_password() -> None:
    async def main() -> None:
        salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
        async with controlled() as (machine, address), Admin(address) as admin:
            (await admin.alter_user_scram_credentials([scram_upsertion("user", SHA_256, "pencil", salt=salt)])).all()
            kept = machine.cluster.image.scram.credentials[ScramUser(name="user", mechanism=SHA_256)]
            signature = hmac.digest(kept.server_key, AUTH_MESSAGE.encode(), hashlib.sha256)
            assert base64.b64encode(signature).decode() == SERVER_SIGNATURE

    run(main())


def test_credentials_are_made_described_and_removed() -> None:
    async def main() -> None:
        async with controlled() as (machine, address), Admin(address) as admin:
            made = [scram_upsertion("bob", SHA_512, "x", iterations=8192), scram_upsertion("alice", SHA_256, "y")]
            assert set((await admin.alter_user_scram_credentials(made)).all()) == {"alice", "bob"}
            (await admin.alter_user_scram_credentials([scram_upsertion("alice", SHA_512, "y")])).all()
            told = (await admin.describe_user_scram_credentials()).all()
            assert {
                user: [(one.mechanism, one.iterations) for one in each.credentials] for user, each in told.items()
            } == {
                "alice": [(SHA_256, 4096), (SHA_512, 4096)],
                "bob": [(SHA_512, 8192)],
            }
            assert list(told) == ["alice", "bob"]
            (await admin.alter_user_scram_credentials([ScramDeletion(name="bob", mechanism=SHA_512)])).all()
            end = machine.cluster.next_offset
            asked = await admin.describe_user_scram_credentials(["bob", "alice"], at_least_offset=end)
            assert list(asked.values()) == ["bob", "alice"]
            assert asked.values()["alice"].exception() is None
            with pytest.raises(RefusedError, match="user 'bob'") as raised:
                asked.all()
            assert raised.value.error is Error.RESOURCE_NOT_FOUND
            twice = await admin.describe_user_scram_credentials(["alice", "alice"])
            with pytest.raises(RefusedError) as raised:
                twice.all()
            assert raised.value.error is Error.DUPLICATE_RESOURCE

    run(main())


def test_one_refused_user_leaves_the_others_be() -> None:
    async def main() -> None:
        async with controlled() as (_, address), Admin(address) as admin:
            few = scram_upsertion("alice", SHA_256, "y", iterations=1)
            altered = (await admin.alter_user_scram_credentials([few, scram_upsertion("bob", SHA_256, "x")])).values()
            assert altered["bob"].exception() is None
            with pytest.raises(RefusedError) as raised:
                altered["alice"].result()
            assert raised.value.error is Error.UNACCEPTABLE_CREDENTIAL

    run(main())


def test_two_salts_are_never_the_same() -> None:
    one, other = (scram_upsertion("alice", SHA_256, "y") for _ in range(2))
    assert one.salt != other.salt
    assert one.salted_password != other.salted_password


def test_who_may_not() -> None:
    async def main() -> None:
        async with controlled(Authorizer()) as (_, address), Admin(address) as admin:
            altering = admin.alter_user_scram_credentials([scram_upsertion("alice", SHA_256, "y")])
            for call in (altering, admin.describe_user_scram_credentials()):
                with pytest.raises(RefusedError) as raised:
                    await call
                assert raised.value.error is Error.CLUSTER_AUTHORIZATION_FAILED

    run(main())
