"""Kafka's rules of access, as a table of entries, requests and decisions."""

from __future__ import annotations

import pytest

from metadata_log.acl_codes import ALLOW, DENY, LITERAL, PREFIXED, Operation, ResourceType
from metadata_log.ids import Uuid
from metadata_log.image import AclEntry, AclsImage, Map, MetadataImage
from quorum.api.context import ANONYMOUS, CLUSTER, RequestContext, Resource, authorize
from quorum.api.error_codes import Error
from quorum.controller.authorizer import Authorizer
from tests.support.acl_hosts import stored_cases
from tests.support.controller import uuid

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
READ, WRITE, DESCRIBE, ALL = Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.ALL
ALICE, HOST = "User:alice", "10.0.0.1"


def entry(
    name: str,
    operation: int = READ,
    permission: int = ALLOW,
    *,
    pattern: int = LITERAL,
    principal: str = ALICE,
    host: str = "*",
    kind: int = TOPIC,
) -> AclEntry:
    return AclEntry(
        resource_type=kind,
        resource_name=name,
        pattern_type=pattern,
        principal=principal,
        host=host,
        operation=operation,
        permission_type=permission,
    )


def acls(*entries: AclEntry) -> AclsImage:
    return AclsImage(by_id=Map({Uuid(uuid(number)): each for number, each in enumerate(entries)}))


@pytest.mark.parametrize(
    ("entries", "operation", "may"),
    [
        ([], READ, False),
        ([entry("orders")], READ, True),
        ([entry("orders")], WRITE, False),
        ([entry("orders", ALL)], WRITE, True),
        ([entry("*")], READ, True),
        ([entry("order")], READ, False),
        ([entry("orders2")], READ, False),
        ([entry("order", pattern=PREFIXED)], READ, True),
        ([entry("orders", pattern=PREFIXED)], READ, True),
        ([entry("orders2", pattern=PREFIXED)], READ, False),
        ([entry("*", pattern=PREFIXED)], READ, False),
        ([entry("orders", kind=GROUP)], READ, False),
        ([entry("orders", principal="User:bob")], READ, False),
        ([entry("orders", principal="User:*")], READ, True),
        ([entry("orders", principal="Group:alice")], READ, False),
        ([entry("orders", host=HOST)], READ, True),
        ([entry("orders", host="10.0.0.2")], READ, False),
        # One that denies counts for more than all that allow, however either names the resource.
        ([entry("orders"), entry("orders", READ, DENY)], READ, False),
        ([entry("orders"), entry("*", READ, DENY)], READ, False),
        ([entry("orders"), entry("o", READ, DENY, pattern=PREFIXED)], READ, False),
        ([entry("*", ALL), entry("orders", ALL, DENY, principal="User:*")], READ, False),
        ([entry("orders"), entry("orders", READ, DENY, host="10.0.0.2")], READ, True),
        ([entry("orders"), entry("orders", READ, DENY, principal="User:bob")], READ, True),
        # Describe comes along with what one is allowed, and does not go with what one is denied.
        ([entry("orders", READ)], DESCRIBE, True),
        ([entry("orders", WRITE)], DESCRIBE, True),
        ([entry("orders", Operation.DELETE)], DESCRIBE, True),
        ([entry("orders", Operation.ALTER)], DESCRIBE, True),
        ([entry("orders", Operation.CREATE)], DESCRIBE, False),
        ([entry("orders", Operation.ALTER_CONFIGS)], DESCRIBE, False),
        ([entry("orders", DESCRIBE), entry("orders", READ, DENY)], DESCRIBE, True),
        ([entry("orders", READ), entry("orders", DESCRIBE, DENY)], DESCRIBE, False),
        ([entry("orders", Operation.ALTER_CONFIGS)], Operation.DESCRIBE_CONFIGS, True),
        ([entry("orders", DESCRIBE)], Operation.DESCRIBE_CONFIGS, False),
    ],
)
def test_what_entries_say(entries: list[AclEntry], operation: Operation, may: bool) -> None:
    for order in (entries, entries[::-1]):
        assert Authorizer().allows(ALICE, HOST, operation, TOPIC, "orders", acls(*order)) is may


@pytest.mark.parametrize(
    ("entries", "may"),
    [
        ([], True),
        ([entry("other")], True),
        ([entry("orders", kind=GROUP)], True),
        ([entry("orders", principal="User:bob")], False),
        ([entry("*", WRITE)], False),
        ([entry("order", WRITE, pattern=PREFIXED)], False),
        ([entry("orders")], True),
    ],
)
def test_everyone_may_only_where_no_entry_is_about_the_resource(entries: list[AclEntry], may: bool) -> None:
    authorizer = Authorizer(allow_everyone_if_no_acl=True)
    assert authorizer.allows(ALICE, HOST, READ, TOPIC, "orders", acls(*entries)) is may


def test_super_users_are_asked_nothing() -> None:
    denied = acls(entry("orders", ALL, DENY, principal="User:*"))
    authorizer = Authorizer(super_users=frozenset({ALICE}))
    assert authorizer.allows(ALICE, HOST, READ, TOPIC, "orders", denied)
    assert not authorizer.allows("User:bob", HOST, READ, TOPIC, "orders", denied)


@pytest.mark.parametrize(
    ("host", "written"),
    [
        ("::1", "0:0:0:0:0:0:0:1"),
        ("2001:db8::ff", "2001:db8:0:0:0:0:0:ff"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("no:address", "no:address"),
    ],
)
def test_addresses_are_compared_as_kafka_writes_them(host: str, written: str) -> None:
    assert Authorizer().allows(ALICE, host, READ, TOPIC, "orders", acls(entry("orders", host=written)))


def test_one_authorizer_judges_by_each_image_it_is_given() -> None:
    authorizer, allowed, nothing = Authorizer(), acls(entry("orders")), acls()
    for image, may in ((allowed, True), (nothing, False), (allowed, True)):
        assert authorizer.allows(ALICE, HOST, READ, TOPIC, "orders", image) is may


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (ResourceType.TOPIC, Error.TOPIC_AUTHORIZATION_FAILED),
        (ResourceType.GROUP, Error.GROUP_AUTHORIZATION_FAILED),
        (ResourceType.CLUSTER, Error.CLUSTER_AUTHORIZATION_FAILED),
        (ResourceType.TRANSACTIONAL_ID, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (ResourceType.DELEGATION_TOKEN, Error.DELEGATION_TOKEN_AUTHORIZATION_FAILED),
        (ResourceType.USER, Error.DELEGATION_TOKEN_AUTHORIZATION_FAILED),
    ],
)
def test_each_resource_has_its_error(kind: ResourceType, error: Error) -> None:
    image = MetadataImage.empty()
    resource = Resource(resource_type=kind, name="x")
    assert authorize(RequestContext(authorizer=Authorizer()), READ, resource, image) is error
    assert authorize(RequestContext(principal=ALICE), READ, resource, image) is Error.NONE, "no authorizer, no rules"


def test_anonymous_is_a_principal_like_any_other() -> None:
    image = MetadataImage.empty()
    for users, error in ((set(), Error.CLUSTER_AUTHORIZATION_FAILED), ({ANONYMOUS}, Error.NONE)):
        context = RequestContext(authorizer=Authorizer(super_users=frozenset(users)))
        assert authorize(context, Operation.CLUSTER_ACTION, CLUSTER, image) is error


def test_hosts_are_judged_as_by_kafka() -> None:
    authorizer = Authorizer()
    for case in stored_cases():
        image = acls(entry("orders", host=case.host))
        assert authorizer.allows(ALICE, case.client, READ, TOPIC, "orders", image) == case.matches, case


@pytest.mark.parametrize(
    ("entries", "may"),
    [
        ([entry("orders", host="10.0.0.0/8")], True),
        ([entry("orders", host="10.0.0.0/8"), entry("orders", READ, DENY, host=HOST)], False),
        ([entry("orders", host=HOST), entry("orders", READ, DENY, host="10.0.0.0/24")], False),
        ([entry("orders", host="10.0.0.0/8"), entry("orders", READ, DENY, host="10.0.1.0/24")], True),
        ([entry("orders"), entry("orders", READ, DENY, host="10.0.0.0/99")], True),
        ([entry("orders", host="10.0.0.0/8", principal="User:bob")], False),
        ([entry("orders", WRITE, host="10.0.0.0/8")], False),
        ([entry("*", host="10.0.0.0/8"), entry("ord", READ, DENY, host="10.0.0.0/8", pattern=PREFIXED)], False),
    ],
)
def test_an_entry_of_a_range_counts_as_one_of_the_address(entries: list[AclEntry], may: bool) -> None:
    assert Authorizer().allows(ALICE, HOST, READ, TOPIC, "orders", acls(*entries)) is may


def test_no_client_without_an_address_is_in_a_range() -> None:
    assert not Authorizer().allows(ALICE, "somewhere", READ, TOPIC, "orders", acls(entry("orders", host="0.0.0.0/0")))
