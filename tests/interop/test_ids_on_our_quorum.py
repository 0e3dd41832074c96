"""Stock Kafka brokers, our quorum behind them: reads fenced by topic id, strays set aside, a safe metadata topic.

The scenarios are those of KIP-516 on immediate deletion, and on access to the metadata topic.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from metadata_log.directory.partition_metadata import read_partition_metadata
from metadata_log.files.os_files import OsFiles
from metadata_log.ids import METADATA_TOPIC_ID, ZERO_TOPIC_ID, TopicId, id_text
from quorum.api.error_codes import Error
from quorum.cli.demo.cluster import wait_until
from quorum.client import Admin, CreatableReplicaAssignment, CreatableTopic, RefusedError, TopicCollection
from tests.support.kafka.by_id import Read, delete_through, describe_by_id, produce_by_id, read_by_id
from tests.support.kafka.on_ours import KafkaOnOurs
from tests.support.kafka.tools import KafkaTools, ToolFailedError
from tests.support.loop import run

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]

METADATA = "__cluster_metadata"
NOBODYS = TopicId(b"\x77" * 16)
MESSAGES = 20
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
"""Every principal may do everything to a resource without ACLs."""
ALL_BUT_DELETE = ("ClusterAction", "Alter", "AlterConfigs", "Create", "Describe", "DescribeConfigs", "IdempotentWrite")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools) -> Iterator[KafkaOnOurs]:
    with KafkaOnOurs(
        tmp_path_factory.mktemp("ids"), kafka_tools, properties=AUTHORIZER, broker_properties=AUTHORIZER
    ) as cluster:
        cluster.start_controllers()
        cluster.start_brokers(11, 12)
        yield cluster


def _create(cluster: KafkaOnOurs, name: str, *replicas: int) -> TopicId:
    """Asked of our controllers, which no broker has to be awake for."""
    assignment = CreatableReplicaAssignment(partition_index=0, broker_ids=replicas)

    async def ask() -> TopicId:
        async with Admin(cluster.ours.bootstrap) as admin:
            return (await admin.create_topics([CreatableTopic(name=name, assignments=(assignment,))])).topic_id(name)

    return run(ask())


def _delete(cluster: KafkaOnOurs, topic_id: TopicId) -> None:
    async def ask() -> None:
        async with Admin(cluster.ours.bootstrap) as admin:
            (await admin.delete_topics(TopicCollection.of_topic_ids([topic_id]))).all()

    run(ask())


def _produce(cluster: KafkaOnOurs, name: str, word: str, at: int) -> None:
    """Messages of that word, acknowledged by all in sync."""
    payloads = cluster.kafka.root / f"{word}.payloads"
    payloads.write_text(f"{word}\n")
    properties = f"bootstrap.servers={cluster.broker(at).address}"
    cluster.tools.run(
        "producer-performance", "--topic", name, "--num-records", str(MESSAGES), "--throughput", "-1",
        "--payload-file", str(payloads), "--producer-props", properties, "acks=all",
    )  # fmt: skip


def _served(cluster: KafkaOnOurs, broker_id: int, topic_id: TopicId) -> Read:
    """The first read of that id without an error."""

    def found() -> Read | None:
        read = read_by_id(cluster.broker(broker_id), topic_id)
        return read if read.error == 0 else None

    return wait_until(f"broker {broker_id} to serve the topic", found, timeout_s=60)


def _refused(cluster: KafkaOnOurs, broker_id: int, topic_id: TopicId) -> None:
    """Wait until the broker knows no topic of that id."""
    wait_until(
        f"broker {broker_id} to refuse the old id",
        lambda: read_by_id(cluster.broker(broker_id), topic_id).error == Error.UNKNOWN_TOPIC_ID,
        timeout_s=60,
    )


def _directories(cluster: KafkaOnOurs, broker_id: int, name: str) -> dict[str, TopicId]:
    """The broker's partition directories that begin with a topic's name, and the id in each."""
    found: dict[str, TopicId] = {}
    for path in cluster.broker(broker_id).log_dir.glob(f"{name}-0*"):
        held = _id_in(path)
        if held is not None:
            found[path.name] = held
    return found


def _id_in(path: Path) -> TopicId | None:
    """None for a directory that is renamed or removed meanwhile."""
    try:
        return read_partition_metadata(OsFiles(), str(path))
    except FileNotFoundError:
        return None


def test_the_old_id_of_a_recreated_topic_reads_nothing(cluster: KafkaOnOurs) -> None:
    old = _create(cluster, "again", 12, 11)
    _served(cluster, 12, old)
    _produce(cluster, "again", "former", at=12)
    assert b"former" in _served(cluster, 12, old).records
    _delete(cluster, old)
    new = _create(cluster, "again", 12, 11)
    assert new != old
    _served(cluster, 12, new)
    _produce(cluster, "again", "later", at=12)
    for broker_id in (11, 12):
        _refused(cluster, broker_id, old)
        assert read_by_id(cluster.broker(broker_id), old).records == b""
    records = _served(cluster, 12, new).records
    assert b"later" in records
    assert b"former" not in records
    wait_until("the follower to hold the new one's", lambda: b"later" in _served(cluster, 11, new).records)
    assert b"former" not in _served(cluster, 11, new).records


_NOT_THERE_YET = {Error.UNKNOWN_TOPIC_ID, Error.NOT_LEADER_OR_FOLLOWER, Error.INCONSISTENT_TOPIC_ID}
"""The last: the broker's metadata know the new topic, and its replica manager still has the former one's log."""


def test_a_leader_that_has_not_heard_of_it_never_gives_the_former_topics_records(cluster: KafkaOnOurs) -> None:
    """KIP-516's stale read: broker 12 leads the former topic, and sleeps while it is deleted and made again."""
    old = _create(cluster, "slept", 12, 11)
    _served(cluster, 12, old)
    _produce(cluster, "slept", "former", at=12)
    sleeper = cluster.broker(12)
    sleeper.process.send_signal(signal.SIGSTOP)
    try:
        _delete(cluster, old)
        new = _create(cluster, "slept", 12, 11)
    finally:
        sleeper.process.send_signal(signal.SIGCONT)
    reads: list[Read] = []

    def is_served() -> bool:
        reads.append(read_by_id(sleeper, new))
        return reads[-1].error == 0

    wait_until("broker 12 to serve the new topic", is_served, timeout_s=60, every_s=0.002)
    assert all(b"former" not in read.records for read in reads)
    assert {read.error for read in reads[:-1]} <= _NOT_THERE_YET
    _refused(cluster, 12, old)
    wait_until("only the new one's directory", lambda: _directories(cluster, 12, "slept").get("slept-0") == new)


def test_a_topic_is_deleted_and_made_again_while_a_broker_is_away_which_then_sets_its_stray_aside(
    cluster: KafkaOnOurs,
) -> None:
    old, gone = _create(cluster, "away", 11, 12), _create(cluster, "gone", 11, 12)
    for topic_id in (old, gone):
        _served(cluster, 11, topic_id)
    _produce(cluster, "away", "former", at=11)
    wait_until("broker 12 to have it", lambda: _directories(cluster, 12, "away") == {"away-0": old})
    wait_until("broker 12 to have the other", lambda: _directories(cluster, 12, "gone") == {"gone-0": gone})
    broker = cluster.broker(12)
    broker.kill()
    _delete(cluster, gone)
    _delete(cluster, old)
    new = _create(cluster, "away", 11, 12)
    _served(cluster, 11, new)
    cluster.start_brokers(12)

    def staged(name: str) -> list[TopicId]:
        found = _directories(cluster, 12, name)
        return [held for directory, held in found.items() if directory.endswith("-stray")]

    wait_until("the former topic's directory to be set aside", lambda: staged("away") == [old], timeout_s=60)
    assert staged("gone") == [gone]
    assert "stray" in broker.said()
    wait_until("the new one's", lambda: _directories(cluster, 12, "away").get("away-0") == new, timeout_s=60)
    wait_until("broker 12 to serve it", lambda: b"former" not in _served(cluster, 12, new).records)


def test_an_id_that_no_topic_has_is_unknown_and_creates_nothing(cluster: KafkaOnOurs) -> None:
    before = cluster.kafka.topics()
    for broker_id in (11, 12):
        told = describe_by_id(cluster.broker(broker_id), NOBODYS, may_create=True)
        assert told == (Error.UNKNOWN_TOPIC_ID, None)
    assert cluster.kafka.topics() == before
    known = _create(cluster, "known", 11)
    _served(cluster, 11, known)
    broker = cluster.broker(11)
    assert describe_by_id(broker, known) == (Error.NONE, "known")
    assert describe_by_id(broker, known, name="nowhere") == (Error.NONE, "known"), "the id is looked at first"
    assert describe_by_id(broker, NOBODYS, name="known") == (Error.UNKNOWN_TOPIC_ID, None)
    assert describe_by_id(broker, ZERO_TOPIC_ID, name="known") == (Error.NONE, "known")


def test_a_topic_that_is_named_and_given_by_id_is_not_deleted(cluster: KafkaOnOurs) -> None:
    topic_id = _create(cluster, "both", 11)
    _served(cluster, 11, topic_id)
    told = delete_through(cluster.broker(11), ("both", topic_id), (None, NOBODYS), ("nowhere", None))
    assert told == {
        None: Error.UNKNOWN_TOPIC_ID,
        "both": Error.INVALID_REQUEST,
        "nowhere": Error.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert delete_through(cluster.broker(11), (None, topic_id)) == {"both": Error.NONE}
    _refused(cluster, 11, topic_id)


def _acl(cluster: KafkaOnOurs, change: str, verdict: str, *words: str) -> None:
    """Change an ACL of the anonymous principal, which all clients have here."""
    cluster.admin("acls", f"--{change}", f"--{verdict}-principal", "User:ANONYMOUS", *words, "--force")


def test_who_may_not_describe_a_topic_hears_of_its_id_and_not_of_its_name(cluster: KafkaOnOurs) -> None:
    topic_id, broker = _create(cluster, "secret", 11), cluster.broker(11)
    _served(cluster, 11, topic_id)
    # DELETE on the cluster permits the deletion of any topic, as in Kafka: brokers and tools get all other operations.
    _acl(cluster, "add", "allow", "--cluster", *(word for each in ALL_BUT_DELETE for word in ("--operation", each)))
    describe = ("--operation", "Describe", "--topic", "secret")
    _acl(cluster, "add", "deny", *describe)
    forbidden = (Error.TOPIC_AUTHORIZATION_FAILED, None)
    for one in cluster.kafka.brokers:
        wait_until("the broker to know the ACL", lambda one=one: describe_by_id(one, topic_id) == forbidden)
    assert describe_by_id(broker, NOBODYS) == (Error.UNKNOWN_TOPIC_ID, None), "ids are no secret"
    with pytest.raises(ToolFailedError, match="does not exist as expected"):
        cluster.admin("topics", "--describe", "--topic-id", id_text(topic_id))
    with pytest.raises(RefusedError, match="TOPIC_AUTHORIZATION_FAILED") as raised:
        _delete(cluster, topic_id)
    assert "secret" not in str(raised.value)
    assert delete_through(broker, (None, topic_id)) == {None: Error.TOPIC_AUTHORIZATION_FAILED}
    assert delete_through(broker, (None, NOBODYS)) == {None: Error.UNKNOWN_TOPIC_ID}
    assert delete_through(broker, ("secret", None)) == {"secret": Error.TOPIC_AUTHORIZATION_FAILED}

    _acl(cluster, "remove", "deny", *describe)
    _acl(cluster, "add", "allow", *describe)
    wait_until(
        "the broker to know the next ACL", lambda: describe_by_id(broker, topic_id) == (0, "secret"), timeout_s=60
    )
    told = delete_through(broker, (None, topic_id))
    assert told == {"secret": Error.TOPIC_AUTHORIZATION_FAILED}, "who may describe it may hear its name"
    _acl(cluster, "remove", "allow", *describe)
    wait_until(
        "nothing to be forbidden", lambda: delete_through(broker, (None, topic_id)) == {"secret": 0}, timeout_s=60
    )


def _own_id(cluster: KafkaOnOurs) -> TopicId:
    """The metadata topic's, as our controllers describe it."""

    async def ask() -> TopicId | None:
        async with Admin(cluster.ours.bootstrap) as admin:
            return (await admin.describe_topics(TopicCollection.of_topic_names([METADATA]))).topic_id(METADATA)

    found = run(ask())
    assert found is not None
    return found


def test_nobody_touches_the_metadata_topic(cluster: KafkaOnOurs) -> None:
    own = _own_id(cluster)
    assert own != METADATA_TOPIC_ID
    broker = cluster.broker(11)
    about = ("--entity-type", "topics", "--entity-name", METADATA)
    for words, why in (
        (("topics", "--create", "--topic", METADATA), "Creation of internal topic __cluster_metadata is prohibited"),
        (("topics", "--alter", "--topic", METADATA, "--partitions", "2"), "does not exist"),
        (("configs", "--alter", *about, "--add-config", "retention.ms=1"), "Alteration of internal topic"),
    ):
        with pytest.raises(ToolFailedError, match=why):
            cluster.admin(*words)
    for asked in ((METADATA, None), (None, own), (None, METADATA_TOPIC_ID)):
        assert delete_through(broker, asked) == {METADATA: Error.INVALID_REQUEST}
    for topic_id in (own, METADATA_TOPIC_ID):
        assert produce_by_id(broker, topic_id, b"intruder") in (
            Error.UNKNOWN_TOPIC_ID,
            Error.UNKNOWN_TOPIC_OR_PARTITION,
        )
        assert read_by_id(broker, topic_id).records == b""
    assert METADATA not in cluster.kafka.topics()
    assert _own_id(cluster) == own
    for node in cluster.ours.controllers.values():
        assert b"intruder" not in b"".join(path.read_bytes() for path in node.metadata_dir.glob("*.log"))
