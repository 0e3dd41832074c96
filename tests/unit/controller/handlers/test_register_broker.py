"""RegisterBroker and RegisterController: who may register, with what epoch, and what it leaves in the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from metadata_log.ids import DirectoryId, id_text
from metadata_log.records import PartitionChangeRecord, RegisterBrokerRecord, RegisterControllerRecord
from quorum.api.brokers import FeatureRange, Listener, RegisterBroker, RegisterBrokerResponse
from quorum.api.context import RequestContext
from quorum.api.controllers import RegisterController, RegisterControllerResponse
from quorum.api.error_codes import Error
from quorum.controller.config import ControllerConfig
from quorum.controller.handlers.register_broker import MOST_DIRECTORIES
from tests.support.controller import CLUSTER_ID, ELR, EVE, FEATURES, ControlledCluster, directory, uuid


@pytest.fixture
def cluster() -> ControlledCluster:
    return ControlledCluster()


def feature(name: str, low: int, high: int) -> FeatureRange:
    return FeatureRange(name=name, min_supported_version=low, max_supported_version=high)


def test_a_broker_is_registered_fenced_under_its_records_offset(cluster: ControlledCluster) -> None:
    offset = cluster.next_offset
    response = cluster.register(11, rack="r1")
    assert (response.error, response.broker_epoch) == (Error.NONE, offset)
    record = cluster.log[-1]
    assert isinstance(record, RegisterBrokerRecord)
    assert (record.broker_epoch, record.fenced, record.rack) == (offset, True, "r1")
    assert record.log_dirs == (directory(11),)
    assert cluster.log.index(record) == offset


def test_below_3_7_directories_are_neither_asked_for_nor_written() -> None:
    cluster = ControlledCluster(level=14, elr=False)
    assert cluster.register(11, log_dirs=()).error is Error.NONE
    cluster.register(12)
    record = cluster.log[-1]
    assert isinstance(record, RegisterBrokerRecord)
    assert record.log_dirs == ()


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"cluster_id": "another"}, Error.INCONSISTENT_CLUSTER_ID),
        ({"log_dirs": ()}, Error.INVALID_REGISTRATION),
        ({"log_dirs": (DirectoryId(bytes(15) + b"\x05"),)}, Error.INVALID_REGISTRATION),
        ({"log_dirs": (directory(11), directory(11))}, Error.INVALID_REGISTRATION),
        ({"log_dirs": (directory(12),)}, Error.INVALID_REGISTRATION),
        ({"log_dirs": tuple(directory(1000 + n) for n in range(MOST_DIRECTORIES))}, Error.NONE),
        ({"log_dirs": tuple(directory(1000 + n) for n in range(MOST_DIRECTORIES + 1))}, Error.INVALID_REGISTRATION),
        ({"features": FEATURES[1:]}, Error.INVALID_REGISTRATION),
        ({"features": (feature("metadata.version", 7, 29), *FEATURES[1:])}, Error.UNSUPPORTED_VERSION),
        ({"features": (FEATURES[0], feature("kraft.version", 0, 0), FEATURES[2])}, Error.UNSUPPORTED_VERSION),
        ({"features": FEATURES[:2]}, Error.UNSUPPORTED_VERSION),
        ({"features": (*FEATURES, feature("new.version", 1, 2))}, Error.UNSUPPORTED_VERSION),
        ({"features": (*FEATURES, feature("new.version", -1, 2))}, Error.INVALID_REGISTRATION),
        ({"features": (*FEATURES, feature("new.version", 0, 2))}, Error.NONE),
        ({"listeners": (Listener(name="A", host="h", port=1),) * 2}, Error.INVALID_REGISTRATION),
        ({"listeners": (Listener(name="A", host="h", port=65536),)}, Error.INVALID_REGISTRATION),
        ({"listeners": (Listener(name="", host="h", port=1),)}, Error.INVALID_REGISTRATION),
        ({"listeners": (Listener(name="A", host="h", port=1, security_protocol=4),)}, Error.INVALID_REGISTRATION),
        ({"listeners": (Listener(name="A", host="h", port=1, security_protocol=-1),)}, Error.INVALID_REGISTRATION),
    ],
)
def test_what_a_registration_can_be_refused_for(
    cluster: ControlledCluster, fields: dict[str, object], error: Error
) -> None:
    cluster.register(12)
    before = cluster.next_offset
    response = cluster.register(11, **fields)
    assert response.error is error
    assert (response.broker_epoch == -1) == (error is not Error.NONE)
    assert (cluster.next_offset == before) == (error is not Error.NONE)


def test_a_broker_without_kraft_version_has_a_place_where_that_is_0(cluster: ControlledCluster) -> None:
    """No release before 3.9 names that feature."""
    features = (FEATURES[0], FEATURES[2])
    assert cluster.register(11, features=features).error is Error.UNSUPPORTED_VERSION
    cluster.machine.use_kraft_version(0)
    assert cluster.register(11, features=features).error is Error.NONE
    cluster.machine.use_kraft_version(1)
    assert cluster.register(12, features=features).error is Error.UNSUPPORTED_VERSION


@pytest.mark.parametrize("broker_id", [-1, -2, -(1 << 31)])
def test_an_id_below_zero_is_nobodys(cluster: ControlledCluster, broker_id: int) -> None:
    before = cluster.next_offset
    response = cluster.register(broker_id, log_dirs=(directory(11),))
    assert (response.error, cluster.next_offset) == (Error.INVALID_REQUEST, before)
    assert str(broker_id) in (response.error_message or "")


def test_a_named_principal_may_not_register(cluster: ControlledCluster) -> None:
    request = RegisterBroker(
        broker_id=11, cluster_id=CLUSTER_ID, incarnation_id=uuid(1), listeners=(), features=FEATURES
    )
    response = cluster.ask(request, EVE).response
    assert isinstance(response, RegisterBrokerResponse)
    assert response.error is Error.CLUSTER_AUTHORIZATION_FAILED


def test_the_same_process_may_register_again_and_keeps_its_epoch(cluster: ControlledCluster) -> None:
    first = cluster.register(11)
    cluster.beat(11)
    again = cluster.register(11, rack="moved")
    assert (again.error, again.broker_epoch) == (Error.NONE, first.broker_epoch)
    broker = cluster.image.cluster.brokers[11]  # type: ignore[index]
    assert (broker.fenced, broker.rack) == (False, "moved")


def test_after_registering_again_it_has_to_catch_up_again(cluster: ControlledCluster) -> None:
    cluster.register(11)
    cluster.register(11)
    assert not cluster.beat(11, current_metadata_offset=cluster.last_offset - 1).is_caught_up
    assert cluster.beat(11, current_metadata_offset=cluster.last_offset).is_caught_up


def test_another_process_has_to_wait_until_the_first_is_stale(cluster: ControlledCluster) -> None:
    cluster.start(11)
    refused = cluster.register(11, incarnation=99)
    assert refused.error is Error.DUPLICATE_BROKER_REGISTRATION
    for part in ("node.id 11", id_text(uuid(11)), "PLAINTEXT://127.0.0.1:9011", "stop the wrong one", "9000 ms"):
        assert part in (refused.error_message or "")
    cluster.elapse(9_000)
    assert cluster.register(11, incarnation=99).error is Error.DUPLICATE_BROKER_REGISTRATION
    cluster.elapse(1)
    assert cluster.register(11, incarnation=99).error is Error.NONE


def test_a_process_that_never_was_heard_of_again_does_not_hold_the_id(cluster: ControlledCluster) -> None:
    cluster.register(11)
    assert cluster.register(11, incarnation=99).error is Error.NONE


def test_after_a_failover_the_unfenced_count_as_heard_of_and_the_fenced_do_not(cluster: ControlledCluster) -> None:
    cluster.start(11)
    cluster.register(12)
    cluster.beat(12, want_fence=True)
    cluster.fail_over()
    assert cluster.register(11, incarnation=99).error is Error.DUPLICATE_BROKER_REGISTRATION
    assert cluster.register(12, incarnation=99).error is Error.NONE


def test_a_process_that_was_let_go_does_not_hold_the_id(cluster: ControlledCluster) -> None:
    cluster.start(11)
    assert cluster.beat(11, want_shut_down=True).should_shut_down
    assert cluster.register(11, incarnation=99).error is Error.NONE


@dataclass(frozen=True)
class Restart:
    elr: bool
    clean: bool
    isr: tuple[int, ...]
    eligible: tuple[int, ...]


@pytest.mark.parametrize(
    "restart",
    [
        Restart(elr=True, clean=True, isr=(), eligible=(11,)),
        Restart(elr=True, clean=False, isr=(), eligible=()),
        Restart(elr=False, clean=True, isr=(11,), eligible=()),
        Restart(elr=False, clean=False, isr=(11,), eligible=()),
    ],
)
def test_a_new_process_cleans_up_after_the_old_one(restart: Restart) -> None:
    cluster = ControlledCluster(elr=restart.elr)
    cluster.start(11, 12)
    alone_id, shared_id = cluster.place("alone", (11,)), cluster.place("shared", (11, 12))
    epoch = cluster.image.cluster.brokers[11].epoch  # type: ignore[index]
    cluster.elapse(9_001)
    cluster.beat(12)
    before = cluster.next_offset
    response = cluster.register(11, incarnation=99, previous_broker_epoch=epoch if restart.clean else -1)
    changes, registration = cluster.log[before:-1], cluster.log[-1]
    assert all(isinstance(change, PartitionChangeRecord) for change in changes)
    assert len(changes) == 2
    assert isinstance(registration, RegisterBrokerRecord)
    assert response.broker_epoch == registration.broker_epoch == cluster.last_offset
    alone, shared = cluster.partition(alone_id), cluster.partition(shared_id)
    assert (alone.leader, alone.isr, alone.elr) == (-1, restart.isr, restart.eligible)
    assert (shared.leader, shared.isr, shared.elr) == (12, (12,), ())


def test_an_unclean_restart_also_ends_eligibility(cluster: ControlledCluster) -> None:
    cluster.start(11, 12)
    topic_id = cluster.place("two", (11, 12), configs={"min.insync.replicas": "2"})
    cluster.beat(11, want_fence=True)
    assert cluster.partition(topic_id).elr == (11,)
    cluster.elapse(9_001)
    cluster.beat(12)
    cluster.register(11, incarnation=99)
    assert (cluster.partition(topic_id).isr, cluster.partition(topic_id).elr) == ((12,), ())


# --- controllers


def controller(incarnation: int, *, port: int = 9094) -> RegisterController:
    return RegisterController(
        controller_id=1,
        incarnation_id=uuid(incarnation),
        listeners=(
            Listener(name="GRPC", host="c1", port=port),
            Listener(name="CONTROLLER", host="c1", port=9093),
        ),
        features=(feature("metadata.version", 7, 30), feature(ELR, 0, 1)),
    )


def ask(cluster: ControlledCluster, request: RegisterController, context: RequestContext | None = None) -> Error:
    response = cluster.ask(request, context).response
    assert isinstance(response, RegisterControllerResponse)
    return response.error


def test_a_controller_is_registered_once_for_each_start_or_change(cluster: ControlledCluster) -> None:
    before = cluster.next_offset
    for request in (controller(1), controller(1), controller(2), controller(2, port=9095), controller(2, port=9095)):
        assert ask(cluster, request) is Error.NONE
    records = cluster.log[before:]
    assert [type(record) for record in records] == [RegisterControllerRecord] * 3
    known = cluster.image.cluster.controllers[1]  # type: ignore[index]
    listener = known.listener("GRPC")
    assert listener is not None
    assert listener.port == 9095


@pytest.mark.parametrize(
    "listener", [Listener(name="", host="h", port=1), Listener(name="A", host="h", port=1, security_protocol=7)]
)
def test_a_controller_of_a_listener_that_no_image_holds_is_refused(
    cluster: ControlledCluster, listener: Listener
) -> None:
    before = cluster.next_offset
    assert ask(cluster, msgspec.structs.replace(controller(1), listeners=(listener,))) is Error.INVALID_REGISTRATION
    assert cluster.next_offset == before


@pytest.mark.parametrize("controller_id", [-1, -(1 << 31)])
def test_a_controller_below_zero_is_nobody(cluster: ControlledCluster, controller_id: int) -> None:
    before = cluster.next_offset
    request = msgspec.structs.replace(controller(1), controller_id=controller_id)
    assert ask(cluster, request) is Error.INVALID_REQUEST
    assert cluster.next_offset == before


@pytest.mark.parametrize(
    "nonsense",
    [
        {"features": (feature("metadata.version", -9, -5),)},
        {"features": (feature("metadata.version", -1, 30),)},
        {"features": (feature("metadata.version", 30, 7),)},
        {"listeners": (Listener(name="CONTROLLER", host="", port=9093),)},
        {"listeners": (Listener(name="CONTROLLER", host="c1", port=0),)},
        {"listeners": (Listener(name="CONTROLLER", host="c1", port=65_536),)},
    ],
)
def test_what_no_controller_says_of_itself_is_refused(cluster: ControlledCluster, nonsense: dict[str, Any]) -> None:
    before = cluster.next_offset
    assert ask(cluster, msgspec.structs.replace(controller(1), **nonsense)) is Error.INVALID_REQUEST
    assert cluster.next_offset == before


def test_a_controller_cannot_be_registered_below_3_7() -> None:
    cluster = ControlledCluster(level=14, elr=False)
    assert ask(cluster, controller(1)) is Error.UNSUPPORTED_VERSION


def test_a_named_principal_may_not_register_a_controller(cluster: ControlledCluster) -> None:
    assert ask(cluster, controller(1), EVE) is Error.CLUSTER_AUTHORIZATION_FAILED


def test_what_a_dead_process_leaves_behind_is_cleaned_up_over_turns_and_the_next_is_let_in_then() -> None:
    config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_sweep=4)
    cluster = ControlledCluster(config=config)
    cluster.start(11, 12)
    topics = [cluster.place(f"t{index}", (11, 12)) for index in range(10)]
    cluster.settle()
    cluster.elapse(9_001)
    cluster.beat(12)
    before = cluster.image.cluster.brokers[11].epoch  # type: ignore[index]
    response = cluster.register(11, incarnation=99)
    assert response.error is Error.DUPLICATE_BROKER_REGISTRATION
    assert sum(cluster.partition(topic_id).isr == (12,) for topic_id in topics) == 4
    cluster.settle()
    assert cluster.register(11, incarnation=99).broker_epoch > before
    assert all(cluster.partition(topic_id).isr == (12,) for topic_id in topics)
