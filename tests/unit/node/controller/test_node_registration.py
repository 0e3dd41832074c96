"""A controller that registers itself again because another process with its node id did: less and less often."""

from __future__ import annotations

from metadata_log.ids import NodeId, Uuid, id_text
from metadata_log.records.levels import UNREGISTER_CONTROLLER_LEVEL
from metadata_log.voters import Endpoint
from quorum.api.calls import ClientAnswer
from quorum.api.controllers import UnregisterController, UnregisterControllerResponse
from quorum.node.controller.registration import registration_of
from quorum.node.core.ports import RequestRejected
from tests.support.node_cluster import Cluster
from tests.support.simulated_node import Node

MINUTES = 10
TWIN = registration_of(1, Uuid(b"\x77" * 16), (Endpoint(name="GRPC", host="elsewhere", port=9094),))


def _registered(leader: Node) -> Uuid | None:
    known = leader.executor.image.cluster.controllers.get(NodeId(1))
    return None if known is None else known.incarnation_id


def _warnings(cluster: Cluster) -> list[RequestRejected]:
    told = (event for event in cluster.node(1).events if isinstance(event, RequestRejected))
    return [event for event in told if event.request == "RegisterController"]


def test_two_controllers_with_one_node_id_register_themselves_ever_more_rarely() -> None:
    """The other node is as quick as can be. Without the pauses, each round trip would append a record, forever."""
    cluster = Cluster(seed=5)
    cluster.start()
    leader = cluster.elect()
    times = 0
    end_ms = cluster.now_ms + MINUTES * 60_000
    while cluster.now_ms < end_ms:
        cluster.run_until(lambda: _registered(leader) not in (None, TWIN.incarnation_id), within_ms=61_000)
        times += 1
        assert times < 12 + MINUTES, f"within {cluster.now_ms} ms"
        leader.call(TWIN, lambda answer: None)
        cluster.run_until(lambda: _registered(leader) == TWIN.incarnation_id)
    (told,) = _warnings(cluster)
    assert told.why.startswith("two processes have that node.id: stop the wrong one")
    assert told.why.endswith(f"incarnation {id_text(TWIN.incarnation_id)} at GRPC://elsewhere:9094")


def test_what_a_former_process_asked_late_is_no_second_process() -> None:
    cluster = Cluster(seed=5)
    cluster.start()
    leader = cluster.elect()
    cluster.run_until(lambda: _registered(leader) is not None)
    own = _registered(leader)
    leader.call(TWIN, lambda answer: None)
    cluster.run_until(lambda: _registered(leader) == TWIN.incarnation_id)
    cluster.run_until(lambda: _registered(leader) == own, within_ms=2_000)
    assert _warnings(cluster) == []


def test_a_running_controller_that_was_unregistered_registers_once_more_and_no_more() -> None:
    cluster = Cluster(seed=5, level=UNREGISTER_CONTROLLER_LEVEL)
    cluster.start()
    leader = cluster.elect()
    cluster.run_until(lambda: len(leader.executor.image.cluster.controllers) == len(cluster.nodes))
    before = leader.executor.image.cluster.controllers
    other = next(node_id for node_id in before if node_id != leader.node_id)
    answers: list[ClientAnswer] = []
    leader.call(UnregisterController(controller_id=other), answers.append)
    cluster.run_until(lambda: bool(answers))
    assert answers[0].response == UnregisterControllerResponse()
    assert other not in leader.executor.image.cluster.controllers
    cluster.run_until(lambda: other in leader.executor.image.cluster.controllers, within_ms=1_000)
    again = leader.executor.image.cluster
    assert again.controllers[other] == before[other]
    cluster.run_for(MINUTES * 60_000)
    assert leader.executor.image.cluster is again, "nobody registered since"
    assert not [event for event in cluster.node(other).events if isinstance(event, RequestRejected)]
