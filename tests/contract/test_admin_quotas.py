"""Client quotas by `quorum.client.Admin`, through the real door."""

from __future__ import annotations

import pytest

from quorum.api.error_codes import Error
from quorum.client import Admin, QuotaComponent, RefusedError, quota_entity
from quorum.controller.authorizer import Authorizer
from tests.support.controlled_door import controlled
from tests.support.loop import run

ALICE = quota_entity({"user": "alice"})
ALICE_IN_APP = quota_entity({"user": "alice", "client-id": "app"})
ANY_ADDRESS = quota_entity({"ip": None})


def test_quotas_are_altered_and_described() -> None:
    async def main() -> None:
        async with controlled() as (machine, address), Admin(address) as admin:
            changes = {
                ALICE: {"producer_byte_rate": 1000.0, "request_percentage": 12.5},
                ALICE_IN_APP: {"producer_byte_rate": 500.0},
                ANY_ADDRESS: {"connection_creation_rate": 3.0},
            }
            assert list((await admin.alter_client_quotas(changes)).all()) == list(changes)
            assert await admin.describe_client_quotas() == changes
            of_alice = QuotaComponent.of_entity("user", "alice")
            assert set(await admin.describe_client_quotas([of_alice])) == {ALICE, ALICE_IN_APP}
            assert await admin.describe_client_quotas([of_alice], strict=True) == {ALICE: changes[ALICE]}
            default = QuotaComponent.of_default_entity("ip")
            end = machine.cluster.next_offset
            assert set(await admin.describe_client_quotas([default], at_least_offset=end)) == {ANY_ADDRESS}
            in_any_client = QuotaComponent.of_entity_type("client-id")
            assert set(await admin.describe_client_quotas([in_any_client])) == {ALICE_IN_APP}
            (await admin.alter_client_quotas({ALICE: {"request_percentage": None}})).all()
            assert (await admin.describe_client_quotas([of_alice], strict=True))[ALICE] == {"producer_byte_rate": 1e3}

    run(main())


def test_one_refused_entity_leaves_the_others_be() -> None:
    async def main() -> None:
        async with controlled() as (machine, address), Admin(address) as admin:
            altered = await admin.alter_client_quotas(
                {ALICE: {"producer_byte_rate": 1.0}, ANY_ADDRESS: {"producer_byte_rate": 1.0}}
            )
            assert altered.values()[ALICE].exception() is None
            with pytest.raises(RefusedError, match="no quota producer_byte_rate") as raised:
                altered.values()[ANY_ADDRESS].result()
            assert raised.value.error is Error.INVALID_REQUEST
            end = machine.cluster.next_offset
            checked = await admin.alter_client_quotas({ALICE: {"producer_byte_rate": 2.0}}, validate_only=True)
            checked.all()
            assert machine.cluster.next_offset == end

    run(main())


def test_who_may_not() -> None:
    async def main() -> None:
        async with controlled(Authorizer()) as (_, address), Admin(address) as admin:
            for call in (
                admin.alter_client_quotas({ALICE: {"producer_byte_rate": 1.0}}),
                admin.describe_client_quotas(),
            ):
                with pytest.raises(RefusedError) as raised:
                    await call
                assert raised.value.error is Error.CLUSTER_AUTHORIZATION_FAILED

    run(main())
