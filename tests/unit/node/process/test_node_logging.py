from __future__ import annotations

import errno
import io
import json
from collections.abc import Callable

import pytest
import structlog

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset
from quorum.api.error_codes import Error
from quorum.node.config.node_config import config_of
from quorum.node.core.peer_failures import FailureKind, PeerFailure, PeersReached, UnreachedPeer, VotersUnreached
from quorum.node.core.ports import ControllerActivated, ControllerDeactivated, RequestRejected, RoleChanged
from quorum.node.process.log_lines import (
    REFUSAL_EVERY_S,
    SETTLED_S,
    LogWatcher,
    configure_logging,
    log_config,
    warn_of_plaintext,
)


@pytest.fixture
def _restored() -> object:
    yield None
    structlog.reset_defaults()


@pytest.mark.usefixtures("_restored")
def test_one_line_a_transition_and_one_a_refusal_with_the_same_fields_in_the_same_order() -> None:
    stream = io.StringIO()
    configure_logging(as_json=True, stream=stream)
    watcher = LogWatcher(3)
    for epoch in (4, 5):
        watcher.on_event(
            RoleChanged(
                role="follower",
                epoch=Epoch(epoch),
                leader_id=1,
                leader_endpoints=(),
                log_end_offset=Offset(9),
                high_watermark=Offset(8),
                cause="RequestReceived",
            )
        )
    watcher.on_event(
        RequestRejected(request="FetchRequest", error=Error.UNKNOWN_TOPIC_ID, why="no", by_us=True, peer="2")
    )
    watcher.on_event(ControllerActivated(epoch=Epoch(5)))
    watcher.on_event(ControllerDeactivated(epoch=Epoch(5), unknown_outcomes=2))
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["event"] for line in lines] == [
        "transition",
        "transition",
        "refusal",
        "active controller",
        "standby controller",
    ]
    assert list(lines[0]) == list(lines[1])
    assert lines[0]["epoch"] == 4
    assert (lines[2]["error"], lines[2]["level"], lines[2]["node_id"]) == ("UNKNOWN_TOPIC_ID", "warning", 3)
    assert lines[4]["unknown_outcomes"] == 2


@pytest.mark.usefixtures("_restored")
def test_the_level_bounds_what_is_written() -> None:
    stream = io.StringIO()
    configure_logging(level="WARNING", stream=stream)
    LogWatcher(1).on_event(ControllerActivated(epoch=Epoch(1)))
    LogWatcher(1).on_event(
        RequestRejected(
            request="FetchRequest", error=Error.UNKNOWN_TOPIC_ID, why="no", by_us=True, peer="2", passes=True
        )
    )
    assert stream.getvalue() == ""


@pytest.mark.usefixtures("_restored")
def test_one_line_lists_all_keys_that_are_not_used() -> None:
    stream = io.StringIO()
    configure_logging(as_json=True, stream=stream)
    given = {"process.roles": "controller", "node.id": "1", "listeners": "CONTROLLER://localhost:1", "log.dirs": "/d"}
    log_config(config_of({**given, "num.io.threads": "8", "log.segment.bytes": "1", "log.segment.byte": "1"}))
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["event"], line["level"], line["node_id"]) for line in lines] == [
        ("configuration", "warning", 1),
        ("configuration", "info", 1),
        ("keys not used", "info", 1),
    ]
    assert lines[0]["what"] == "unknown key log.segment.byte is ignored: did you mean log.segment.bytes?"
    assert lines[1]["what"].startswith("listens at GRPC://localhost:2: listeners has no GRPC")
    assert lines[2]["keys"] == "log.segment.bytes,num.io.threads"
    log_config(config_of({**given, "listeners": "CONTROLLER://localhost:1,GRPC://localhost:2"}))
    assert len(stream.getvalue().splitlines()) == len(lines)


def test_an_unknown_level_is_named() -> None:
    with pytest.raises(ValueError, match="log level 'LOUD' is not one of DEBUG, INFO"):
        configure_logging(level="LOUD")


@pytest.mark.usefixtures("_restored")
def test_a_node_that_goes_to_and_fro_does_not_fill_the_log() -> None:
    stream = io.StringIO()
    configure_logging(as_json=True, stream=stream)
    watcher = LogWatcher(1, later=lambda _delay_s, _call: None)
    for epoch in (3, 4):
        for _ in range(100):
            for role in ("prospective", "unattached"):
                watcher.on_event(_changed(role, epoch))
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    of_one = [line["times"] for line in lines if (line["epoch"], line["role"]) == (4, "prospective")]
    assert of_one == [1, 2, 4, 8, 16, 32, 64]
    assert len(lines) == 4 * len(of_one)


def _changed(role: str, epoch: int) -> RoleChanged:
    return RoleChanged(
        role=role,
        epoch=Epoch(epoch),
        leader_id=None,
        leader_endpoints=(),
        log_end_offset=Offset(0),
        high_watermark=Offset(0),
        cause="Elapsed",
    )


class _Timers:
    """A clock that a test moves on, and what waits for it."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._waiting: list[tuple[float, Callable[[], object]]] = []

    def later(self, delay_s: float, call: Callable[[], object]) -> None:
        self._waiting.append((self.now_s + delay_s, call))

    def move_on(self, by_s: float) -> None:
        self.now_s += by_s
        while due := [one for one in self._waiting if one[0] <= self.now_s]:
            self._waiting.remove(due[0])
            due[0][1]()


@pytest.mark.usefixtures("_restored")
def test_the_logs_last_word_is_the_state_that_a_node_settled_in() -> None:
    stream, timers = io.StringIO(), _Timers()
    configure_logging(as_json=True, stream=stream)
    watcher = LogWatcher(1, lambda: timers.now_s, timers.later)
    for _ in range(5):
        for role in ("prospective", "follower"):
            watcher.on_event(_changed(role, 1))
            timers.move_on(0.02)
    timers.move_on(SETTLED_S)
    timers.move_on(1000.0)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["event"], line["role"], line["times"]) for line in lines[-2:]] == [
        ("transition", "follower", 4),
        ("settled", "follower", 5),
    ]
    assert list(lines[-1]) == list(lines[-2])


@pytest.mark.usefixtures("_restored")
def test_a_node_that_never_settles_for_good_says_so_less_and_less_often() -> None:
    stream, timers = io.StringIO(), _Timers()
    configure_logging(as_json=True, stream=stream)
    watcher = LogWatcher(1, lambda: timers.now_s, timers.later)
    for _ in range(1000):
        for role in ("prospective", "unattached"):
            watcher.on_event(_changed(role, 1))
            timers.move_on(10.0)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert len([line for line in lines if line["event"] == "settled"]) == 4


@pytest.mark.usefixtures("_restored")
def test_a_refusal_that_goes_on_is_written_once_a_minute_and_counted() -> None:
    stream, now_s = io.StringIO(), [100.0]
    configure_logging(as_json=True, stream=stream)
    watcher = LogWatcher(1, lambda: now_s[0])
    for peer in ("9@10.0.0.9", "8@10.0.0.8"):
        event = RequestRejected(
            request="FetchRequest", error=Error.INCONSISTENT_CLUSTER_ID, why="no", by_us=True, peer=peer
        )
        for _ in range(50):
            watcher.on_event(event)
        now_s[0] += REFUSAL_EVERY_S
        watcher.on_event(event)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["peer"], line["times"]) for line in lines] == [
        ("9@10.0.0.9", 1),
        ("9@10.0.0.9", 50),
        ("8@10.0.0.8", 1),
        ("8@10.0.0.8", 50),
    ]


@pytest.mark.usefixtures("_restored")
def test_what_refusals_are_remembered_is_bounded() -> None:
    stream = io.StringIO()
    configure_logging(as_json=True, stream=stream)
    watcher = LogWatcher(1, later=lambda _delay_s, _call: None)
    for number in range(2500):
        peer = f"{number}@10.0.0.9"
        watcher.on_event(
            RequestRejected(request="VoteRequest", error=Error.UNKNOWN_TOPIC_ID, why="no", by_us=True, peer=peer)
        )
    assert len(watcher._refusals) <= 1000


@pytest.mark.usefixtures("_restored")
def test_a_lost_majority_is_a_warning_that_names_each_missing_voter_and_the_reason() -> None:
    stream = io.StringIO()
    configure_logging(as_json=True, stream=stream)
    keys = [ReplicaKey(node_id=NodeId(n), directory_id=DirectoryId(bytes([n]) * 16)) for n in (2, 3)]
    failures = [
        PeerFailure(kind=FailureKind.REFUSED, address="c2:9093"),
        PeerFailure(kind=FailureKind.UNKNOWN_NAME, address="c3:9093", detail="Name or service not known"),
    ]
    missing = tuple(UnreachedPeer(peer=key, failure=failure) for key, failure in zip(keys, failures, strict=True))
    watcher = LogWatcher(1)
    watcher.on_event(VotersUnreached(missing=missing, voters=3))
    watcher.on_event(PeersReached(leader_id=NodeId(2)))
    line, reached = (json.loads(text) for text in stream.getvalue().splitlines())
    assert (line["event"], line["level"], line["missing"]) == ("no majority", "warning", [str(key) for key in keys])
    assert line["why"] == ["2 at c2:9093: connection refused", "3 at c3:9093: Name or service not known"]
    assert (reached["event"], reached["level"], reached["leader_id"]) == ("peers reached", "info", 2)
    assert line["what"] == "2 of 3 voters are needed: until then no write can be acknowledged"


@pytest.mark.usefixtures("_restored")
@pytest.mark.parametrize(
    ("role", "listeners", "warned", "can"),
    [
        ("controller", "CONTROLLER://127.0.0.1:9093,GRPC://localhost:9094", [], ""),
        (
            "controller",
            "CONTROLLER://[::1]:9093,GRPC://c1.example:9094",
            ["GRPC://c1.example:9094"],
            "take this quorum",
        ),
        (
            "controller",
            "CONTROLLER://:9093,GRPC://10.0.0.1:9094",
            ["CONTROLLER://:9093", "GRPC://10.0.0.1:9094"],
            "take",
        ),
        ("broker", "GRPC://127.0.0.1:9094", [], ""),
        ("broker", "GRPC://0.0.0.0:9094", ["GRPC://0.0.0.0:9094"], "read what this agent holds"),
    ],
)
def test_each_plaintext_listener_that_other_hosts_reach_is_warned_of(
    role: str, listeners: str, warned: list[str], can: str
) -> None:
    stream = io.StringIO()
    configure_logging(as_json=True, stream=stream)
    names = ("CONTROLLER", "GRPC") if role == "controller" else ("GRPC",)
    properties = {
        "process.roles": role,
        "node.id": "1",
        "listeners": listeners,
        "advertised.listeners": ",".join(f"{name}://{name}.example:9094" for name in names),
        "controller.listener.names": ",".join(names),
        "log.dirs": "/d",
        "controller.quorum.bootstrap.servers": "c1.example:9094",
    }
    warn_of_plaintext(config_of(properties))
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["listener"] for line in lines] == warned
    for line in lines:
        assert line["level"] == "warning"
        assert f"every host that reaches {line['listener']} can {can}" in line["what"]
        assert line["what"].endswith(": kraft docs security")


class _Failing(io.StringIO):
    """A stream whose disk is full for as long as `why` is set."""

    why: OSError | None = None

    def write(self, text: str) -> int:
        if self.why is not None:
            raise self.why
        return super().write(text)


@pytest.mark.usefixtures("_restored")
def test_a_line_that_cannot_be_written_ends_nothing_and_is_counted() -> None:
    stream = _Failing()
    configure_logging(as_json=True, stream=stream)
    watcher = LogWatcher(1)
    stream.why = OSError(errno.ENOSPC, "No space left on device")
    for epoch in (1, 2, 3):
        watcher.on_event(ControllerActivated(epoch=Epoch(epoch)))
    stream.why = None
    for epoch in (4, 5):
        watcher.on_event(ControllerActivated(epoch=Epoch(epoch)))
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (first["epoch"], first["lost_lines"]) == (4, 3)
    assert first["lost_because"] == "[Errno 28] No space left on device"
    assert (second["epoch"], "lost_lines" in second) == (5, False)
    stream.close()
    watcher.on_event(ControllerActivated(epoch=Epoch(6)))
