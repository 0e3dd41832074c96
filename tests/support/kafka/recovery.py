"""Contents of a real cluster before it is destroyed, the way to read them afterwards, and whether a controller votes.

Decides: topics with messages, configs, ACLs and SCRAM credentials. Must not know: how it is destroyed and repaired.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

import msgspec

from metadata_log.files.os_files import OsFiles
from quorum.cli.demo.cluster import wait_until
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.journal.log_directories import find_place
from tests.support.kafka.cluster import KafkaCluster, KafkaNode

_WORD = re.compile(r"^message-\d+$", re.MULTILINE)


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """Topics by name, and the number of messages in each."""

    PROPERTIES: ClassVar[dict[str, str]] = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "metadata.log.max.record.bytes.between.snapshots": "20000",
        "offsets.topic.num.partitions": "1",
        "group.initial.rebalance.delay.ms": "0",
        # Elections are Kafka's matter: on a busy machine they must not decide the test.
        "controller.quorum.fetch.timeout.ms": "4000",
        "controller.quorum.election.timeout.ms": "3000",
        "controller.quorum.request.timeout.ms": "4000",
        # The controller accepts a killed broker again once its old session has ended.
        "broker.heartbeat.interval.ms": "1000",
        "broker.session.timeout.ms": "10000",
    }
    topics: dict[str, int]


def write_contents(cluster: KafkaCluster, contents: Contents) -> None:
    """Write all of it."""
    for topic in contents.topics:
        cluster.admin("topics", "--create", "--topic", topic, "--partitions", "3", "--replication-factor", "2")
        _produce(cluster, topic, contents.topics[topic])
    first = next(iter(contents.topics))
    cluster.admin(
        "configs", "--alter", "--entity-type", "topics", "--entity-name", first, "--add-config", "retention.ms=7200000"
    )
    cluster.admin(
        "configs", "--alter", "--entity-type", "users", "--entity-name", "alice", "--add-config",
        "SCRAM-SHA-256=[password=secret]",
    )  # fmt: skip
    cluster.admin(
        "acls", "--add", "--allow-principal", "User:alice", "--operation", "Read", "--topic", first, "--force"
    )
    wait_until("the broker to know the ACL", lambda: "User:alice" in cluster.admin("acls", "--list"), every_s=0.2)


def _produce(cluster: KafkaCluster, topic: str, count: int) -> None:
    payloads = cluster.root / f"{topic}.payloads"
    payloads.write_text("".join(f"message-{number}\n" for number in range(count)))
    cluster.tools.run(
        "producer-performance", "--topic", topic, "--num-records", str(count), "--throughput", "-1",
        "--payload-file", str(payloads), "--producer-props",
        f"bootstrap.servers={cluster.running_broker.address}", "acks=all",
    )  # fmt: skip


def read_contents(cluster: KafkaCluster, contents: Contents) -> dict[str, object]:
    """Return topic ids, configs, ACLs, users and the messages of each topic, sorted."""
    described = cluster.admin("topics", "--describe")
    ids = {topic: _found(rf"Topic: {topic}\tTopicId: (\S+)\t", described) for topic in contents.topics}
    configs = {
        topic: cluster.admin("configs", "--describe", "--entity-type", "topics", "--entity-name", topic)
        for topic in contents.topics
    }
    users = cluster.admin("configs", "--describe", "--entity-type", "users")
    acls = sorted(line.strip() for line in cluster.admin("acls", "--list").splitlines())
    messages = {topic: _consume(cluster, topic, count) for topic, count in contents.topics.items()}
    return {"ids": ids, "configs": configs, "users": users, "acls": acls, "messages": messages}


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match is not None, (pattern, text)
    return match[1]


def _consume(cluster: KafkaCluster, topic: str, count: int) -> list[str]:
    said = cluster.admin(
        "console-consumer", "--topic", topic, "--from-beginning", "--max-messages", str(count), "--timeout-ms", "120000"
    )
    return sorted(_WORD.findall(said))


def knows_its_vote(node: KafkaNode) -> bool:
    """Return True if a running controller's own log names it as a voter."""
    files = OsFiles()
    voters = read_copy(files, find_place(files, str(node.log_dir))).voters
    return voters is not None and node.node_id in voters


def directories(cluster: KafkaCluster) -> list[Path]:
    """Return the log directories of all nodes."""
    return [node.log_dir for node in cluster.nodes.values()]
