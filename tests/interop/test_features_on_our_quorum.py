"""Kafka's own tools upgrade and downgrade features and unregister a broker, with three of our controllers."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from quorum.cli.demo.cluster import wait_until
from quorum.cli.main import run
from tests.support.kafka.on_ours import KafkaOnOurs, is_ready
from tests.support.kafka.tools import KafkaTools, ToolFailedError

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]

OFTEN = {
    "metadata.log.max.record.bytes.between.snapshots": "4000",
    "internal.metadata.log.segment.bytes": "3000",
    "metadata.max.retention.bytes": "0",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools) -> Iterator[KafkaOnOurs]:
    """Formatted for 3.9, whose metadata.version knows nothing of ELRs and group protocols."""
    with KafkaOnOurs(tmp_path_factory.mktemp("features"), kafka_tools, properties=OFTEN) as cluster:
        cluster.start_controllers("--release-version", "3.9")
        cluster.start_brokers(11, 12)
        yield cluster


def _finalised(said: str) -> dict[str, str]:
    """Return the levels that `kafka-features describe` prints."""
    return dict(re.findall(r"Feature: (\S+)\s.*FinalizedVersionLevel: (\S+)", said))


def _levels(cluster: KafkaOnOurs) -> dict[str, str]:
    """Return the levels that the running brokers know, once they agree: one broker may learn them later."""
    asked = [str(broker_id) for broker_id, node in cluster.kafka.nodes.items() if node.is_running]

    def agreed() -> dict[str, str] | None:
        found = [_finalised(cluster.admin("features", "describe", "--node-id", at)) for at in asked]
        return found[0] if all(levels == found[0] for levels in found) else None

    return wait_until("the brokers to know the same levels", agreed, timeout_s=60)


def test_what_is_finalised_is_told_by_brokers_and_controllers(cluster: KafkaOnOurs) -> None:
    levels = _levels(cluster)
    assert levels["metadata.version"] == "3.9-IV0"
    assert levels["kraft.version"] == "1"
    words = ("--bootstrap-controller", cluster.running_addresses, "describe")
    assert _finalised(cluster.tools.run("features", *words)) == levels


def test_topics_and_features_are_printed_as_kafkas_tools_print_them(
    cluster: KafkaOnOurs, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--create", "--topic", "alike", "--replica-assignment", "11:12,12:11,11:12", "--config", "flush.ms=9")
    cluster.admin("topics", *words)
    at = ("--bootstrap-controller", ",".join(cluster.ours.bootstrap))

    def ours(*command: str) -> list[str]:
        capsys.readouterr()
        assert run([*command, *at]) == 0
        return capsys.readouterr().out.splitlines()

    cluster.kafka.await_topics("alike")
    theirs = cluster.admin("topics", "--describe", "--topic", "alike").splitlines()
    assert ours("topics", "describe", "--topic", "alike", "-o", "kafka") == [line for line in theirs if line]
    rows = [line.split() for line in ours("features", "describe")[1:]]
    assert {row[0]: row[3] for row in rows} == _levels(cluster)


def test_a_level_that_lacks_another_is_refused(cluster: KafkaOnOurs) -> None:
    with pytest.raises(ToolFailedError, match=r"depends on metadata\.version 4\.0-IV1 \(23\)"):
        cluster.admin("features", "upgrade", "--feature", "eligible.leader.replicas.version=1")


def _check_raised(cluster: KafkaOnOurs, release: str, levels: dict[str, str]) -> None:
    before = _levels(cluster)["metadata.version"]
    cluster.admin("features", "upgrade", "--release-version", release, "--dry-run")
    assert _levels(cluster)["metadata.version"] == before
    cluster.admin("features", "upgrade", "--release-version", release)
    wait_until("brokers to know", lambda: levels.items() <= _levels(cluster).items(), timeout_s=60)


def test_the_whole_cluster_is_raised_to_a_release_while_it_runs(cluster: KafkaOnOurs) -> None:
    cluster.admin("topics", "--create", "--topic", "before", "--partitions", "3", "--replication-factor", "2")
    raised = {"eligible.leader.replicas.version": "1", "group.version": "1", "transaction.version": "2"}
    _check_raised(cluster, "4.3", {"metadata.version": "4.3-IV0", "share.version": "1", **raised})
    _check_raised(cluster, "4.4", {"metadata.version": "4.4-IV2", "share.version": "2", **raised})
    cluster.admin("topics", "--create", "--topic", "after", "--partitions", "3", "--replication-factor", "2")
    cluster.kafka.await_topics("before", "after")


def test_a_controller_starts_from_a_checkpoint_of_the_raised_cluster(cluster: KafkaOnOurs) -> None:
    follower = next(node for node in cluster.ours.controllers.values() if node is not cluster.leader())

    for number in range(10):
        cluster.admin("topics", "--create", "--topic", f"more-{number}", "--partitions", "6")
    wait_until("its log to begin later", lambda: min(int(log.stem) for log in follower.metadata_dir.glob("*.log")) > 0)
    assert follower.stop() == 0
    follower.start()
    wait_until("it to be ready", lambda: is_ready(follower), timeout_s=60)
    dead = cluster.leader()
    dead.kill()
    cluster.leader(other_than=dead.node_id)
    dead.start()
    dead.wait_listening()
    assert _levels(cluster)["metadata.version"] == "4.4-IV2"
    cluster.admin("topics", "--create", "--topic", "last", "--partitions", "3", "--replication-factor", "2")
    cluster.kafka.await_topics("before", "after", "last")


def test_a_feature_is_lowered_where_no_record_depends_on_it(cluster: KafkaOnOurs) -> None:
    with pytest.raises(ToolFailedError, match="might delete metadata information"):
        cluster.admin("features", "downgrade", "--feature", "metadata.version=29")
    with pytest.raises(ToolFailedError, match="only supports 0 to 1"):
        cluster.admin("features", "upgrade", "--feature", "group.version=7")
    cluster.admin("features", "downgrade", "--feature", "group.version=0")
    wait_until("brokers to know", lambda: _levels(cluster)["group.version"] == "0", timeout_s=60)


def test_a_broker_that_is_gone_is_unregistered(cluster: KafkaOnOurs) -> None:
    cluster.broker(12).stop()
    words = ("unregister", "--bootstrap-server", cluster.broker(11).address, "--id", "12")
    said = cluster.tools.run("cluster", *words)
    assert "Broker 12 is no longer registered." in said
    with pytest.raises(ToolFailedError, match="12 is not currently registered"):
        cluster.tools.run("cluster", *words)
    cluster.start_brokers(12)
