"""Partitions that have lost all replicas in sync, on stock brokers of Kafka with three of our controllers.

Broker 12 is stopped, broker 11 continues alone and is killed, broker 12 comes back. Only broker 11 has the data that
was acknowledged meanwhile. The topic's config decides. By default, the partition has no leader until an unclean
election is requested. If unclean elections are enabled, broker 12 leads at once. If broker 12 is still an eligible
replica, it leads without loss (KIP-966).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metadata_log.image import RECOVERING
from quorum.cli.demo.cluster import wait_until
from tests.support.kafka.changes import changes
from tests.support.kafka.data import await_partition, consume, partition, produce
from tests.support.kafka.either import AT_ONCE, QUORUMS, Either, brokers_on
from tests.support.kafka.tools import KafkaTools, ToolFailedError

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(400)]

GONE, BACK = 11, 12
ASKED, ALLOWED, ELIGIBLE = "asked", "allowed", "eligible"
CONFIGS = {ASKED: (), ALLOWED: ("unclean.leader.election.enable=true",), ELIGIBLE: ("min.insync.replicas=2",)}
UNCLEAN = {
    "leader": BACK,
    "isr": (BACK,),
    "leader_recovery_state": RECOVERING,
    "eligible_leader_replicas": (),
    "last_known_elr": (),
}
"""The record of such an election: the leader is all of the ISR, and no other replica is eligible."""
EARLY, LATE = ([f"{when}-{number}" for number in range(30)] for when in ("early", "late"))
SESSION = {"broker.session.timeout.ms": "6000"}


@pytest.fixture(scope="module", params=QUORUMS)
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools
) -> Iterator[Either]:
    """Broker 11 is dead, broker 12 back; `EARLY` was acknowledged by both, `LATE` by broker 11 alone."""
    root = tmp_path_factory.mktemp("unclean")
    with brokers_on(request.param, root, kafka_tools, properties=SESSION, broker_properties=AT_ONCE) as cluster:
        gone, back = cluster.kafka.nodes[GONE], cluster.kafka.nodes[BACK]
        for topic, configs in CONFIGS.items():
            words = [word for config in configs for word in ("--config", config)]
            cluster.kafka.admin(
                "topics", "--create", "--topic", topic, "--replica-assignment", f"{GONE}:{BACK}", *words
            )
            await_partition(kafka_tools, gone, topic, Leader=str(GONE), Isr=f"{GONE},{BACK}")
            produce(kafka_tools, gone, topic, EARLY)
        back.stop()
        for topic in CONFIGS:
            await_partition(kafka_tools, gone, topic, Leader=str(GONE), Isr=str(GONE))
        assert partition(kafka_tools, gone, ELIGIBLE)["Elr"] == str(BACK)
        for topic in (ASKED, ALLOWED):
            produce(kafka_tools, gone, topic, LATE)
        with pytest.raises(ToolFailedError, match="NotEnoughReplicas"):
            produce(kafka_tools, gone, ELIGIBLE, LATE[:1])
        gone.kill()
        wait_until("broker 11 to be fenced", lambda: _is_leaderless(cluster, ASKED), timeout_s=60)
        cluster.start_brokers(BACK)
        yield cluster


def _is_leaderless(cluster: Either, topic: str) -> bool:
    last = [fields for batch in changes(cluster.metadata_dir) for name, _, fields in batch if name == topic][-1]
    return last.get("leader") == -1


def _of_broker_12(cluster: Either, topic: str) -> list[str]:
    return consume(cluster.tools, cluster.kafka.nodes[BACK], topic, len(EARLY))


def _last_leader(cluster: Either, topic: str) -> dict[str, object]:
    """The newest change that names a leader, which is the broker that came back, in full. Its own file may have it
    after the brokers, who hear of what two others have."""

    def found() -> dict[str, object] | None:
        told = [fields for batch in changes(cluster.metadata_dir) for name, _, fields in batch if name == topic]
        newest = [fields for fields in told if "leader" in fields][-1:]
        return newest[0] if newest and newest[0]["leader"] == BACK else None

    return wait_until("the change in the leader's file", found)


def test_an_eligible_replica_leads_at_once(cluster: Either) -> None:
    """Its high watermark does not rise as long as it is alone: what it holds is read below, with the other one back."""
    back = cluster.kafka.nodes[BACK]
    await_partition(cluster.tools, back, ELIGIBLE, Leader=str(BACK), Isr=str(BACK), Elr=str(GONE))
    assert _last_leader(cluster, ELIGIBLE) == {
        "leader": BACK,
        "isr": (BACK,),
        "eligible_leader_replicas": (GONE,),
        "last_known_elr": (),
    }


def test_where_it_is_allowed_a_replica_out_of_sync_leads_at_once_and_what_it_lacks_is_lost(cluster: Either) -> None:
    back = cluster.kafka.nodes[BACK]
    await_partition(cluster.tools, back, ALLOWED, Leader=str(BACK), Isr=str(BACK))
    assert _last_leader(cluster, ALLOWED) == UNCLEAN
    assert _of_broker_12(cluster, ALLOWED) == EARLY


def test_elsewhere_nobody_leads_until_an_unclean_election_is_asked_for(cluster: Either) -> None:
    back = cluster.kafka.nodes[BACK]
    await_partition(cluster.tools, back, ASKED, Leader="none", Isr="", Elr=str(GONE))
    words = ("--topic", ASKED, "--partition", "0", "--election-type")
    with pytest.raises(ToolFailedError, match="PreferredLeaderNotAvailableException"):
        cluster.kafka.admin("leader-election", *words, "preferred")
    said = cluster.kafka.admin("leader-election", *words, "unclean")
    assert f"Successfully completed leader election (UNCLEAN) for partitions {ASKED}-0" in said
    await_partition(cluster.tools, back, ASKED, Leader=str(BACK), Isr=str(BACK))
    assert _last_leader(cluster, ASKED) == UNCLEAN
    assert _of_broker_12(cluster, ASKED) == EARLY


def test_the_former_leader_gives_up_what_the_new_one_lacks(cluster: Either) -> None:
    """It was killed: its copy is no longer eligible, and follows the new leaders'.

    Nothing is lost where these were eligible.
    """
    cluster.start_brokers(GONE)
    gone = cluster.kafka.nodes[GONE]
    for topic in (ASKED, ALLOWED, ELIGIBLE):
        await_partition(cluster.tools, gone, topic, Leader=str(BACK), Isr=f"{GONE},{BACK}")
        assert _of_broker_12(cluster, topic) == EARLY
        produce(cluster.tools, gone, topic, ["last"])
    cluster.kafka.admin("leader-election", "--election-type", "preferred", "--all-topic-partitions")
    for topic in (ASKED, ALLOWED, ELIGIBLE):
        await_partition(cluster.tools, gone, topic, Leader=str(GONE), Isr=f"{GONE},{BACK}")
        assert consume(cluster.tools, gone, topic, len(EARLY) + 1) == [*EARLY, "last"]
