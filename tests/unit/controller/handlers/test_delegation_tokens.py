"""Delegation tokens: made, renewed, ended and removed when they have expired."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import msgspec
import pytest

from metadata_log.acl_codes import ALLOW, LITERAL, Operation, ResourceType
from metadata_log.image import DelegationToken
from metadata_log.records import AccessControlEntryRecord, DelegationTokenRecord, RemoveDelegationTokenRecord
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.api.tokens import (
    CreateDelegationToken,
    CreateDelegationTokenResponse,
    ExpireDelegationToken,
    RenewDelegationToken,
)
from quorum.controller.config import ControllerConfig
from quorum.controller.tokens import TokenSettings
from tests.support.controller import CLUSTER_ID, EVE, ControlledCluster, uuid

DAY_MS, HOUR_MS = 24 * 3600 * 1000, 3600 * 1000
SETTINGS = TokenSettings(
    secret_key=b"key", max_lifetime_ms=7 * DAY_MS, expiry_time_ms=DAY_MS, expiry_check_interval_ms=HOUR_MS
)
ALICE = RequestContext(principal="User:alice", forwarded_by=11)
BOB = RequestContext(principal="User:bob", forwarded_by=11)
OK = Error.NONE


def with_tokens(level: int = 30, **changes: Any) -> ControlledCluster:
    tokens = msgspec.structs.replace(SETTINGS, **changes)
    config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, tokens=tokens, max_idle_interval_ms=None)
    return ControlledCluster(level=level, elr=level >= 30, config=config)


@pytest.fixture
def cluster() -> ControlledCluster:
    return with_tokens()


def create(cluster: ControlledCluster, context: RequestContext = ALICE, **kw: Any) -> CreateDelegationTokenResponse:
    response = cluster.ask(CreateDelegationToken(**kw), context).response
    assert isinstance(response, CreateDelegationTokenResponse)
    return response


def renew(
    cluster: ControlledCluster, secret: bytes, period_ms: int = -1, context: RequestContext = ALICE
) -> tuple[Error, int]:
    response: Any = cluster.ask(RenewDelegationToken(hmac=secret, renew_period_ms=period_ms), context).response
    return response.error, response.expiry_timestamp


def expire(
    cluster: ControlledCluster, secret: bytes, period_ms: int = -1, context: RequestContext = ALICE
) -> tuple[Error, int]:
    response: Any = cluster.ask(ExpireDelegationToken(hmac=secret, expiry_period_ms=period_ms), context).response
    return response.error, response.expiry_timestamp


def token(cluster: ControlledCluster, token_id: str) -> DelegationToken:
    return cluster.image.delegation_tokens.by_id[token_id]


def test_a_token_is_its_asker_s_and_its_secret_stands_nowhere(cluster: ControlledCluster) -> None:
    now, before = cluster.time.wall_ms, cluster.next_offset
    made = create(cluster, renewers=("User:bob",))
    assert (made.error, made.owner, made.requester) == (OK, "User:alice", "User:alice")
    assert (made.issue_timestamp, made.expiry_timestamp, made.max_timestamp) == (now, now + DAY_MS, now + 7 * DAY_MS)
    assert made.hmac == hmac.new(b"key", made.token_id.encode(), hashlib.sha512).digest()
    assert token(cluster, made.token_id) == DelegationToken(
        token_id=made.token_id,
        owner="User:alice",
        requester="User:alice",
        renewers=("User:bob",),
        issue_timestamp=now,
        max_timestamp=now + 7 * DAY_MS,
        expiration_timestamp=now + DAY_MS,
    )
    assert [type(record) for record in cluster.log[before:]] == [DelegationTokenRecord]
    assert create(cluster).token_id != made.token_id


@pytest.mark.parametrize(
    ("asked_ms", "lives_ms", "valid_ms"),
    [
        (-1, 7 * DAY_MS, DAY_MS),
        (0, 7 * DAY_MS, DAY_MS),
        (HOUR_MS, HOUR_MS, HOUR_MS),
        (2 * DAY_MS, 2 * DAY_MS, DAY_MS),
        (1 << 62, 7 * DAY_MS, DAY_MS),
    ],
)
def test_how_long_it_lives(cluster: ControlledCluster, asked_ms: int, lives_ms: int, valid_ms: int) -> None:
    made = create(cluster, max_lifetime_ms=asked_ms)
    now = cluster.time.wall_ms
    assert (made.max_timestamp, made.expiry_timestamp) == (now + lives_ms, now + valid_ms)


def test_it_is_renewed_by_its_owner_and_its_renewers_up_to_its_end(cluster: ControlledCluster) -> None:
    made = create(cluster, renewers=("User:bob",))
    cluster.elapse(HOUR_MS)
    now = cluster.time.wall_ms
    assert renew(cluster, made.hmac) == (OK, now + DAY_MS)
    assert renew(cluster, made.hmac, HOUR_MS, BOB) == (OK, now + HOUR_MS)
    assert renew(cluster, made.hmac, 9 * DAY_MS) == (OK, now + DAY_MS)
    for _ in range(6):
        cluster.elapse(DAY_MS - HOUR_MS)
        assert renew(cluster, made.hmac)[0] is OK
    cluster.elapse(DAY_MS - HOUR_MS)
    assert renew(cluster, made.hmac) == (OK, made.max_timestamp)
    assert token(cluster, made.token_id).expiration_timestamp == made.max_timestamp


def test_it_ends_when_that_is_asked(cluster: ControlledCluster) -> None:
    made = create(cluster, renewers=("User:bob",))
    now = cluster.time.wall_ms
    assert expire(cluster, made.hmac, HOUR_MS, BOB) == (OK, now + HOUR_MS)
    assert expire(cluster, made.hmac, 99 * DAY_MS) == (OK, made.max_timestamp)
    before = cluster.next_offset
    assert expire(cluster, made.hmac) == (OK, now)
    assert cluster.log[before:] == [RemoveDelegationTokenRecord(token_id=made.token_id)]
    assert expire(cluster, made.hmac) == (Error.DELEGATION_TOKEN_NOT_FOUND, -1)


def test_an_expired_one_can_only_be_removed(cluster: ControlledCluster) -> None:
    made = create(cluster)
    cluster.elapse(DAY_MS)
    assert renew(cluster, made.hmac)[0] is OK, "up to its last moment it can be renewed"
    cluster.elapse(DAY_MS + 1)
    assert renew(cluster, made.hmac) == (Error.DELEGATION_TOKEN_EXPIRED, -1)
    assert expire(cluster, made.hmac, HOUR_MS) == (Error.DELEGATION_TOKEN_EXPIRED, -1)
    assert expire(cluster, made.hmac)[0] is OK


def test_expired_ones_are_removed_from_time_to_time(cluster: ControlledCluster) -> None:
    short, long = create(cluster, max_lifetime_ms=HOUR_MS), create(cluster)
    cluster.settle()
    cluster.elapse(HOUR_MS)
    assert cluster.settle() == [], "at its last moment it is valid"
    cluster.elapse(HOUR_MS - 1)
    assert cluster.settle() == []
    cluster.elapse(1)
    assert cluster.settle() == [RemoveDelegationTokenRecord(token_id=short.token_id)]
    assert set(cluster.image.delegation_tokens.by_id) == {long.token_id}


def test_many_expired_ones_are_removed_over_several_turns(cluster: ControlledCluster) -> None:
    for _ in range(1_001):
        create(cluster, max_lifetime_ms=1)
    cluster.settle()
    cluster.elapse(HOUR_MS)
    assert [len(cluster.look()) for _ in range(3)] == [1_000, 1, 0]
    assert not cluster.image.delegation_tokens.by_id


def test_who_may_have_a_token_made_for_another(cluster: ControlledCluster) -> None:
    asker = msgspec.structs.replace(EVE, forwarded_by=11)
    refused = create(cluster, asker, owner="User:alice")
    assert (refused.error, refused.owner, refused.requester, refused.hmac) == (
        Error.DELEGATION_TOKEN_AUTHORIZATION_FAILED, "User:alice", "User:eve", b"",
    )  # fmt: skip
    assert create(cluster, asker, owner="User:eve").error is OK, "for oneself one always may"
    grant = AccessControlEntryRecord(
        id=uuid(77),
        resource_type=ResourceType.USER,
        resource_name="User:alice",
        pattern_type=LITERAL,
        principal="User:eve",
        host="*",
        operation=Operation.CREATE_TOKENS,
        permission_type=ALLOW,
    )
    cluster.append((grant,))
    made = create(cluster, asker, owner="User:alice")
    assert (made.error, made.owner, made.requester) == (OK, "User:alice", "User:eve")
    assert renew(cluster, made.hmac, context=asker)[0] is Error.DELEGATION_TOKEN_OWNER_MISMATCH
    assert renew(cluster, made.hmac)[0] is OK


def all_three(cluster: ControlledCluster, context: RequestContext) -> set[Error]:
    before = cluster.next_offset
    errors = {create(cluster, context).error, renew(cluster, b"x", context=context)[0]}
    errors.add(expire(cluster, b"x", context=context)[0])
    assert cluster.next_offset == before
    return errors


def test_only_a_broker_s_client_may_ask_and_not_by_a_token(cluster: ControlledCluster) -> None:
    not_allowed = {Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED}
    assert all_three(cluster, RequestContext(principal="User:alice")) == not_allowed
    assert all_three(cluster, msgspec.structs.replace(ALICE, is_token=True)) == not_allowed


def test_where_there_are_no_tokens() -> None:
    assert all_three(ControlledCluster(), ALICE) == {Error.DELEGATION_TOKEN_AUTH_DISABLED}
    assert all_three(with_tokens(level=13), ALICE) == {Error.UNSUPPORTED_VERSION}


def test_other_refusals(cluster: ControlledCluster) -> None:
    made = create(cluster)
    assert create(cluster, renewers=("Group:all",)).error is Error.INVALID_PRINCIPAL_TYPE
    for ask in (renew, expire):
        assert ask(cluster, b"another") == (Error.DELEGATION_TOKEN_NOT_FOUND, -1)
        assert ask(cluster, made.hmac, context=BOB) == (Error.DELEGATION_TOKEN_OWNER_MISMATCH, -1)


def test_the_key_is_in_no_text() -> None:
    assert "key" not in repr(SETTINGS)
    assert "b'key'" not in repr(with_tokens().config)
