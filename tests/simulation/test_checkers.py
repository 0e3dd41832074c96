"""Each checker rejects what it must reject, and accepts what it must accept."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from metadata_log.directory.quorum_state import QUORUM_STATE_FILE, QuorumState, format_quorum_state
from metadata_log.files.simulated_media import Directory, Inode
from metadata_log.ids import DirectoryId, NodeId, ReplicaKey, TopicId
from tests.simulation.checkers.history import find_disorder
from tests.simulation.checkers.invariant_failure import InvariantFailure
from tests.simulation.checkers.log_matching import LogMatching
from tests.simulation.checkers.one_leader import OneLeader
from tests.simulation.checkers.topic_ids import TopicIds
from tests.simulation.checkers.votes import Votes
from tests.simulation.clients import UNKNOWN, Operation
from tests.simulation.durable import BatchKey
from tests.simulation.scenario import Outcome
from tests.simulation.setup import Setup, Step, scenario_of
from tests.simulation.shrink import Shrinker

ID = TopicId(b"\x10" * 16)
OTHER = TopicId(b"\x11" * 16)


def _operation(kind: str, begun: int, ended: int | None, outcome: str, topic_id: TopicId | None = None) -> Operation:
    return Operation(
        client=1, kind=kind, topic="t", invoked_us=begun, returned_us=ended, outcome=outcome, topic_id=topic_id
    )


@pytest.mark.parametrize(
    "operations",
    [
        [_operation("create", 0, 5, "NONE", ID), _operation("delete", 6, 9, "NONE", ID)],
        [_operation("create", 0, 5, UNKNOWN), _operation("delete", 6, 9, "NONE", ID)],
        [_operation("create", 0, None, ""), _operation("create", 6, 9, "NONE", ID)],
        [_operation("delete", 0, 9, "NONE", ID), _operation("create", 1, 8, "NONE", ID)],
        [
            _operation("create", 0, 5, "NONE", ID),
            _operation("delete", 6, 9, UNKNOWN),
            _operation("create", 10, 12, "NONE", OTHER),
        ],
        [_operation("describe", 0, 9, "UNKNOWN_TOPIC_OR_PARTITION"), _operation("create", 1, 8, "NONE", ID)],
    ],
)
def test_hiscenarios_that_have_an_order(operations: list[Operation]) -> None:
    assert find_disorder(operations) is None


@pytest.mark.parametrize(
    "operations",
    [
        [_operation("create", 0, 5, "NONE", ID), _operation("create", 6, 9, "NONE", OTHER)],
        [_operation("delete", 0, 5, "NONE", ID), _operation("create", 6, 9, "NONE", ID)],
        [_operation("create", 0, 5, "NONE", ID), _operation("delete", 6, 9, "NONE", OTHER)],
        [_operation("create", 0, 5, "NONE", ID), _operation("describe", 6, 9, "UNKNOWN_TOPIC_OR_PARTITION")],
        [
            _operation("create", 0, 5, "NONE", ID),
            _operation("delete", 6, 9, "NONE", ID),
            _operation("delete", 6, 9, "NONE", ID),
        ],
    ],
)
def test_hiscenarios_that_have_none(operations: list[Operation]) -> None:
    assert find_disorder(operations) is not None


@pytest.mark.parametrize(("kinds", "holds"), [(("create", "delete"), True), (("delete", "delete"), False)])
def test_a_hundred_requests_of_unknown_outcome_are_decided(kinds: tuple[str, str], *, holds: bool) -> None:
    """No read can find a topic that no request created."""
    unknown = [_operation(kinds[at % 2], at, at + 300, UNKNOWN) for at in range(100)]
    told = [_operation("describe", 100 + at, 105 + at, "UNKNOWN_TOPIC_OR_PARTITION") for at in range(0, 60, 6)]
    told += [_operation("describe", 500, 510, "NONE", ID), _operation("delete", 540, 550, "NONE", ID)]
    assert (find_disorder(unknown + told) is None) is holds


def test_two_leaders_of_an_epoch() -> None:
    checker = OneLeader()
    checker.on_leader(1, 1, 4)
    checker.on_leader(1, 1, 4)
    with pytest.raises(InvariantFailure):
        checker.on_leader(2, 1, 4)
    with pytest.raises(InvariantFailure):
        checker.on_leader(1, 2, 4)


def _key(node_id: int) -> ReplicaKey:
    return ReplicaKey(node_id=NodeId(node_id), directory_id=DirectoryId(bytes([node_id]) * 16))


def _media(state: QuorumState | None) -> Directory:
    media, inode = Directory(), Inode()
    if state is not None:
        inode.durable.extend(format_quorum_state(state))
        media.durable[QUORUM_STATE_FILE] = inode
    return media


def test_votes() -> None:
    voted: Any = QuorumState(leader_epoch=3, voted_key=_key(2))  # type: ignore[arg-type]
    checker = Votes()
    checker.on_vote(_key(1), _media(voted), 3, _key(2))
    for media, candidate in ((None, 2), (QuorumState(leader_epoch=2), 2), (QuorumState(leader_epoch=3), 2), (voted, 3)):  # type: ignore[arg-type]
        with pytest.raises(InvariantFailure):
            Votes().on_vote(_key(1), _media(media), 3, _key(candidate))
    with pytest.raises(InvariantFailure):
        checker.on_vote(_key(1), _media(voted), 3, _key(3))


def test_logs_that_do_not_match() -> None:
    first, second = BatchKey(0, 2, 1, 11), BatchKey(2, 3, 1, 22)
    checker = LogMatching()
    checker.on_durable(1, None, first)
    checker.on_durable(1, first, second)
    checker.on_durable(2, first, second)
    with pytest.raises(InvariantFailure):
        checker.on_durable(2, None, BatchKey(0, 2, 1, 99))
    with pytest.raises(InvariantFailure):
        checker.on_durable(2, BatchKey(0, 2, 0, 11), second)
    with pytest.raises(InvariantFailure):
        checker.on_durable(2, first, BatchKey(4, 5, 1, 33))


def test_topic_ids_come_once() -> None:
    checker = TopicIds()
    checker.on_topic(ID, "a", 3)
    with pytest.raises(InvariantFailure):
        checker.on_topic(ID, "b", 5)
    with pytest.raises(InvariantFailure):
        checker.on_topic(TopicId(bytes(16)), "c", 6)


def test_a_scenario_shrinks_to_the_faults_that_matter() -> None:
    steps = tuple(Step(at_ms=500 + at, fault="kill", pick=at) for at in range(40))
    setup = msgspec.structs.replace(scenario_of(1), steps=steps)

    def run_again(smaller: Setup) -> Outcome:
        picks = {step.pick for step in smaller.steps}
        is_broken = {7, 31} <= picks
        return Outcome(
            setup=smaller, events=1, virtual_ms=600, digest="", checker="votes" if is_broken else None, what="x"
        )

    smallest = Shrinker(run_again(setup), run_again=run_again).run()
    assert sorted(step.pick for step in smallest.setup.steps) == [7, 31]
    assert (smallest.setup.clients, smallest.setup.observers) == (1, 0)
