"""The same seeded admin requests, good and bad, to our controllers and to Kafka's, each with three stock brokers.

Error codes and results must be the same, call by call, and so must the images at the end. `tests/support/differential`
lists the permitted differences with their reasons.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from quorum.cli.demo.cluster import LOOPBACK, wait_until
from quorum.server.kafka.offered_versions import OFFERED
from tests.support.differential.asks import Ask, TopicRef, seconds
from tests.support.differential.duel import Duel
from tests.support.differential.images import comparable_image
from tests.support.differential.requests import CREATE_TOPICS, DELETE_TOPICS
from tests.support.fresh_seed import fresh_seed
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.jars import NEWEST, RELEASES
from tests.support.kafka.on_ours import KafkaOnOurs
from tests.support.kafka.tools import KafkaTools
from tests.support.log_bytes import log_bytes
from tests.support.log_history import read_history

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(400)]

BROKERS = (11, 12, 13)
DEFAULTS = {
    "num.partitions": "2",
    "default.replication.factor": "2",
    "auto.leader.rebalance.enable": "false",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
REQUESTS = 600


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools) -> Iterator[KafkaOnOurs]:
    root = tmp_path_factory.mktemp("ours")
    with KafkaOnOurs(root, kafka_tools, brokers=BROKERS, properties=DEFAULTS) as cluster:
        cluster.start_controllers("--release-version", RELEASES[NEWEST].metadata_version)
        cluster.start_brokers(*BROKERS)
        yield cluster


@pytest.fixture(scope="module")
def kafkas(tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools) -> Iterator[KafkaCluster]:
    root = tmp_path_factory.mktemp("kafka")
    with KafkaCluster(root, kafka_tools, controllers=(1,), brokers=BROKERS, properties=DEFAULTS) as cluster:
        cluster.start()
        yield cluster


def _deletions() -> list[list[Ask]]:
    """One topic, "x", named and given by id in every way at once that a client may come upon."""
    new = {"name": "x", "num_partitions": 1, "replication_factor": 1, "assignments": (), "configs": ()}
    create = Ask(CREATE_TOPICS, 7, {"topics": (new,), "timeout": seconds(30), "validate_only": False})
    named, given = {"name": "x", "topic_id": None}, {"name": None, "topic_id": TopicRef("x", 0)}
    both, neither = {**given, "name": "x"}, {"name": None, "topic_id": None}
    ways = (
        (named, given),
        (given, named),
        (named, named),
        (given, given),
        (named, named, given),
        (given, given, named),
        (named, given, named, given),
        (both,),
        (both, both),
        (both, named),
        (both, given),
        (neither, neither, given),
    )
    deletes = (Ask(DELETE_TOPICS, 6, {"topics": way, "timeout": seconds(30)}) for way in ways)
    return [[create, delete, delete] for delete in deletes]


def test_a_topic_that_is_named_in_several_ways_at_once(ours: KafkaOnOurs, kafkas: KafkaCluster) -> None:
    leader, rival = ours.leader(), kafkas.leader()
    duel = Duel(0, {key: offered.versions for key, offered in OFFERED.items()})
    asyncio.run(duel.play_forms(_deletions(), (LOOPBACK, leader.ports["CONTROLLER"]), (LOOPBACK, rival.port)))
    assert not duel.found, "\n".join(map(str, duel.found))


def test_the_same_answers_and_the_same_image(ours: KafkaOnOurs, kafkas: KafkaCluster) -> None:
    seed = fresh_seed("ADMIN_SEED")
    leader, rival = ours.leader(), kafkas.leader()
    duel = Duel(seed, {key: offered.versions for key, offered in OFFERED.items()})
    asyncio.run(duel.play(REQUESTS, (LOOPBACK, leader.ports["CONTROLLER"]), (LOOPBACK, rival.port)))
    assert not duel.found, "\n".join([f"seed {seed}", *map(str, duel.found)])

    # Brokers change nothing more of their own accord; ended, neither log grows while it is read. A leader's disk may be
    # the last to have what was committed.
    all_of_ours = [node.metadata_dir for node in ours.ours.controllers.values()]
    wait_until("the leader's file", lambda: log_bytes(leader.metadata_dir) >= max(map(log_bytes, all_of_ours)))
    ours.ours.kill_all()
    rival.kill()
    mine, theirs = (
        set(comparable_image(read_history(directory).image, duel.world.by_hand, duel.world.quotas_apart))
        for directory in (leader.metadata_dir, rival.metadata_dir)
    )
    unlike = [*(f"only ours: {line}" for line in mine - theirs), *(f"only Kafka's: {line}" for line in theirs - mine)]
    assert not unlike, "\n".join([f"seed {seed}", *unlike])
