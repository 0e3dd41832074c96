"""One function authorizes every request to the quorum, on each listener."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from kraft.v1 import quorum_pb2
from metadata_log.image import MetadataImage
from quorum.api.calls import PeerCall
from quorum.api.context import ANONYMOUS, Operation, RequestContext
from quorum.api.error_codes import Error
from quorum.api.raft_messages import Request, VoteRequest
from quorum.api.transfer_messages import TransferLeadershipRequest
from quorum.api.voter_messages import ApiVersionsRequest
from quorum.controller.authorizer import Authorizer
from quorum.node.core.access import OPERATION_OF, validate_right
from quorum.node.core.ports import PeerRequested, RequestRejected
from quorum.server.grpc.describe import describe
from tests.support.controller import EVE
from tests.support.node_cluster import Cluster
from tests.support.node_requests import CLUSTER_ID
from tests.support.peer_requests import REQUESTS
from tests.support.scripted_node import ScriptedNode


def test_every_request_of_the_core_has_its_operation() -> None:
    assert set(OPERATION_OF) == set(get_args(Request))
    assert OPERATION_OF[VoteRequest] is Operation.CLUSTER_ACTION
    assert OPERATION_OF[TransferLeadershipRequest] is Operation.ALTER


def test_without_an_authorizer_everybody_may_do_all() -> None:
    image = MetadataImage.empty()
    for request, _ in REQUESTS.values():
        for caller in (RequestContext(), RequestContext(principal="User:alice")):
            assert validate_right(PeerCall(request=request, cluster_id=None, context=caller), image) is None


def test_an_authorizer_lets_super_users_be_replicas_and_nobody_else() -> None:
    image = MetadataImage.empty()
    authorizer = Authorizer(super_users=frozenset({ANONYMOUS}))
    for request, _ in REQUESTS.values():
        replica = PeerCall(request=request, cluster_id=None, context=RequestContext(authorizer=authorizer))
        assert validate_right(replica, image) is None
        refusal = validate_right(PeerCall(request=request, cluster_id=None, context=EVE), image)
        assert refusal is not None
        assert refusal.error is Error.CLUSTER_AUTHORIZATION_FAILED
    assert validate_right(PeerCall(request=ApiVersionsRequest(), cluster_id=None, context=EVE), image) is None


@pytest.mark.parametrize("name", REQUESTS)
def test_who_has_no_right_does_not_reach_the_core_and_learns_of_no_leader(name: str) -> None:
    cluster = Cluster(seed=1)
    cluster.start()
    leader = cluster.elect()
    request, answer_type = REQUESTS[name]
    answers: list[Any] = []
    before = leader.executor.machine.describe()
    call = PeerCall(request=request, cluster_id=CLUSTER_ID, context=EVE)
    leader.turn([PeerRequested(request_id=1 << 40, call=call, respond=answers.append)])
    (answer,) = answers
    assert type(answer) is answer_type
    assert (answer.error, answer.leader_id) == (Error.CLUSTER_AUTHORIZATION_FAILED, -1)
    assert leader.executor.machine.describe() == before
    (told,) = (event for event in leader.events if isinstance(event, RequestRejected))
    assert told.why.startswith("User:eve has no right to ")
    assert told.peer.endswith("@10.0.0.9")


def test_who_may_not_describe_is_not_told_of_the_quorum() -> None:
    said = describe(quorum_pb2.DescribeQuorumRequest(), ScriptedNode(), EVE)
    assert (said.error_code, len(said.topics)) == (Error.CLUSTER_AUTHORIZATION_FAILED, 0)
    assert describe(quorum_pb2.DescribeQuorumRequest(), ScriptedNode(), RequestContext()).error_code == Error.NONE
