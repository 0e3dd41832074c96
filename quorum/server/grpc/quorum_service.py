"""The Quorum service: hands the requests of other replicas to the node. It rejects a malformed request itself."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

import msgspec

from kraft.v1 import quorum_pb2, quorum_pb2_grpc
from quorum.api.calls import PeerCall, PeerResponse
from quorum.api.raft_messages import (
    BeginQuorumEpochResponse,
    EndQuorumEpochResponse,
    FetchResponse,
    FetchSnapshotResponse,
    VoteResponse,
)
from quorum.api.transfer_messages import TransferLeadershipResponse
from quorum.api.voter_messages import (
    CHANGE_RESPONSE_OF,
    AddRaftVoterRequest,
    ApiVersionsRequest,
    ApiVersionsResponse,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
    UpgradeKRaftVersionRequest,
    VoterChange,
)
from quorum.server.grpc.callers import caller_of
from quorum.server.grpc.describe import describe
from quorum.server.grpc.fetch_streams import FetchDoor
from quorum.server.node import Node
from quorum.transport.grpc.convert import elections, voters
from quorum.transport.grpc.convert.common import BadMessage
from quorum.transport.grpc.convert.fetch import fetch_request_from, fetch_response_to
from quorum.transport.grpc.convert.fetch_snapshot import fetch_snapshot_request_from, fetch_snapshot_response_to
from quorum.transport.grpc.convert.transfer import transfer_request_from, transfer_response_to

T = TypeVar("T")


class QuorumService(quorum_pb2_grpc.QuorumServicer):
    """Serves Quorum for one node."""

    def __init__(self, node: Node) -> None:
        self._node = node

    async def Vote(self, request: quorum_pb2.VoteRequest, context: Any) -> quorum_pb2.VoteResponse:
        """See the contract."""
        try:
            call = elections.vote_request_from(request)
        except BadMessage as bad:
            return quorum_pb2.VoteResponse(error_code=bad.error)
        response = await self._ask(call, context)
        return elections.vote_response_to(_expect(response, VoteResponse), call.topic_id)

    async def BeginQuorumEpoch(
        self, request: quorum_pb2.BeginQuorumEpochRequest, context: Any
    ) -> quorum_pb2.BeginQuorumEpochResponse:
        """See the contract."""
        try:
            call = elections.begin_request_from(request)
        except BadMessage as bad:
            return quorum_pb2.BeginQuorumEpochResponse(error_code=bad.error)
        response = await self._ask(call, context)
        return elections.begin_response_to(_expect(response, BeginQuorumEpochResponse), call.topic_id)

    async def EndQuorumEpoch(
        self, request: quorum_pb2.EndQuorumEpochRequest, context: Any
    ) -> quorum_pb2.EndQuorumEpochResponse:
        """See the contract."""
        try:
            call = elections.end_request_from(request)
        except BadMessage as bad:
            return quorum_pb2.EndQuorumEpochResponse(error_code=bad.error)
        response = await self._ask(call, context)
        return elections.end_response_to(_expect(response, EndQuorumEpochResponse), call.topic_id)

    async def Fetch(self, request_iterator: Any, context: Any) -> None:  # type: ignore[override]
        """See the contract."""
        await FetchDoor(context, self._node, caller_of(context, self._node).context()).serve()

    async def FetchOnce(self, request: quorum_pb2.FetchRequest, context: Any) -> quorum_pb2.FetchResponse:
        """See the contract."""
        try:
            call = fetch_request_from(request)
        except BadMessage as bad:
            return quorum_pb2.FetchResponse(correlation_id=request.correlation_id, error_code=bad.error)
        response = await self._ask(call, context)
        return fetch_response_to(_expect(response, FetchResponse), call.topic_id, request.correlation_id)

    async def FetchSnapshot(
        self, request: quorum_pb2.FetchSnapshotRequest, context: Any
    ) -> quorum_pb2.FetchSnapshotResponse:
        """See the contract."""
        try:
            call = fetch_snapshot_request_from(request)
        except BadMessage as bad:
            return quorum_pb2.FetchSnapshotResponse(error_code=bad.error)
        response = await self._ask(call, context)
        return fetch_snapshot_response_to(_expect(response, FetchSnapshotResponse), call.topic_id)

    async def TransferLeadership(
        self, request: quorum_pb2.TransferLeadershipRequest, context: Any
    ) -> quorum_pb2.TransferLeadershipResponse:
        """See the contract."""
        response = await self._ask(transfer_request_from(request), context)
        return transfer_response_to(_expect(response, TransferLeadershipResponse))

    async def DescribeQuorum(
        self, request: quorum_pb2.DescribeQuorumRequest, context: Any
    ) -> quorum_pb2.DescribeQuorumResponse:
        """See the contract."""
        return describe(request, self._node, caller_of(context, self._node).context())

    async def AddRaftVoter(
        self, request: quorum_pb2.AddRaftVoterRequest, context: Any
    ) -> quorum_pb2.VoterChangeResponse:
        """See the contract."""
        return await self._change(AddRaftVoterRequest, request, context)

    async def RemoveRaftVoter(
        self, request: quorum_pb2.RemoveRaftVoterRequest, context: Any
    ) -> quorum_pb2.VoterChangeResponse:
        """See the contract."""
        return await self._change(RemoveRaftVoterRequest, request, context)

    async def UpdateRaftVoter(
        self, request: quorum_pb2.UpdateRaftVoterRequest, context: Any
    ) -> quorum_pb2.VoterChangeResponse:
        """See the contract."""
        return await self._change(UpdateRaftVoterRequest, request, context)

    async def UpgradeKRaftVersion(
        self, request: quorum_pb2.UpgradeKRaftVersionRequest, context: Any
    ) -> quorum_pb2.VoterChangeResponse:
        """See the contract."""
        return await self._change(UpgradeKRaftVersionRequest, request, context)

    async def ApiVersions(self, request: quorum_pb2.ApiVersionsRequest, context: Any) -> quorum_pb2.ApiVersionsResponse:
        """See the contract."""
        response = await self._ask(voters.request_from(ApiVersionsRequest, request), context)
        return voters.versions_response_to(_expect(response, ApiVersionsResponse))

    async def _change(self, kind: type[VoterChange], request: Any, context: Any) -> quorum_pb2.VoterChangeResponse:
        try:
            call = voters.request_from(kind, request)
        except BadMessage as bad:
            return quorum_pb2.VoterChangeResponse(
                error_code=bad.error, error_message=bad.why, leader_id=-1, voters_offset=-1
            )
        response = await self._ask(call, context)
        return voters.change_response_to(_expect(response, CHANGE_RESPONSE_OF[kind]))

    async def _ask(self, call: PeerCall, context: Any) -> PeerResponse:
        call = msgspec.structs.replace(call, context=caller_of(context, self._node).context())
        answered: asyncio.Future[PeerResponse] = asyncio.get_running_loop().create_future()

        def respond(response: PeerResponse) -> None:
            if not answered.done():
                answered.set_result(response)

        request_id = self._node.peer_request(call, respond)
        try:
            return await answered
        except asyncio.CancelledError:
            self._node.peer_gone(request_id)
            raise


def _expect(response: PeerResponse, kind: type[T]) -> T:
    if not isinstance(response, kind):
        raise TypeError(f"the node answered with {type(response).__name__}, not {kind.__name__}")
    return response
