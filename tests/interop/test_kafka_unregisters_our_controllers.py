"""`kafka-cluster unregister-controller` of Kafka 4.4: by our controllers, by a broker, in a quorum of both kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metadata_log.format.batch import batch_values, check_batch
from metadata_log.ids import NodeId
from metadata_log.records import UnregisterControllerRecord, decode_record
from quorum.cli.demo.cluster import Node, wait_until
from tests.support.kafka.mixed import MixedQuorum
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


def _hand_over_to(quorum: MixedQuorum, java: int) -> None:
    """Another voter may win an election that runs at the same moment: then it is tried again."""

    def leads() -> bool:
        return quorum.let_ours_lead() and quorum.kraft("quorum", "transfer", "--to", str(java))[0] == 0

    wait_until(f"Java controller {java} to lead", leads, timeout_s=60)


def _unregister(quorum: MixedQuorum, node_id: int) -> None:
    """Ask until the tool finds the leader: right after a transfer it may ask the former one, and fails."""
    words = ("--bootstrap-controller", quorum.running_addresses, "--id", str(node_id))

    def is_done() -> bool:
        status, out, err = quorum.tools.call("cluster", "unregister-controller", *words)
        assert status == 0 or "NotControllerException" in err, out + err
        return f"Controller {node_id} is no longer registered." in out

    wait_until(f"controller {node_id} to be unregistered", is_done, timeout_s=60)


def _known_to(quorum: MixedQuorum, node_id: int) -> set[NodeId]:
    """The registrations in the log of this node, one of our controllers."""
    return set(read_history(quorum.log_dir(node_id) / "__cluster_metadata-0").image.cluster.controllers)


def _unregistered_so_far(quorum: MixedQuorum, node_id: int) -> list[int]:
    """The ids in the UnregisterControllerRecords of that log, in order."""
    history = read_history(quorum.log_dir(node_id) / "__cluster_metadata-0")
    found: list[int] = []
    for position in [0, *history.ends.values()][:-1]:
        header = check_batch(history.data, position)
        values = [] if header.is_control else batch_values(history.data, header, position)
        records = map(decode_record, values)
        found += [each.controller_id for each in records if isinstance(each, UnregisterControllerRecord)]
    return found


def _check_that_it_comes_back(quorum: MixedQuorum, node_id: int, witness: int) -> None:
    """A running controller that a leader of the other kind unregistered; `witness` is a third one, our own."""
    everybody = {1, 2, 3}
    wait_until("all to be registered", lambda: _known_to(quorum, witness) == everybody, timeout_s=60)
    _unregister(quorum, node_id)
    wait_until(
        "a second registration",
        lambda: _unregistered_so_far(quorum, witness)[-1:] == [node_id] and _known_to(quorum, witness) == everybody,
        timeout_s=60,
    )


def test_a_leader_of_either_kind_unregisters_a_controller_of_the_other(tmp_path: Path, kafka_tools: KafkaTools) -> None:
    with MixedQuorum(tmp_path, kafka_tools, java=(1,), ours=(2, 3), brokers=()) as quorum:
        quorum.format()
        quorum.start(1, 2, 3)
        leader = quorum.let_ours_lead()
        _check_that_it_comes_back(quorum, 1, leader)
        _hand_over_to(quorum, 1)
        _check_that_it_comes_back(quorum, 2, 3)
        quorum.ours[2].kill()
        _unregister(quorum, 2)
        wait_until("controller 3 to know", lambda: _known_to(quorum, 3) == {1, 3}, timeout_s=60)
