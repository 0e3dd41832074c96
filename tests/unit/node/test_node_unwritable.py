"""A request that no record or batch can hold is rejected, nothing is written, and the leader continues."""

from __future__ import annotations

from typing import Any

import pytest

from metadata_log.ids import METADATA_TOPIC_NAME, NodeId, Uuid
from metadata_log.image import AclEntry
from quorum.api.acls import CreateAcls
from quorum.api.brokers import Listener
from quorum.api.calls import ClientAnswer, ClientCall
from quorum.api.configs import (
    AlterableConfig,
    AlterableResource,
    AlterConfigs,
    IncrementalAlterConfigs,
    ReplacedResource,
)
from quorum.api.context import ANONYMOUS, RequestContext
from quorum.api.error_codes import Error
from quorum.api.quotas import AlterClientQuotas, QuotaAlteration
from quorum.api.request import Request
from quorum.api.scram import AlterUserScramCredentials, ScramUpsertion
from quorum.api.topics import CreatableConfig, CreatableTopic, CreateTopics
from quorum.controller.authorizer import Authorizer
from tests.support.errors_in import errors_in
from tests.support.node_cluster import Cluster
from tests.support.node_requests import BROKER, REGISTER_BROKER, create_request
from tests.support.simulated_node import Node

LONG = "ä" * 16_384
"""In UTF-8 one byte more than a record's string may have."""
ADMIN = RequestContext(authorizer=Authorizer(super_users=frozenset({ANONYMOUS})))
ENTRY = AclEntry(
    resource_type=2,
    resource_name="orders",
    pattern_type=3,
    principal="User:alice",
    host="*",
    operation=3,
    permission_type=3,
)
THROTTLED = "leader.replication.throttled.replicas"


def _changed(value: Any, **changes: object) -> Any:
    return type(value)(**{name: getattr(value, name) for name in value.__struct_fields__} | changes)


def _with_config(name: str, value: str) -> CreatableTopic:
    config = CreatableConfig(name=name, value=value)
    return CreatableTopic(name="t", num_partitions=1, replication_factor=1, configs=(config,))


def _altered(kind: int, name: str, key: str, value: str) -> IncrementalAlterConfigs:
    config = AlterableConfig(name=key, operation=0, value=value)
    return IncrementalAlterConfigs(resources=(AlterableResource(resource_type=kind, name=name, configs=(config,)),))


def _replaced(kind: int, name: str, key: str, value: str) -> AlterConfigs:
    return AlterConfigs(resources=(ReplacedResource(resource_type=kind, name=name, configs=((key, value),)),))


REQUESTS = {
    "a new topic's config": CreateTopics(topics=(_with_config(THROTTLED, "0:1," * 8_192 + "0:1"),)),
    "a name": CreateTopics(topics=(CreatableTopic(name=LONG),)),
    "a topic's config": _altered(2, "there", THROTTLED, "0:1," * 8_192 + "0:1"),
    "a broker's config": _altered(4, "", "log.cleaner.threads", LONG),
    "a broker's config's name": _altered(4, "", LONG, "1"),
    "a group": _altered(32, LONG, "consumer.session.timeout.ms", "50000"),
    "a subscription": _altered(16, LONG, "interval.ms", "1000"),
    "a broker's config, all of them": _replaced(4, "", "log.cleaner.threads", LONG),
    "an entry's resource": CreateAcls(creations=(_changed(ENTRY, resource_name=LONG),)),
    "an entry's principal": CreateAcls(creations=(_changed(ENTRY, principal=f"User:{LONG}"),)),
    "an entry's host": CreateAcls(creations=(_changed(ENTRY, host=LONG),)),
    "a quota's user": AlterClientQuotas(
        entries=(QuotaAlteration(entity=(("user", LONG),), ops=(("producer_byte_rate", 1.0),)),)
    ),
    "a user": AlterUserScramCredentials(
        upsertions=(ScramUpsertion(name=LONG, mechanism=1, iterations=4096, salt=b"s", salted_password=b"p"),)
    ),
    "a rack": _changed(REGISTER_BROKER, broker_id=101, incarnation_id=Uuid(b"\x21" * 16), rack=LONG),
    "a broker's host": _changed(
        REGISTER_BROKER,
        broker_id=101,
        incarnation_id=Uuid(b"\x21" * 16),
        listeners=(Listener(name="PLAINTEXT", host=LONG, port=9092),),
    ),
}


def _started(session_timeout_ms: int | None = None) -> tuple[Cluster, Node]:
    cluster = Cluster(1, seed=1)
    if session_timeout_ms is not None:
        cluster.session_timeout_ms = session_timeout_ms
    cluster.start()
    leader = cluster.elect()
    cluster.add_broker()
    answers = cluster.create(leader, "there")
    cluster.run_until(lambda: bool(answers))
    return cluster, leader


def _asked(cluster: Cluster, leader: Node, *requests: Request) -> list[ClientAnswer]:
    answers: list[ClientAnswer] = []
    for request in requests:
        leader.turn([ClientCall(request=request, context=ADMIN, respond=answers.append)])
    cluster.run_until(lambda: len(answers) == len(requests))
    return answers


@pytest.mark.parametrize("what", REQUESTS)
def test_what_is_too_long_for_a_record_is_refused(what: str) -> None:
    cluster, leader = _started()
    before = leader.executor.machine.log_end_offset
    (answer,) = _asked(cluster, leader, REQUESTS[what])
    assert errors_in(answer) - {Error.NONE}
    assert leader.executor.machine.log_end_offset == before
    (after,) = _asked(cluster, leader, create_request("after"))
    assert errors_in(after) == {Error.NONE}
    assert leader.failure is None


def test_a_request_whose_records_no_batch_can_hold_is_refused_and_forgotten() -> None:
    """The controller had taken note of the topics already; what comes next is judged as if it had not."""
    cluster, leader = _started()
    value = ",".join(["0:1"] * 8_000)
    large = [_changed(_with_config(THROTTLED, value), name=f"a.{number}") for number in range(300)]
    refused, done = _asked(cluster, leader, CreateTopics(topics=tuple(large)), create_request("a_7"))
    assert (refused.error, done.error) == (Error.RECORD_LIST_TOO_LARGE, Error.NONE)
    assert "one batch holds" in (refused.message or "")
    assert errors_in(done) == {Error.NONE}, "a.7, whose name is the same to metrics, is not there"
    assert {*leader.executor.image.topics.by_name} == {METADATA_TOPIC_NAME, "there", "a_7"}


def test_a_broker_that_is_gone_is_fenced_in_time_whatever_is_refused_meanwhile() -> None:
    """Twice a second, a request comes that no batch or record can hold. It must not restart the brokers' sessions."""
    cluster, leader = _started(session_timeout_ms=4000)
    assert not leader.executor.image.cluster.brokers[NodeId(BROKER)].fenced
    throttled = _with_config(THROTTLED, ",".join(["0:1"] * 8_000))
    large = CreateTopics(topics=tuple(_changed(throttled, name=f"a.{number}") for number in range(300)))
    refused = (REQUESTS["a quota's user"], large, REQUESTS["a broker's host"])
    for number in range(2 * 6):
        _asked(cluster, leader, refused[number % 3])
        cluster.run_for(500)
    assert leader.executor.image.cluster.brokers[NodeId(BROKER)].fenced
