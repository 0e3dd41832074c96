"""`kafka-cluster unregister-controller` of Kafka 4.4 asks our controllers, and a stock broker that forwards it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from metadata_log.ids import NodeId
from quorum.cli.demo.cluster import Node, wait_until
from tests.support.kafka.on_ours import KafkaOnOurs
from tests.support.kafka.tools import KafkaTools
from tests.support.log_history import read_history

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]

BROKER = 11


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools) -> Iterator[KafkaOnOurs]:
    with KafkaOnOurs(tmp_path_factory.mktemp("ours"), kafka_tools, brokers=(BROKER,)) as cluster:
        cluster.start_controllers("--release-version", "4.4-IV2")
        cluster.start_brokers(BROKER)
        yield cluster


def _registered(leader: Node) -> set[NodeId]:
    return set(read_history(leader.metadata_dir).image.cluster.controllers)


def _await_registered(leader: Node, node_ids: set[int]) -> None:
    wait_until(f"the registrations of {node_ids}", lambda: _registered(leader) == node_ids, timeout_s=60)


def _by_controllers(cluster: KafkaOnOurs) -> tuple[str, str]:
    return "--bootstrap-controller", cluster.running_addresses


def _by_broker(cluster: KafkaOnOurs) -> tuple[str, str]:
    return "--bootstrap-server", f"127.0.0.1:{cluster.broker(BROKER).port}"


@pytest.mark.parametrize("way", [_by_controllers, _by_broker])
def test_it_is_unregistered_once_and_comes_back_when_it_starts(
    cluster: KafkaOnOurs, way: Callable[[KafkaOnOurs], tuple[str, str]]
) -> None:
    leader = cluster.leader()
    everybody = set(cluster.ours.controllers)
    gone = min(everybody - {leader.node_id})
    _await_registered(leader, everybody)
    cluster.ours.controllers[gone].kill()
    words = ("unregister-controller", *way(cluster), "--id")
    out = cluster.tools.run("cluster", *words, str(gone))
    assert f"Controller {gone} is no longer registered." in out
    assert _registered(leader) == everybody - {gone}
    for controller_id, error in (
        (gone, "ControllerIdNotRegisteredException"),
        (leader.node_id, "InvalidRequestException"),
    ):
        status, out, err = cluster.tools.call("cluster", *words, str(controller_id))
        assert status != 0
        assert error in out + err
    cluster.ours.controllers[gone].start()
    _await_registered(leader, everybody)
