"""CreateAcls, DeleteAcls, DescribeAcls: entries in the log, and what of them is refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from metadata_log.acl_codes import ALLOW, ANY, DENY, LITERAL, MATCH, PREFIXED, Operation, ResourceType
from metadata_log.image import AclEntry
from metadata_log.records import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from quorum.api.acls import (
    AclFilter,
    CreateAcls,
    CreateAclsResponse,
    DeleteAcls,
    DeleteAclsResponse,
    DescribeAcls,
    DescribeAclsResponse,
)
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.api.request import Request
from quorum.api.topics import CreatableTopic, CreateTopics, CreateTopicsResponse
from quorum.controller.authorizer import Authorizer
from quorum.controller.config import ControllerConfig
from tests.support.acl_hosts import stored_cases
from tests.support.controller import CLUSTER_ID, EVE, ControlledCluster

ADMIN = RequestContext(principal="User:admin", authorizer=Authorizer(super_users=frozenset({"User:admin"})))
ENTRY = AclEntry(
    resource_type=ResourceType.TOPIC,
    resource_name="orders",
    pattern_type=LITERAL,
    principal="User:alice",
    host="*",
    operation=Operation.READ,
    permission_type=ALLOW,
)
ALL = AclFilter(
    resource_type=ANY,
    resource_name=None,
    pattern_type=ANY,
    principal=None,
    host=None,
    operation=ANY,
    permission_type=ANY,
)


def but(struct: Any, **changes: Any) -> Any:
    return msgspec.structs.replace(struct, **changes)


PREFIX = but(ENTRY, resource_name="ord", pattern_type=PREFIXED, operation=Operation.WRITE)
WILDCARD = but(ENTRY, resource_name="*", principal="User:bob", permission_type=DENY)
GROUP = but(ENTRY, resource_type=ResourceType.GROUP, host="10.0.0.1")


@pytest.fixture
def cluster() -> ControlledCluster:
    return ControlledCluster()


def create(cluster: ControlledCluster, *entries: AclEntry, context: RequestContext = ADMIN) -> list[Error]:
    response = cluster.ask(CreateAcls(creations=entries), context).response
    assert isinstance(response, CreateAclsResponse)
    assert all((each.error is Error.NONE) == (each.error_message is None) for each in response.results)
    return [each.error for each in response.results]


def refusals(cluster: ControlledCluster, *hosts: str) -> list[tuple[Error, str | None]]:
    request = CreateAcls(creations=tuple(but(ENTRY, host=host) for host in hosts))
    response = cluster.ask(request, ADMIN).response
    assert isinstance(response, CreateAclsResponse)
    return [(each.error, each.error_message) for each in response.results]


def delete(
    cluster: ControlledCluster, *filters: AclFilter, context: RequestContext = ADMIN
) -> list[list[AclEntry] | Error]:
    response = cluster.ask(DeleteAcls(filters=filters), context).response
    assert isinstance(response, DeleteAclsResponse)
    return [list(each.matching) if each.error is Error.NONE else each.error for each in response.results]


def describe(cluster: ControlledCluster, asked: AclFilter = ALL, context: RequestContext = ADMIN) -> Any:
    result = cluster.ask(DescribeAcls(asked=asked), context)
    assert result.records == ()
    assert isinstance(result.response, DescribeAclsResponse)
    return result.response.error or list(result.response.entries)


def test_each_entry_has_an_id_of_its_own(cluster: ControlledCluster) -> None:
    before = cluster.next_offset
    assert create(cluster, ENTRY, PREFIX) == [Error.NONE, Error.NONE]
    first, second = cluster.log[before:]
    assert isinstance(first, AccessControlEntryRecord)
    assert isinstance(second, AccessControlEntryRecord)
    assert first.id != second.id
    assert dict(cluster.image.acls.by_id) == {first.id: ENTRY, second.id: PREFIX}


def test_what_there_is_already_is_not_written_again(cluster: ControlledCluster) -> None:
    create(cluster, ENTRY)
    before = cluster.next_offset
    assert create(cluster, ENTRY, PREFIX, PREFIX) == [Error.NONE] * 3
    assert [type(record) for record in cluster.log[before:]] == [AccessControlEntryRecord]


@pytest.mark.parametrize(
    "changes",
    [
        {"resource_type": 0},
        {"resource_type": 1},
        {"resource_type": 8},
        {"pattern_type": 0},
        {"pattern_type": ANY},
        {"pattern_type": MATCH},
        {"operation": 0},
        {"operation": 1},
        {"operation": 16},
        {"permission_type": 0},
        {"permission_type": ANY},
        {"resource_name": ""},
        {"resource_type": ResourceType.CLUSTER, "resource_name": "other"},
        {"principal": "alice"},
    ],
)
def test_an_entry_without_sense_leaves_the_others_be(cluster: ControlledCluster, changes: dict[str, Any]) -> None:
    assert create(cluster, but(ENTRY, **changes), PREFIX) == [Error.INVALID_REQUEST, Error.NONE]
    assert set(cluster.image.acls.by_id.values()) == {PREFIX}


@pytest.mark.parametrize(
    ("changes", "meant"),
    [
        ({}, [ENTRY, PREFIX, WILDCARD, GROUP]),
        ({"resource_type": ResourceType.TOPIC}, [ENTRY, PREFIX, WILDCARD]),
        ({"resource_name": "orders"}, [ENTRY, GROUP]),
        ({"resource_name": "orders", "pattern_type": LITERAL}, [ENTRY, GROUP]),
        ({"resource_name": "orders", "pattern_type": PREFIXED}, []),
        ({"resource_name": "ord", "pattern_type": PREFIXED}, [PREFIX]),
        ({"resource_name": "orders", "pattern_type": MATCH}, [ENTRY, PREFIX, WILDCARD, GROUP]),
        ({"resource_name": "order", "pattern_type": MATCH}, [PREFIX, WILDCARD]),
        ({"pattern_type": MATCH}, [ENTRY, PREFIX, WILDCARD, GROUP]),
        ({"pattern_type": PREFIXED}, [PREFIX]),
        ({"principal": "User:bob"}, [WILDCARD]),
        ({"host": "10.0.0.1"}, [GROUP]),
        ({"operation": Operation.WRITE}, [PREFIX]),
        ({"permission_type": DENY}, [WILDCARD]),
        ({"resource_name": "nothing"}, []),
    ],
)
def test_what_a_filter_means(cluster: ControlledCluster, changes: dict[str, Any], meant: list[AclEntry]) -> None:
    create(cluster, ENTRY, PREFIX, WILDCARD, GROUP)
    asked = but(ALL, **changes)
    assert describe(cluster, asked) == sorted(meant)
    before = cluster.next_offset
    assert delete(cluster, asked) == [sorted(meant)]
    assert [type(record) for record in cluster.log[before:]] == [RemoveAccessControlEntryRecord] * len(meant)
    assert set(cluster.image.acls.by_id.values()) == {ENTRY, PREFIX, WILDCARD, GROUP} - set(meant)


def test_two_filters_that_mean_the_same_remove_it_once(cluster: ControlledCluster) -> None:
    create(cluster, ENTRY)
    before = cluster.next_offset
    assert delete(cluster, ALL, but(ALL, principal="User:alice")) == [[ENTRY], [ENTRY]]
    assert len(cluster.log) == before + 1


@pytest.mark.parametrize(
    "changes", [{"resource_type": 0}, {"pattern_type": 9}, {"operation": 99}, {"permission_type": -1}]
)
def test_a_filter_that_nobody_knows(cluster: ControlledCluster, changes: dict[str, Any]) -> None:
    create(cluster, ENTRY)
    assert describe(cluster, but(ALL, **changes)) is Error.INVALID_REQUEST
    assert delete(cluster, but(ALL, **changes), ALL) == [Error.INVALID_REQUEST, [ENTRY]]


def test_too_many_at_once() -> None:
    cluster = ControlledCluster(config=ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_batch=1))
    assert create(cluster, ENTRY, PREFIX) == [Error.POLICY_VIOLATION] * 2
    assert create(cluster, ENTRY) + create(cluster, PREFIX) == [Error.NONE] * 2
    assert delete(cluster, ALL, ALL) == [Error.INVALID_REQUEST] * 2
    assert len(cluster.image.acls.by_id) == 2


def test_an_entry_counts_at_each_filter_that_means_it() -> None:
    cluster = ControlledCluster(config=ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_batch=2))
    create(cluster, ENTRY)
    assert delete(cluster, *[ALL] * 3) == [Error.INVALID_REQUEST] * 3
    assert delete(cluster, ALL, ALL) == [[ENTRY], [ENTRY]]
    assert not cluster.image.acls.by_id


def test_what_creates_nothing_is_too_many_as_well() -> None:
    """Entries that are there, or are no entries, are looked at all the same."""
    cluster = ControlledCluster(config=ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_batch=2))
    assert create(cluster, *[but(ENTRY, resource_name="")] * 3) == [Error.POLICY_VIOLATION] * 3
    assert create(cluster, ENTRY, ENTRY) == [Error.NONE] * 2


def test_filters_that_each_look_through_all_entries_are_bounded(cluster: ControlledCluster) -> None:
    """Filters that name their resource are not: what there is of that name is all that they are held against."""
    entries = [but(ENTRY, resource_name=f"topic-{number}") for number in range(1000)]
    create(cluster, *entries)
    filters = [but(ALL, principal=f"User:{number}") for number in range(1001)]
    assert delete(cluster, *filters) == [Error.POLICY_VIOLATION] * 1001
    assert delete(cluster, *filters[:1000]) == [[]] * 1000
    named = [but(ALL, resource_name=f"topic-{number}") for number in range(1001)]
    assert delete(cluster, *named) == [*([entry] for entry in entries), []]


def test_filters_that_match_a_name_are_held_against_what_they_may_mean_alone(cluster: ControlledCluster) -> None:
    entries = [but(ENTRY, resource_name=f"topic-{number}", pattern_type=PREFIXED) for number in range(1000)]
    create(cluster, *entries)
    matching = [but(ALL, resource_name=f"topic-{number}", pattern_type=MATCH) for number in range(1001)]
    assert delete(cluster, *matching)[0] == [entries[0]]


@pytest.mark.parametrize("name", [None, "orders", "ord", "*", "other"])
@pytest.mark.parametrize("pattern", [ANY, MATCH, LITERAL, PREFIXED])
def test_a_filter_means_the_same_to_both_requests(cluster: ControlledCluster, name: str | None, pattern: int) -> None:
    create(cluster, ENTRY, PREFIX, WILDCARD, GROUP)
    asked = but(ALL, resource_name=name, pattern_type=pattern)
    meant = describe(cluster, asked)
    assert delete(cluster, asked) == [meant]


def test_without_an_authorizer_nobody_is_led_to_believe_in_entries(cluster: ControlledCluster) -> None:
    nobody = RequestContext()
    assert create(cluster, ENTRY, context=nobody) == [Error.SECURITY_DISABLED]
    assert delete(cluster, ALL, context=nobody) == [Error.SECURITY_DISABLED]
    assert describe(cluster, context=nobody) is Error.SECURITY_DISABLED


def test_entries_are_the_clusters(cluster: ControlledCluster) -> None:
    assert create(cluster, ENTRY, context=EVE) == [Error.CLUSTER_AUTHORIZATION_FAILED]
    assert delete(cluster, ALL, context=EVE) == [Error.CLUSTER_AUTHORIZATION_FAILED]
    assert describe(cluster, context=EVE) is Error.CLUSTER_AUTHORIZATION_FAILED


@pytest.mark.parametrize(
    ("kind", "name", "pattern", "may"),
    [
        (ResourceType.TOPIC, "orders", LITERAL, [True, False]),
        (ResourceType.TOPIC, "ord", PREFIXED, [True, False]),
        (ResourceType.TOPIC, "*", LITERAL, [True, True]),
        (ResourceType.CLUSTER, "kafka-cluster", LITERAL, [True, True]),
    ],
)
def test_an_entry_holds_from_its_record_on(
    cluster: ControlledCluster, kind: int, name: str, pattern: int, may: list[bool]
) -> None:
    """KIP-4: Create on the cluster, or on the topic."""
    cluster.start(11)
    asked = tuple(CreatableTopic(name=topic, num_partitions=1, replication_factor=1) for topic in ("orders", "secret"))
    request: Request = CreateTopics(topics=asked, validate_only=True)
    grant = but(ENTRY, resource_type=kind, resource_name=name, pattern_type=pattern, operation=Operation.CREATE)

    def created() -> list[Error]:
        response = cluster.ask(request, but(EVE, principal="User:alice")).response
        assert isinstance(response, CreateTopicsResponse)
        return [topic.error for topic in response.topics]

    assert created() == [Error.TOPIC_AUTHORIZATION_FAILED] * 2
    create(cluster, grant)
    assert created() == [Error.NONE if each else Error.TOPIC_AUTHORIZATION_FAILED for each in may]
    create(cluster, but(grant, permission_type=DENY, principal="User:*"))
    assert created() == [Error.TOPIC_AUTHORIZATION_FAILED] * 2
    delete(cluster, ALL)
    assert not cluster.image.acls.by_id


def test_ranges_of_hosts_are_added_from_4_4_iv1_on() -> None:
    why = "CIDR-based ACL host patterns require metadata version 4.4-IV1 or higher."
    refused, added = (Error.UNSUPPORTED_VERSION, why), (Error.NONE, None)
    for level, ranges in ((31, refused), (32, added)):
        cluster = ControlledCluster(level=level)
        assert refusals(cluster, "10.0.0.0/8", "10.0.0.1", "2001:db8::/32", "*") == [ranges, added, ranges, added]
        hosts = {record.host for record in cluster.log if isinstance(record, AccessControlEntryRecord)}
        assert ("10.0.0.0/8" in hosts) == ("2001:db8::/32" in hosts) == (level == 32)


@pytest.mark.parametrize("level", [31, 32])
def test_hosts_are_refused_as_by_kafka(level: int) -> None:
    cases = {case.host: case.refused if level == 32 else case.refused_below for case in stored_cases()}
    names = {"InvalidRequestException": Error.INVALID_REQUEST, "UnsupportedVersionException": Error.UNSUPPORTED_VERSION}
    found = refusals(ControlledCluster(level=level), *cases)
    for (host, refused), (error, why) in zip(cases.items(), found, strict=True):
        kind, _, words = (refused or "").partition(": ")
        assert (error, why) == ((names[kind], words) if refused else (Error.NONE, None)), host


def test_a_filter_means_the_text_of_a_range() -> None:
    cluster = ControlledCluster(level=32)
    entries = [but(ENTRY, host=host) for host in ("10.0.0.0/8", "10.0.0.0/16", "10.0.0.1")]
    create(cluster, *entries)
    assert describe(cluster, but(ALL, host="10.0.0.0/8")) == [entries[0]]
    assert describe(cluster, but(ALL, host="10.0.0.1")) == [entries[2]]
    assert delete(cluster, but(ALL, host="10.0.0.0/16")) == [[entries[1]]]
