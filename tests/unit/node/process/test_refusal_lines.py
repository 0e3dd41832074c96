"""The budget of lines about refusals: what strangers do is counted, and fills no disk."""

from __future__ import annotations

import io
import json

from quorum.api.error_codes import Error
from quorum.node.core.ports import RequestRejected
from quorum.node.process.log_lines import LogWatcher
from quorum.node.process.metrics import NodeMetrics
from quorum.node.process.refusals import LINES_AT_ONCE, Refusals
from tests.support.scripted_node import ScriptedNode
from tests.support.timers import Timers


def _vote_of(peer: str) -> RequestRejected:
    return RequestRejected(
        request="VoteRequest", error=Error.INVALID_REQUEST, why="no voter here", by_us=True, peer=peer
    )


def test_three_thousand_refusals_of_invented_names_write_less_than_20_kb(stream: io.StringIO) -> None:
    time = Timers()
    refusals = Refusals(1, time.now, time.later)
    watcher = LogWatcher(1, time.now, time.later, refusals)
    for number in range(3_000):
        watcher.on_event(_vote_of(f"{number} ({'x' * 5_000})"))
        time.advance(0.002)
    time.advance(2.0)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert len(stream.getvalue()) < 20_000
    written = sum(line["event"] == "refusal" for line in lines)
    assert LINES_AT_ONCE <= written < 40
    assert sum(line.get("more", 0) for line in lines) == refusals.left_out == 3_000 - written


def test_closed_connections_and_refusals_share_the_budget(stream: io.StringIO) -> None:
    time = Timers()
    refusals = Refusals(1, time.now, time.later)
    watcher = LogWatcher(1, time.now, time.later, refusals)
    for number in range(LINES_AT_ONCE):
        refusals.closed("CONTROLLER", "limit", f"10.0.0.{number}", "there are too many connections")
    watcher.on_event(_vote_of("7"))
    assert len(stream.getvalue().splitlines()) == LINES_AT_ONCE
    time.advance(1.0)
    assert json.loads(stream.getvalue().splitlines()[-1])["more"] == 1
    watcher.on_event(_vote_of("8"))
    assert json.loads(stream.getvalue().splitlines()[-1])["peer"] == "8"
    text = NodeMetrics(refusals).render(ScriptedNode().view()).decode()
    assert f'kraft_connections_refused_total{{listener="CONTROLLER",reason="limit"}} {LINES_AT_ONCE}.0' in text
    assert "kraft_refusal_lines_left_out_total 1.0" in text
