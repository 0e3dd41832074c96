"""Kills our leader every ten seconds under stock brokers, and the brokers in turn.

Meanwhile one topic is created again and again and read by id.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec

from metadata_log.ids import TopicId
from quorum.api.error_codes import Error
from quorum.cli.demo.cluster import wait_until
from quorum.client import (
    Admin,
    CreatableReplicaAssignment,
    CreatableTopic,
    OutcomeUnknownError,
    TopicCollection,
    TopicExistsError,
    UnknownTopicError,
)
from tests.support.kafka.by_id import produce_by_id, read_by_id
from tests.support.kafka.cluster import KafkaNode
from tests.support.kafka.on_ours import KafkaOnOurs
from tests.support.loop import run

EVERY_S = 10.0
T = TypeVar("T")
_BROKERS = (11, 12)
_FORMER = 20
_CALM_S = 5.0
"""The seconds in which both brokers are up before the next of them is killed."""
_NAME = "again"
_ASSIGNED = CreatableReplicaAssignment(partition_index=0, broker_ids=_BROKERS)


class Storm(msgspec.Struct, kw_only=True):
    """The leaders and brokers that were killed, and every id that the topic had."""

    killed: list[int]
    brokers: list[int]
    ids: list[TopicId]


def _kill_leaders(cluster: KafkaOnOurs, is_over: threading.Event, killed: list[int]) -> None:
    """Kill a leader every ten seconds; each is back before the next kill."""
    due_s = time.monotonic() + EVERY_S
    while not is_over.wait(max(0.0, due_s - time.monotonic())):
        due_s += EVERY_S
        dead = cluster.leader()
        dead.kill()
        killed.append(dead.node_id)
        cluster.leader(other_than=dead.node_id)
        dead.start()
        dead.wait_listening()


def _kill_brokers(cluster: KafkaOnOurs, topic: str, is_over: threading.Event, killed: list[int]) -> None:
    """Kill brokers in turn, each back and in sync before the next kill: otherwise no replica has the acknowledged
    records."""
    while not is_over.wait(_CALM_S):
        broker = cluster.broker(_BROKERS[len(killed) % 2])
        broker.kill()
        killed.append(broker.node_id)
        cluster.start_brokers(broker.node_id)
        cluster.await_in_sync(topic)


async def _made_again(admin: Admin, former: TopicId | None) -> TopicId:
    """Delete the topic by its id and create it again.

    After an unknown outcome, look at the topic and repeat the request.
    """
    while former is not None:
        try:
            (await admin.delete_topics(TopicCollection.of_topic_ids([former]))).all()
            former = None
        except UnknownTopicError:
            former = None  # the request whose response was lost had been done
        except OutcomeUnknownError:
            continue
    while True:
        try:
            topic = CreatableTopic(name=_NAME, assignments=(_ASSIGNED,))
            return (await admin.create_topics([topic])).topic_id(_NAME)
        except OutcomeUnknownError:
            continue
        except TopicExistsError:  # created by a request whose response was lost: there is no other client
            return (await admin.cluster()).topic_id(_NAME)


def _answer(ask: Callable[[], T]) -> T | None:
    """Return None if the broker is dead, or dies before it responds."""
    try:
        return ask()
    except (ConnectionError, EOFError):
        return None


def _check_generation(cluster: KafkaOnOurs, ids: list[TopicId]) -> None:
    """Write one message into the newest topic of the name; read by its id and the latest former ids on every broker."""
    newest, word = ids[-1], b"generation-%d;" % len(ids)
    brokers = [cluster.broker(broker_id) for broker_id in _BROKERS]

    def is_written() -> bool:
        return any(_answer(lambda to=to: produce_by_id(to, newest, word)) == Error.NONE for to in brokers)  # type: ignore[misc]

    wait_until("the message to be taken", is_written, timeout_s=60)
    for broker in brokers:

        def is_read(broker: KafkaNode = broker) -> bool:
            read = _answer(lambda: read_by_id(broker, newest))
            if read is None:
                return False
            assert b"generation-" not in read.records.replace(word, b""), "a former topic's record under the new id"
            return word in read.records  # a broker that has not replayed everything may use several errors

        wait_until(f"broker {broker.node_id} to give it", is_read, timeout_s=60)
        for former in ids[-1 - _FORMER : -1]:
            read = wait_until(
                f"broker {broker.node_id} to answer",
                lambda broker=broker, former=former: _answer(lambda: read_by_id(broker, former)),  # type: ignore[misc]
                timeout_s=60,
            )
            assert (read.error, read.records) == (Error.UNKNOWN_TOPIC_ID, b""), "a read of a topic that is no more"


def raise_a_storm(cluster: KafkaOnOurs, duration_s: float, *, steady: str) -> Storm:
    """Run the kills for `duration_s`; the topic `steady` is in sync whenever a broker is killed.

    Raises:
        AssertionError: a read returned records of a former topic, or a former id was not rejected.
    """
    storm = Storm(killed=[], brokers=[], ids=[])
    is_over = threading.Event()

    async def next_id() -> TopicId:
        async with Admin(cluster.ours.bootstrap) as admin:
            return await _made_again(admin, storm.ids[-1] if storm.ids else None)

    with ThreadPoolExecutor(2) as beside:
        killing = [
            beside.submit(_kill_leaders, cluster, is_over, storm.killed),
            beside.submit(_kill_brokers, cluster, steady, is_over, storm.brokers),
        ]
        deadline = time.monotonic() + duration_s
        try:
            while time.monotonic() < deadline and not any(each.done() for each in killing):
                storm.ids.append(run(next_id()))
                _check_generation(cluster, storm.ids)
        finally:
            is_over.set()
        for each in killing:
            each.result()
    return storm
