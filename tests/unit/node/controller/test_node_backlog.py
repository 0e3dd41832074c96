"""Requests of clients get only a part of a turn, so that Raft is never late, however many arrive at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from quorum.api.calls import ClientAnswer, ClientCall
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.api.topics import CreateTopics, DescribeTopics
from quorum.controller.machine import ControllerMachine
from quorum.node.controller.backlog import TURN_MS, Backlog
from quorum.node.controller.reads import ImageReader
from quorum.node.core.executor import Executor
from quorum.node.core.ports import Event, Ports
from quorum.raft.inputs import Clock
from tests.support.errors_in import errors_in
from tests.support.node_cluster import Cluster
from tests.support.node_requests import create_request
from tests.support.simulated_node import Node


class _Steps:
    """Each look at it, `step_ms` have passed."""

    def __init__(self, step_ms: int) -> None:
        self._step_ms, self._now_ms = step_ms, 0

    def now(self) -> Clock:
        self._now_ms += self._step_ms
        return Clock(monotonic_ms=self._now_ms, wall_ms=self._now_ms)


def _backlog(step_ms: int) -> Backlog:
    nobody: Any = None
    return Backlog(Ports(disk=nobody, network=nobody, clock=_Steps(step_ms), entropy=nobody))


def _call(name: object) -> ClientCall:
    return ClientCall(request=name, context=RequestContext(), respond=lambda answer: None)


def _taken(backlog: Backlog) -> list[tuple[object, bool]]:
    return [(call.request, is_due) for call, is_due in backlog.take()]


@pytest.mark.parametrize(("step_ms", "expected"), [(0, 9), (TURN_MS // 4, 4), (TURN_MS, 1), (50 * TURN_MS, 1)])
def test_a_turn_takes_one_request_at_least_and_begins_with_none_once_its_time_is_over(
    step_ms: int, expected: int
) -> None:
    backlog = _backlog(step_ms)
    backlog.add(map(_call, range(9)))
    assert _taken(backlog) == [(number, False) for number in range(expected)]
    assert len(backlog) == 9 - expected
    backlog.add([_call("new")])
    left = [*range(expected, 9), "new"]
    while backlog:
        for name, _ in _taken(backlog):
            assert name == left.pop(0)
    assert not left


def test_reads_that_wait_for_nothing_go_first() -> None:
    backlog = _backlog(0)
    backlog.add([_call("write")])
    backlog.add_read(_call("read"))
    assert _taken(backlog) == [("read", True), ("write", False)]
    assert not backlog


def test_what_is_left_when_there_is_no_next_turn_is_given_back() -> None:
    backlog = _backlog(0)
    backlog.add([_call("one"), _call("two")])
    backlog.add_read(_call("read"))
    assert [call.request for call in backlog.take_all()] == ["read", "one", "two"]
    assert not backlog


def _led(monkeypatch: pytest.MonkeyPatch, cost_ms: int) -> tuple[Cluster, Node]:
    """A leader to which each creation and each description costs so much of the cluster's time."""
    cluster = Cluster(3, seed=1)
    cluster.start()
    leader = cluster.elect()
    cluster.add_broker()

    def costly(owner: type, name: str, kind: type) -> None:
        method = getattr(owner, name)

        def wrapped(self: object, request: object, *arguments: object) -> object:
            cluster.now_ms += cost_ms if isinstance(request, kind) else 0
            return method(self, request, *arguments)

        monkeypatch.setattr(owner, name, wrapped)

    costly(ControllerMachine, "on_request", CreateTopics)
    costly(ImageReader, "read", DescribeTopics)
    return cluster, leader


@pytest.mark.parametrize(
    "request_of", [lambda number: create_request(f"t{number}"), lambda number: DescribeTopics(names=("none",))]
)
def test_raft_has_its_word_between_any_two_costly_requests(request_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, leader = _led(monkeypatch, cost_ms=300)
    turns_ms: list[int] = []
    turn = Executor.turn

    def timed(self: Executor, events: Iterable[Event]) -> None:
        began = cluster.now_ms
        turn(self, events)
        turns_ms.append(cluster.now_ms - began)

    monkeypatch.setattr(Executor, "turn", timed)
    answers: list[ClientAnswer] = []
    context = RequestContext(deadline_ms=cluster.now_ms + 60_000)
    leader.turn([ClientCall(request=request_of(n), context=context, respond=answers.append) for n in range(40)])
    cluster.run_until(lambda: len(answers) == 40)
    assert {answer.error for answer in answers} == {Error.NONE}
    assert max(turns_ms) == 300
    cluster.check()


def test_a_request_whose_turn_does_not_come_in_time_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, leader = _led(monkeypatch, cost_ms=300)
    answers: list[ClientAnswer] = []
    in_time = RequestContext(deadline_ms=cluster.now_ms + 60_000)
    late = msgspec.structs.replace(in_time, deadline_ms=cluster.now_ms + 200)
    leader.turn(
        [
            ClientCall(request=create_request(name), context=context, respond=answers.append)
            for name, context in (("a", in_time), ("b", late), ("c", in_time))
        ]
    )
    cluster.run_until(lambda: len(answers) == 3)
    refused = [errors_in(answer) for answer in answers]
    assert {Error.REQUEST_TIMED_OUT} in refused
    assert refused.count({Error.NONE}) == 2
    assert {"a", "c"} == {"a", "b", "c"} & set(leader.executor.image.topics.by_name)
    cluster.check()
