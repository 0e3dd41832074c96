"""UnregisterController: its checks, in Kafka's order, and its one record."""

from __future__ import annotations

import pytest

from metadata_log.ids import NodeId
from metadata_log.records import UnregisterControllerRecord
from metadata_log.records.levels import UNREGISTER_CONTROLLER_LEVEL
from quorum.api.context import RequestContext
from quorum.api.controllers import RegisterController, UnregisterController, UnregisterControllerResponse
from quorum.api.error_codes import Error
from tests.support.controller import EVE, ControlledCluster, uuid

ACTIVE, OTHER, UNKNOWN = 1, 4, 77


def _cluster(level: int = UNREGISTER_CONTROLLER_LEVEL) -> ControlledCluster:
    """Both controllers are registered."""
    cluster = ControlledCluster(level=level)
    for node_id in (ACTIVE, OTHER):
        cluster.ask(RegisterController(controller_id=node_id, incarnation_id=uuid(node_id), listeners=(), features=()))
    assert set(cluster.image.cluster.controllers) == {ACTIVE, OTHER}
    return cluster


def _error(cluster: ControlledCluster, controller_id: int, context: RequestContext | None = None) -> Error:
    """Ask; an error comes with a message and without a record."""
    result = cluster.ask(UnregisterController(controller_id=controller_id), context)
    response = result.response
    assert isinstance(response, UnregisterControllerResponse)
    assert (response.error is Error.NONE) == (response.error_message is None) == bool(result.records)
    return response.error


def test_the_registration_is_removed_by_one_record() -> None:
    cluster = _cluster()
    result = cluster.ask(UnregisterController(controller_id=OTHER))
    assert result.response == UnregisterControllerResponse()
    assert result.records == (UnregisterControllerRecord(controller_id=NodeId(OTHER)),)
    assert set(cluster.image.cluster.controllers) == {ACTIVE}


def test_a_second_request_finds_no_registration() -> None:
    cluster = _cluster()
    assert [_error(cluster, OTHER) for _ in range(2)] == [Error.NONE, Error.CONTROLLER_ID_NOT_REGISTERED]


def test_a_controller_registers_again_afterwards() -> None:
    cluster = _cluster()
    assert _error(cluster, OTHER) is Error.NONE
    cluster.ask(RegisterController(controller_id=OTHER, incarnation_id=uuid(OTHER), listeners=(), features=()))
    assert set(cluster.image.cluster.controllers) == {ACTIVE, OTHER}


@pytest.mark.parametrize("controller_id", [UNKNOWN, -1, (1 << 31) - 1])
def test_an_id_without_a_registration_is_rejected(controller_id: int) -> None:
    assert _error(_cluster(), controller_id) is Error.CONTROLLER_ID_NOT_REGISTERED


@pytest.mark.parametrize("controller_id", [OTHER, UNKNOWN])
def test_a_level_without_the_record_is_rejected(controller_id: int) -> None:
    cluster = _cluster(UNREGISTER_CONTROLLER_LEVEL - 1)
    assert _error(cluster, controller_id) is Error.UNSUPPORTED_VERSION
    assert OTHER in cluster.image.cluster.controllers


@pytest.mark.parametrize("level", [UNREGISTER_CONTROLLER_LEVEL - 1, UNREGISTER_CONTROLLER_LEVEL])
def test_the_active_controller_does_not_unregister_itself(level: int) -> None:
    assert _error(_cluster(level), ACTIVE) is Error.INVALID_REQUEST


@pytest.mark.parametrize("controller_id", [ACTIVE, OTHER, UNKNOWN])
def test_a_principal_without_the_right_learns_nothing(controller_id: int) -> None:
    assert _error(_cluster(), controller_id, EVE) is Error.CLUSTER_AUTHORIZATION_FAILED
