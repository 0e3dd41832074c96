"""A new level of a feature is judged by the voters and the controllers that live, not by registrations of the past."""

from __future__ import annotations

from metadata_log.ids import NodeId, Uuid
from metadata_log.image.features import METADATA_VERSION
from metadata_log.records.levels import CONTROLLER_REGISTRATION_LEVEL, level_name
from quorum.api.brokers import FeatureRange
from quorum.api.calls import ClientAnswer
from quorum.api.controllers import RegisterController
from quorum.api.error_codes import Error
from quorum.api.features import FeatureUpdate, UpdateFeatures, UpdateFeaturesResponse
from tests.support.node_cluster import Cluster
from tests.support.simulated_node import Node

OLD, NEW = CONTROLLER_REGISTRATION_LEVEL, CONTROLLER_REGISTRATION_LEVEL + 1
SESSION_MS = 9_000


def _asked(cluster: Cluster, leader: Node, request: RegisterController | UpdateFeatures) -> object:
    answers: list[ClientAnswer] = []
    leader.call(request, answers.append)
    cluster.run_until(lambda: bool(answers))
    return answers[0].response


def _update(cluster: Cluster, leader: Node) -> UpdateFeaturesResponse:
    update = FeatureUpdate(name=METADATA_VERSION, level=NEW, upgrade_type=1)
    said = _asked(cluster, leader, UpdateFeatures(updates=(update,), validate_only=True))
    assert isinstance(said, UpdateFeaturesResponse)
    return said


def test_a_controller_bars_a_level_until_it_was_silent_for_the_session_timeout() -> None:
    cluster = Cluster(seed=5, level=OLD)
    cluster.session_timeout_ms = SESSION_MS
    observer = cluster.add_observer()
    cluster.start()
    leader = cluster.elect()
    cluster.run_until(lambda: len(leader.executor.image.cluster.controllers) == 3)
    observer_id = observer.voter.key.node_id
    older = FeatureRange(name=METADATA_VERSION, min_supported_version=1, max_supported_version=OLD)
    for node_id in (observer_id, 9):
        registration = RegisterController(
            controller_id=node_id, incarnation_id=Uuid(bytes([node_id]) * 16), listeners=(), features=(older,)
        )
        _asked(cluster, leader, registration)
    cluster.run_for(2 * SESSION_MS)
    said = _update(cluster, leader)
    assert said.error is Error.INVALID_UPDATE_VERSION
    assert f"Controller {observer_id} only supports 3.0-IV1 (1) to {level_name(OLD)}" in (said.error_message or "")
    observer.crash()
    cluster.run_for(SESSION_MS + 1)
    assert leader is cluster.leader
    assert {NodeId(9), observer_id} < set(leader.executor.image.cluster.controllers)
    assert _update(cluster, leader) == UpdateFeaturesResponse()
