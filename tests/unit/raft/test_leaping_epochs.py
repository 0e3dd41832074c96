"""A peer that raises the epoch by more than any elections do: obeyed as Raft demands, and warned of."""

from __future__ import annotations

import pytest

from metadata_log.offsets import Epoch, Offset
from quorum.api.raft_messages import BeginQuorumEpochRequest, Request, VoteRequest
from quorum.raft.core import FAR_ABOVE
from quorum.raft.inputs import RequestReceived
from quorum.raft.ready import PeerRefused
from tests.support.raft_transcript import endpoints_of, key_of
from tests.support.scenario import Scenario


def _vote(epoch: int) -> Request:
    return VoteRequest(
        candidate=key_of(9),
        voter=key_of(1),
        candidate_epoch=Epoch(epoch),
        last_epoch=Epoch(0),
        last_epoch_end_offset=Offset(0),
    )


def _begin(epoch: int) -> Request:
    return BeginQuorumEpochRequest(
        leader_id=key_of(2).node_id, leader_epoch=Epoch(epoch), voter=key_of(1), leader_endpoints=endpoints_of(2)
    )


@pytest.mark.parametrize("request_of", [_vote, _begin])
@pytest.mark.parametrize(("above", "is_warned"), [(1, False), (FAR_ABOVE, False), (FAR_ABOVE + 1, True)])
def test_a_leap_of_the_epoch_is_warned_of(request_of: object, above: int, is_warned: bool) -> None:
    assert callable(request_of)
    scenario = Scenario("node me=1 voters=1,2,3 epoch=5", "start")

    scenario.give(RequestReceived(request_id=7, request=request_of(5 + above), draw=1))

    said = [effect.what for effect in scenario.seen if isinstance(effect, PeerRefused)]
    assert [f"from 5 to {5 + above}" in what for what in said] == [True] * is_warned
