"""An agent is ready once the controller has let it in, and says why as long as it is not."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest

from broker_agent.lifecycle import Lifecycle
from broker_agent.readiness import ClusterIdCheck, Readiness, RegistrationCheck
from metadata_log.ids import parse_topic_id
from quorum.api.error_codes import Error
from quorum.node.core.log_fence import Hold, HoldReason
from quorum.node.core.ports import RequestRejected
from quorum.node.core.view import NodeView
from quorum.node.process.health import Check, are_ok, check_ready
from tests.support.node_view import FOLLOWER

VIEW = msgspec.structs.replace(FOLLOWER, node_id=11, cluster_id="ours", is_voter=False, heard_age_ms=10)


def _beat(life: Lifecycle, now_ms: int, *, fenced: bool) -> None:
    assert life.next_send(now_ms, 9) is not None
    life.on_heartbeat(now_ms, Error.NONE, is_caught_up=True, is_fenced=fenced, should_shut_down=False)


def _one(source: RegistrationCheck | ClusterIdCheck, view: NodeView = VIEW) -> Check:
    (check,) = source(view)
    return check


@pytest.mark.parametrize(
    ("error", "text", "hint"),
    [
        (Error.DUPLICATE_BROKER_REGISTRATION, "Another process is registered as broker 11.", "another node.id"),
        (Error.INCONSISTENT_CLUSTER_ID, "Expected cluster ID theirs", "controller.quorum.bootstrap.servers"),
        (Error.UNSUPPORTED_VERSION, "", "upgrade this agent"),
        (Error.INVALID_REGISTRATION, "It has 99 bytes", "it is asked again and again"),
    ],
)
def test_a_refused_registration_is_not_ready_with_the_reason_and_heals(error: Error, text: str, hint: str) -> None:
    life = Lifecycle(heartbeat_interval_ms=2_000)
    check = RegistrationCheck(life)
    assert not _one(check).is_ok
    assert "no controller has answered" in _one(check).what
    assert life.next_send(0, -1) is not None
    life.on_registered(0, error, -1, text)
    refused = _one(check)
    assert (refused.name, refused.is_ok) == ("registered", False)
    assert error.name in refused.what
    assert text.rstrip(".") in refused.what
    assert hint in refused.what
    assert life.next_send(5_000, -1) is not None, "it goes on asking"
    life.on_registered(5_000, Error.NONE, 7)
    assert "fenced" in _one(check).what
    _beat(life, 5_000, fenced=True)
    _beat(life, 5_100, fenced=False)
    assert _one(check) == Check(name="registered", is_ok=True, what="as broker 11, epoch 7")


def test_an_agent_that_holds_asks_for_no_registration() -> None:
    held = Hold(
        reason=HoldReason.BELOW_COMMITTED,
        what="the other log lacks records",
        own_id=parse_topic_id("3FrfMA1fQTuK3xT8BGyFuA"),
        other_id=None,
    )
    view = msgspec.structs.replace(VIEW, held=held)

    said = _one(RegistrationCheck(Lifecycle(heartbeat_interval_ms=2_000)), view)
    assert not said.is_ok
    assert said.what.startswith("this agent holds, and asks no controller for a registration")
    (hold,) = (check for check in check_ready(view) if check.name == "log-of-this-quorum")
    assert hold.what == (
        "holds (below-committed-end): the other log lacks records; metadata topic id here 3FrfMA1fQTuK3xT8BGyFuA, "
        "the leader's not known"
    )


def test_a_refused_heartbeat_and_a_broker_that_is_fenced_again_are_not_ready() -> None:
    life = Lifecycle(heartbeat_interval_ms=2_000)
    check = RegistrationCheck(life)
    life.next_send(0, -1)
    life.on_registered(0, Error.NONE, 7)
    _beat(life, 0, fenced=True)
    _beat(life, 100, fenced=False)
    _beat(life, 3_000, fenced=True)
    assert _one(check).what == "the controller keeps it fenced"
    life.next_send(6_000, 9)
    life.on_heartbeat(
        6_000, Error.CLUSTER_AUTHORIZATION_FAILED, is_caught_up=False, is_fenced=True, should_shut_down=False
    )
    assert "refuses its heartbeats: CLUSTER_AUTHORIZATION_FAILED; grant it" in _one(check).what


def test_another_clusters_controllers_are_named_until_one_of_its_own_answers() -> None:
    now = [1_000]
    check = ClusterIdCheck("ours", lambda: now[0])
    assert _one(check) == Check(name="cluster-id", is_ok=True, what="ours")
    silent = msgspec.structs.replace(VIEW, heard_age_ms=None)
    refusal = RequestRejected(
        request="FetchRequest", error=Error.INCONSISTENT_CLUSTER_ID, why="", by_us=False, peer="bootstrap server 0"
    )
    check.on_event(msgspec.structs.replace(refusal, by_us=True))
    assert _one(check, silent).is_ok, "a stranger who asks this agent says nothing of it"
    check.on_event(refusal)
    now[0] = 3_000
    for view in (silent, msgspec.structs.replace(VIEW, heard_age_ms=2_500)):
        refused = _one(check, view)
        assert not refused.is_ok
        assert "the cluster.id in meta.properties of this agent's log directories is ours" in refused.what
        assert "bootstrap server 0 refuses it: it has another" in refused.what
        assert "Compare that id with ClusterId in `kraft quorum describe` of that controller" in refused.what
        assert "format no directory that holds data" in refused.what
    assert _one(check, msgspec.structs.replace(VIEW, heard_age_ms=1_999)).is_ok


def test_parts_add_checks_of_their_own() -> None:
    def held(view: NodeView) -> Iterable[Check]:
        yield Check(name="held", is_ok=False, what=f"node {view.node_id} waits")

    readiness = Readiness()
    assert are_ok(readiness.checks(VIEW))
    readiness.add(held)
    assert readiness.more(VIEW) == (Check(name="held", is_ok=False, what="node 11 waits"),)
    assert not are_ok(readiness.checks(VIEW))
