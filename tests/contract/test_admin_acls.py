"""Access control entries by `quorum.client.Admin`, through the real door."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from quorum.api.context import ANONYMOUS
from quorum.api.error_codes import Error
from quorum.client import (
    ANY,
    AclEntry,
    AclFilter,
    AclOperation,
    AclPatternType,
    AclPermissionType,
    AclResourceType,
    Admin,
    RefusedError,
)
from quorum.controller.authorizer import Authorizer
from tests.support.controlled_door import controlled
from tests.support.loop import run

READS = AclEntry(
    resource_type=AclResourceType.TOPIC,
    resource_name="orders",
    pattern_type=AclPatternType.LITERAL,
    principal="User:alice",
    host="*",
    operation=AclOperation.READ,
    permission_type=AclPermissionType.ALLOW,
)
WRITES = replace(READS, operation=AclOperation.WRITE)
OF_ALICE = AclFilter(
    resource_type=ANY,
    resource_name=None,
    pattern_type=ANY,
    principal="User:alice",
    host=None,
    operation=ANY,
    permission_type=ANY,
)
OF_BOB = replace(OF_ALICE, principal="User:bob")
SUPER_USER = Authorizer(super_users=frozenset({ANONYMOUS}))


def test_entries_are_made_listed_and_removed() -> None:
    async def main() -> None:
        async with controlled(SUPER_USER) as (machine, address), Admin(address) as admin:
            assert list((await admin.create_acls([WRITES, READS, WRITES])).all()) == [WRITES, READS]
            assert await admin.describe_acls(OF_ALICE) == (READS, WRITES)
            assert await admin.describe_acls(OF_ALICE, at_least_offset=machine.cluster.next_offset) == (READS, WRITES)
            assert await admin.describe_acls(OF_BOB) == ()
            end = machine.cluster.next_offset
            (await admin.create_acls([READS])).all()
            assert machine.cluster.next_offset == end, "it was there already"
            of_reading = replace(OF_ALICE, operation=AclOperation.READ)
            deleted = (await admin.delete_acls([OF_BOB, of_reading])).all()
            assert {one: told.matching for one, told in deleted.items()} == {OF_BOB: (), of_reading: (READS,)}
            assert await admin.describe_acls(OF_ALICE) == (WRITES,)

    run(main())


def test_one_refused_entry_or_filter_leaves_the_others_be() -> None:
    async def main() -> None:
        async with controlled(SUPER_USER) as (_, address), Admin(address) as admin:
            bad = replace(READS, operation=99)
            created = (await admin.create_acls([bad, READS])).values()
            assert created[READS].exception() is None
            with pytest.raises(RefusedError, match="Invalid operation 99") as raised:
                created[bad].result()
            assert raised.value.error is Error.INVALID_REQUEST
            nothing = replace(OF_ALICE, pattern_type=0)
            deleted = await admin.delete_acls([nothing, OF_ALICE])
            assert deleted.values()[OF_ALICE].result().matching == (READS,)
            with pytest.raises(RefusedError, match="unknown pattern type: 0"):
                deleted.all()
            with pytest.raises(RefusedError, match="unknown pattern type: 0"):
                await admin.describe_acls(nothing)

    run(main())


@pytest.mark.parametrize(
    ("authorizer", "error"),
    [(None, Error.SECURITY_DISABLED), (Authorizer(), Error.CLUSTER_AUTHORIZATION_FAILED)],
)
def test_who_may_not_or_where_nobody_judges_by_them(authorizer: Authorizer | None, error: Error) -> None:
    async def main() -> None:
        async with controlled(authorizer) as (machine, address), Admin(address) as admin:
            end = machine.cluster.next_offset
            for call in (admin.create_acls([READS]), admin.delete_acls([OF_ALICE]), admin.describe_acls(OF_ALICE)):
                with pytest.raises(RefusedError) as raised:
                    await call
                assert raised.value.error is error
            assert machine.cluster.next_offset == end

    run(main())
