"""The metadata topic's own id where a Java controller may lead: it knows of none, and lets its record be deleted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metadata_log.ids import METADATA_TOPIC_ID, METADATA_TOPIC_NAME, TopicId
from metadata_log.offsets import Offset
from quorum.api.error_codes import Error
from quorum.cli.demo.cluster import wait_until
from quorum.client import Admin, TopicCollection, UnknownTopicError
from tests.support.kafka.by_id import delete_through
from tests.support.kafka.mixed import MixedQuorum
from tests.support.kafka.tools import KafkaTools
from tests.support.loop import run

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(600)]

JAVA, OURS, BROKER = 1, (2, 3), 11


@pytest.fixture(scope="module")
def quorum(tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools) -> Iterator[MixedQuorum]:
    root = tmp_path_factory.mktemp("own-id")
    # Elections are not the test: the Java voter, busy as it is when the others start, should not stand meanwhile.
    patient = {"controller.quorum.fetch.timeout.ms": "4000"}
    with MixedQuorum(root, kafka_tools, java=(JAVA,), ours=OURS, java_properties=patient) as quorum:
        quorum.format()
        quorum.start(JAVA, *OURS)
        quorum.start(BROKER)
        yield quorum


def _own_id(quorum: MixedQuorum, node_id: int) -> TopicId | None:
    """Return the metadata topic's own id in the image of one of our controllers, or None if it has none."""

    async def ask() -> TopicId | None:
        async with Admin(quorum.ours[node_id].grpc_address) as admin:
            collection = TopicCollection.of_topic_names([METADATA_TOPIC_NAME])
            described = await admin.describe_topics(collection, at_least_offset=Offset(0))
            try:
                return described.topic_id(METADATA_TOPIC_NAME)
            except UnknownTopicError:
                return None

    return run(ask())


def test_it_is_deleted_under_a_java_leader_and_the_next_of_ours_writes_another(quorum: MixedQuorum) -> None:
    quorum.let_ours_lead()
    before = wait_until("an own id", lambda: _own_id(quorum, OURS[0]), timeout_s=60)
    assert before != METADATA_TOPIC_ID
    quorum.start(quorum.let_java_lead("known-to-java"))
    assert quorum.leader() == JAVA
    told = delete_through(quorum.kafka.nodes[BROKER], (None, before))
    assert told == {METADATA_TOPIC_NAME: Error.NONE}
    for node_id in OURS:
        wait_until("the deletion to be replayed", lambda at=node_id: _own_id(quorum, at) is None, timeout_s=60)  # type: ignore[misc]
    assert quorum.leader() == JAVA
    leader = quorum.let_ours_lead()
    after = wait_until("another own id", lambda: _own_id(quorum, leader), timeout_s=60)
    assert after not in (before, METADATA_TOPIC_ID)
    for node_id in OURS:
        wait_until("it everywhere", lambda at=node_id: _own_id(quorum, at) == after, timeout_s=60)  # type: ignore[misc]
    assert set(quorum.replicas()) >= {JAVA, *OURS, BROKER}
