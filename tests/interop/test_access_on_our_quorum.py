"""Configs, ACLs, quotas, SCRAM users and delegation tokens with Kafka's tools and a stock broker.

The broker authenticates its clients, and three of our controllers authorize their requests.
"""

from __future__ import annotations

import asyncio
import datetime
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quorum.api.error_codes import Error
from quorum.cli.demo.cluster import LOOPBACK, free_ports, wait_until
from tests.support.kafka.on_ours import KafkaOnOurs
from tests.support.kafka.tools import KafkaTools, ToolFailedError
from tests.support.kafka_wire import connected, request_bytes, requests_of, written
from tests.support.voter_processes import kraft

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]

BROKER = 11
ACCESS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "delegation.token.secret.key": "only-for-this-test",
}
"""Controllers and brokers have no names here, so ANONYMOUS may do all; who comes by the listener SASL has a name."""
LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required"


class Secured(KafkaOnOurs):
    """One broker with a second listener, SASL, that asks for SCRAM."""

    def __init__(self, root: Path, tools: KafkaTools) -> None:
        super().__init__(root, tools, brokers=(BROKER,), properties=ACCESS)
        self.root = root
        self.sasl_address = f"{LOOPBACK}:{free_ports(1)[0]}"

    def start_secured(self) -> None:
        """Controllers and broker."""
        self.start_controllers()
        self.kafka.format(BROKER)
        broker = self.broker(BROKER)
        more = {
            **ACCESS,
            "listeners": f"PLAINTEXT://{broker.address},SASL://{self.sasl_address}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "sasl.enabled.mechanisms": "SCRAM-SHA-256",
            "listener.name.sasl.scram-sha-256.sasl.jaas.config": f"{LOGIN};",
        }
        with broker.properties.open("a") as file:
            file.writelines(f"{key}={value}\n" for key, value in more.items())
        self.start_brokers(BROKER)

    def login(self, name: str, password: str, *, is_token: bool = False) -> Path:
        """Write the tool's properties to log in as that user; return their path."""
        token = ' tokenauth="true"' if is_token else ""
        path = self.root / f"{re.sub('[^a-z]', '', name.lower())}.properties"
        path.write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\nrequest.timeout.ms=15000\ndefault.api.timeout.ms=20000\n"
            f'sasl.jaas.config={LOGIN} username="{name}" password="{password}"{token};\n'
        )
        return path

    def as_user(self, login: Path, tool: str, *words: str) -> str:
        """Standard output of a tool that has logged in."""
        return self.tools.run(tool, "--bootstrap-server", self.sasl_address, "--command-config", str(login), *words)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools) -> Iterator[Secured]:
    with Secured(tmp_path_factory.mktemp("access"), kafka_tools) as cluster:
        cluster.start_secured()
        cluster.admin("topics", "--create", "--topic", "orders", "--partitions", "1", "--replication-factor", "1")
        cluster.kafka.await_topics("orders")
        yield cluster


@pytest.fixture(scope="module")
def alice(cluster: Secured) -> Path:
    """A user made on our controllers, whom the broker lets in."""
    words = "SCRAM-SHA-256=[iterations=8192,password=wonder]"
    configs(cluster, "users", "alice", "--alter", "--add-config", words)
    login = cluster.login("alice", "wonder")

    def is_in() -> bool:
        try:
            cluster.as_user(login, "topics", "--list")
        except ToolFailedError:
            return False
        return True

    wait_until("alice to be let in", is_in, timeout_s=60)
    return login


def configs(cluster: KafkaOnOurs, kind: str, name: str | None, *words: str) -> str:
    entity = ["--entity-default"] if name is None else ["--entity-name", name]
    return cluster.admin("configs", "--entity-type", kind, *entity, *words)


def described(cluster: KafkaOnOurs, kind: str, name: str | None, *expected: str) -> None:
    """Wait until the broker, which learns of it by the log, says all of it."""

    def says_so() -> bool:
        said = configs(cluster, kind, name, "--describe")
        return all(each in said for each in expected)

    wait_until(f"{kind} {name} to have {expected}", says_so, timeout_s=30)


@pytest.mark.parametrize(
    ("kind", "name", "config"),
    [
        ("topics", "orders", "retention.ms=86400000"),
        ("topics", "orders", "cleanup.policy=[compact,delete]"),
        ("brokers", str(BROKER), "log.cleaner.threads=2"),
        ("brokers", None, "message.max.bytes=2000000"),
        ("groups", "g", "consumer.session.timeout.ms=50000"),
        ("client-metrics", "m", "interval.ms=1000"),
        ("users", "carol", "producer_byte_rate=1024"),
        ("users", None, "request_percentage=12.5"),
        ("clients", "c", "consumer_byte_rate=2048"),
        ("ips", "10.1.2.3", "connection_creation_rate=5"),
    ],
)
def test_configs_and_quotas_are_set_described_and_removed(
    cluster: Secured, kind: str, name: str | None, config: str
) -> None:
    key, value = config.split("=")
    configs(cluster, kind, name, "--alter", "--add-config", config)
    described(cluster, kind, name, f"{key}={value.strip('[]')}")
    configs(cluster, kind, name, "--alter", "--delete-config", key)
    wait_until(
        f"{key} to be gone",
        lambda: (
            f"DYNAMIC_TOPIC_CONFIG:{key}=" not in (said := configs(cluster, kind, name, "--describe"))
            and f"{key}={value}" not in said
        ),
        timeout_s=30,
    )


@pytest.mark.parametrize(
    ("kind", "name", "config", "why"),
    [
        ("topics", "orders", "min.insync.replicas=0", "InvalidConfigurationException"),
        ("topics", "nothing", "retention.ms=1", "UnknownTopicOrPartitionException"),
        ("groups", "g", "consumer.session.timeout.ms=1", "InvalidConfigurationException"),
        ("client-metrics", "m", "interval.ms=1", "InvalidRequestException"),
        ("ips", "10.1.2.3", "connection_creation_rate=0", "InvalidRequestException"),
    ],
)
def test_what_the_controller_refuses(cluster: Secured, kind: str, name: str, config: str, why: str) -> None:
    entity = ("--entity-type", kind, "--entity-name", name)
    at = ("--bootstrap-server", cluster.broker(BROKER).address)
    status, out, err = cluster.tools.call("configs", *at, *entity, "--alter", "--add-config", config)
    assert status != 0
    assert why in out + err


def test_a_user_has_credentials_and_quotas(cluster: Secured, alice: Path) -> None:
    configs(cluster, "users", "alice", "--alter", "--add-config", "producer_byte_rate=4096")
    described(cluster, "users", "alice", "producer_byte_rate=4096", "SCRAM-SHA-256", "iterations=8192")
    with pytest.raises(ToolFailedError, match="SaslAuthenticationException"):
        cluster.as_user(cluster.login("mallory", "wonder"), "topics", "--list")


def test_a_burst_of_changes_is_refused_and_then_passes(cluster: Secured) -> None:
    """One partition a second (KIP-599): eleven at once may be made, then debts have to be paid."""
    rate = "controller_mutation_rate=1"
    configs(cluster, "clients", "hasty", "--alter", "--add-config", rate)
    words = cluster.root / "hasty.properties"
    words.write_text("client.id=hasty\n")

    def create(name: str, partitions: int) -> None:
        topic = ("--create", "--topic", name, "--partitions", str(partitions), "--replication-factor", "1")
        cluster.admin("topics", *topic, "--command-config", str(words))

    create("burst", 26)
    refused = asyncio.run(hasty_creation(cluster.broker(BROKER).port, "refused"))
    assert refused.topics[0].error_code.value == Error.THROTTLING_QUOTA_EXCEEDED, "passed on by a broker"
    assert datetime.timedelta(0) < refused.throttle_time <= datetime.timedelta(seconds=15)
    with pytest.raises(ToolFailedError, match="ThrottlingQuotaExceededException"):
        create("refused", 1)

    def may_create() -> bool:
        try:
            create("waited-for", 1)
        except ToolFailedError:
            return False
        return True

    wait_until("the debt to be paid", may_create, timeout_s=60)
    cluster.kafka.await_topics("burst", "waited-for")
    configs(cluster, "clients", "hasty", "--alter", "--delete-config", "controller_mutation_rate")
    passed = asyncio.run(hasty_creation(cluster.broker(BROKER).port, "passed"))
    assert passed.topics[0].error_code.value == Error.NONE
    cluster.kafka.await_topics("passed")


async def hasty_creation(port: int, name: str) -> Any:
    """The answer to a CreateTopics of the client `hasty`, who does not wait."""
    module = requests_of(19, 7)
    topic = module.CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=(), configs=())
    request = module.CreateTopicsRequest(topics=(topic,), timeout=datetime.timedelta(seconds=10), validate_only=False)
    async with connected(port) as client:
        await client.send_bytes(request_bytes(19, 7, written(request), 1, client_id="hasty"))
        return await client.answer(19, 7, 1)


def test_our_controllers_judge_whom_the_broker_passes_on(cluster: Secured, alice: Path) -> None:
    create = ("--create", "--topic", "alice-1", "--partitions", "1", "--replication-factor", "1")
    with pytest.raises(ToolFailedError, match=r"TopicAuthorizationException|Authorization failed"):
        cluster.as_user(alice, "topics", *create)
    grant = ("--topic", "alice-", "--resource-pattern-type", "prefixed", "--allow-principal", "User:alice")
    operations = ("--operation", "Create", "--operation", "Describe", "--operation", "DescribeConfigs")
    cluster.admin("acls", "--add", *grant, *operations)

    def listed() -> bool:
        said = cluster.admin("acls", "--list")
        return "name=alice-, patternType=PREFIXED" in said and said.count("principal=User:alice") == 3

    wait_until("the entries to be listed", listed, timeout_s=30)
    cluster.as_user(alice, "topics", *create)
    cluster.kafka.await_topics("alice-1")
    with pytest.raises(ToolFailedError):
        cluster.as_user(alice, "topics", "--delete", "--topic", "alice-1")
    cluster.admin("acls", "--remove", "--force", *grant, *operations)
    wait_until("no entries", lambda: "User:alice" not in cluster.admin("acls", "--list"), timeout_s=30)
    with pytest.raises(ToolFailedError):
        cluster.as_user(alice, "topics", "--create", "--topic", "alice-2", "--partitions", "1")


def test_controllers_themselves_answer_for_entries(cluster: Secured) -> None:
    at = ("--bootstrap-controller", cluster.running_addresses)
    cluster.tools.run("acls", *at, "--add", "--group", "*", "--allow-principal", "User:dave", "--operation", "Read")
    assert "principal=User:dave" in cluster.tools.run("acls", *at, "--list")
    cluster.tools.run("acls", *at, "--remove", "--force", "--group", "*")
    assert "User:dave" not in cluster.tools.run("acls", *at, "--list")


def test_a_controller_describes_its_own_configs(cluster: Secured) -> None:
    node_id, node = next(iter(cluster.ours.controllers.items()))
    at = ("--bootstrap-controller", f"{LOOPBACK}:{node.ports['CONTROLLER']}")
    words = ("--describe", "--all", "--entity-type", "brokers", "--entity-name", str(node_id))
    said = cluster.tools.run("configs", *at, *words)
    assert "super.users=User:ANONYMOUS sensitive=false" in said
    assert "delegation.token.secret.key=null sensitive=true" in said
    assert "only-for-this-test" not in said


def test_a_token_is_made_used_renewed_and_ended(cluster: Secured, alice: Path) -> None:
    said = cluster.as_user(
        alice, "delegation-tokens", "--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob"
    )
    row = next(line.split() for line in said.splitlines() if "User:alice" in line)
    token_id, secret = row[0], row[1]
    login = cluster.login(token_id, secret, is_token=True)

    def is_in() -> bool:
        try:
            cluster.as_user(login, "topics", "--list")
        except ToolFailedError:
            return False
        return True

    wait_until("the token to open the door", is_in, timeout_s=60)
    with pytest.raises(ToolFailedError, match="DelegationToken"):
        cluster.as_user(login, "delegation-tokens", "--create", "--max-life-time-period", "-1")
    describe = ("--describe", "--owner-principal", "User:alice")
    assert token_id in cluster.as_user(alice, "delegation-tokens", *describe)
    cluster.as_user(alice, "delegation-tokens", "--renew", "--renew-time-period", "3600000", "--hmac", secret)
    cluster.as_user(alice, "delegation-tokens", "--expire", "--expiry-time-period", "-1", "--hmac", secret)
    wait_until(
        "the token to be gone",
        lambda: token_id not in cluster.as_user(alice, "delegation-tokens", *describe),
        timeout_s=30,
    )


def test_every_copy_of_the_log_says_the_same(cluster: Secured) -> None:
    """Leader, standbys and broker: one image hash."""
    copies = [str(node.metadata_dir) for node in cluster.ours.controllers.values()]
    status, out, err = kraft("log", "hash", *copies, str(cluster.broker(BROKER).metadata_dir))
    assert status == 0, out + err
