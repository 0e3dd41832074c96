"""Requests with another cluster id never reach the core; requests without a cluster id do."""

from __future__ import annotations

import pytest

from metadata_log.offsets import Epoch
from quorum.api.calls import PeerCall, PeerRequest
from quorum.api.error_codes import Error
from quorum.node.core.topic_id_fencing import TopicIdFence
from tests.support.peer_requests import REQUESTS
from tests.support.raft_transcript import key_of


@pytest.mark.parametrize("cluster_id", ["ours", None], ids=["ours", "not named"])
@pytest.mark.parametrize("name", REQUESTS)
def test_our_clusters_requests_pass(name: str, cluster_id: str | None) -> None:
    assert TopicIdFence("ours").validate(PeerCall(request=REQUESTS[name][0], cluster_id=cluster_id)) is None


@pytest.mark.parametrize("cluster_id", ["", "invalid-uuid"])
@pytest.mark.parametrize("name", REQUESTS)
def test_another_clusters_are_refused_in_their_own_form_and_learn_of_no_leader(name: str, cluster_id: str) -> None:
    request: PeerRequest = REQUESTS[name][0]
    refusal = TopicIdFence("ours").validate(PeerCall(request=request, cluster_id=cluster_id))
    assert refusal is not None
    answer = refusal.response_to(request, key_of(3).node_id, Epoch(5), ())
    assert type(answer) is REQUESTS[name][1]
    assert (answer.error, answer.leader_id) == (Error.INCONSISTENT_CLUSTER_ID, -1)


@pytest.mark.parametrize("name", REQUESTS)
def test_another_partition_is_refused(name: str) -> None:
    """The metadata topic has one partition."""
    request: PeerRequest = REQUESTS[name][0]
    refusal = TopicIdFence("ours").validate(PeerCall(request=request, cluster_id="ours", partition=1))
    assert refusal is not None
    answer = refusal.response_to(request, key_of(3).node_id, Epoch(5), ())
    assert type(answer) is REQUESTS[name][1]
    assert (answer.error, answer.leader_id) == (Error.UNKNOWN_TOPIC_OR_PARTITION, 3)
