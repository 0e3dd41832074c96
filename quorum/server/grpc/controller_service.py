"""The Controller service: clients' requests, handed to the node; single calls here, Sessions in `session`.

Decides: nothing but the translation, and that an answer too large for one message is refused to a single call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final, TypeVar, cast

from google.protobuf.message import Message

from kraft.v1 import controller_pb2 as pb
from kraft.v1 import controller_pb2_grpc
from quorum.api.calls import ClientAnswer, ClientCall
from quorum.api.error_codes import Error
from quorum.node.process.large_requests import Done, LargeRequests
from quorum.node.process.long_answers import Answered
from quorum.node.process.raw_messages import TooManyElementsError, elements_in, parsed_in_round
from quorum.node.process.rounds import LEAST_COST
from quorum.node.process.turns import TooManyWaitError
from quorum.server.grpc.callers import caller_of
from quorum.server.grpc.session import Session
from quorum.server.node import Node, timeout_of
from quorum.transport.channel import SESSION_HEADER
from quorum.transport.grpc.convert.calls import KIND_BY_NAME, response_to
from quorum.transport.grpc.convert.common import BadMessage
from quorum.transport.grpc.convert.consistency import at_least_offset_in
from quorum.transport.grpc.convert.kind import Kind
from quorum.transport.grpc.convert.parts import ANSWERED_LONG, SINGLE_CALL_WEIGHT, weight_of
from quorum.transport.kafka.reader import MAX_ELEMENTS

_NOTHING: Final = ClientAnswer(error=Error.NONE)
_MS_PER_S: Final = 1000
_MESSAGES: Final[Mapping[str, type[Message]]] = {name: type(getattr(pb.Call(), name)) for name in KIND_BY_NAME}

A = TypeVar("A")


def _method(name: str) -> Any:
    """The method of one kind of request, for those of `admin.proto` and `access.proto`. See the contract."""

    async def serve(door: ControllerDoor, request: Any, context: Any) -> Any:
        return await door.serve(name, request, context, KIND_BY_NAME[name].response_message)

    return serve


class ControllerDoor(controller_pb2_grpc.ControllerServicer):
    """Serves Controller for one node."""

    def __init__(self, node: Node, large: LargeRequests) -> None:
        self._node = node
        self._large = large

    async def CreateTopics(self, request: pb.CreateTopicsRequest, context: Any) -> pb.CreateTopicsResponse:
        """See the contract."""
        return await self.serve("create_topics", request, context, pb.CreateTopicsResponse)

    async def DeleteTopics(self, request: pb.DeleteTopicsRequest, context: Any) -> pb.DeleteTopicsResponse:
        """See the contract."""
        return await self.serve("delete_topics", request, context, pb.DeleteTopicsResponse)

    async def DescribeTopics(self, request: pb.DescribeTopicsRequest, context: Any) -> pb.DescribeTopicsResponse:
        """See the contract."""
        return await self.serve("describe_topics", request, context, pb.DescribeTopicsResponse)

    async def RegisterBroker(self, request: pb.RegisterBrokerRequest, context: Any) -> pb.RegisterBrokerResponse:
        """See the contract."""
        return await self.serve("register_broker", request, context, pb.RegisterBrokerResponse)

    async def BrokerHeartbeat(self, request: pb.BrokerHeartbeatRequest, context: Any) -> pb.BrokerHeartbeatResponse:
        """See the contract."""
        return await self.serve("broker_heartbeat", request, context, pb.BrokerHeartbeatResponse)

    async def AlterPartition(self, request: pb.AlterPartitionRequest, context: Any) -> pb.AlterPartitionResponse:
        """See the contract."""
        return await self.serve("alter_partition", request, context, pb.AlterPartitionResponse)

    async def RegisterController(
        self, request: pb.RegisterControllerRequest, context: Any
    ) -> pb.RegisterControllerResponse:
        """See the contract."""
        return await self.serve("register_controller", request, context, pb.RegisterControllerResponse)

    CreatePartitions = _method("create_partitions")
    IncrementalAlterConfigs = _method("incremental_alter_configs")
    AlterPartitionReassignments = _method("alter_partition_reassignments")
    ListPartitionReassignments = _method("list_partition_reassignments")
    ElectLeaders = _method("elect_leaders")
    AllocateProducerIds = _method("allocate_producer_ids")
    AssignReplicasToDirs = _method("assign_replicas_to_dirs")
    UnregisterBroker = _method("unregister_broker")
    UnregisterController = _method("unregister_controller")
    DescribeCluster = _method("describe_cluster")
    UpdateFeatures = _method("update_features")
    DescribeConfigs = _method("describe_configs")
    CreateAcls = _method("create_acls")
    DeleteAcls = _method("delete_acls")
    DescribeAcls = _method("describe_acls")
    AlterClientQuotas = _method("alter_client_quotas")
    DescribeClientQuotas = _method("describe_client_quotas")
    AlterUserScramCredentials = _method("alter_user_scram_credentials")
    DescribeUserScramCredentials = _method("describe_user_scram_credentials")

    async def Session(self, request_iterator: Any, context: Any) -> None:  # type: ignore[override]
        """See the contract."""
        # The client may then tell a call that was never sent from one whose outcome is not known.
        await context.send_initial_metadata((SESSION_HEADER,))
        await Session(context, self._node, caller_of(context, self._node), self._large).serve()

    async def serve(self, name: str, message: Any, context: Any, answers: type[A]) -> A:
        """Ask the node, and answer as `answers`, the response's message of that kind.

        A message that is not small comes raw, and is parsed in a round or in its turn.
        """
        kind = KIND_BY_NAME[name]
        done: Done | None = None
        answered: Answered | None = None
        answer = _NOTHING
        try:
            if isinstance(message, bytes):
                host = caller_of(context, self._node).host
                message, done = await parsed_in_round(self._large, host, message, _MESSAGES[name], MAX_ELEMENTS)
            elif not self._large.rounds.admits(cost := LEAST_COST * elements_in(message)):
                await self._large.rounds.turn(caller_of(context, self._node).host, cost)
            if kind.request.__name__ in ANSWERED_LONG:
                answered = await self._large.long_answers.turn(caller_of(context, self._node).host, name)
            answer = await self._ask(kind, message, context)
        except BadMessage as bad:
            answer = ClientAnswer(error=bad.error, message=bad.why)
        except TooManyElementsError as refused:
            answer = ClientAnswer(error=Error.INVALID_REQUEST, message=str(refused))
        except TooManyWaitError as refused:
            answer = ClientAnswer(error=Error.THROTTLING_QUOTA_EXCEEDED, message=str(refused))
        finally:
            if done is not None:
                done()
            if answered is not None:
                answered(weight_of(answer.response))
        return cast("A", response_to(kind, _fitting(kind, answer)))

    async def _ask(self, kind: Kind, message: Any, context: Any) -> ClientAnswer:
        request = kind.request_from(message)
        at_least_offset = at_least_offset_in(message)
        remaining_s = context.time_remaining()
        named_ms = 0 if remaining_s is None else max(1, int(min(remaining_s, 1e6) * _MS_PER_S))
        asked = caller_of(context, self._node).context(self._node.now_ms(), timeout_of(request, named_ms))
        answered: asyncio.Future[ClientAnswer] = asyncio.get_running_loop().create_future()

        def respond(answer: ClientAnswer) -> None:
            if not answered.done():
                answered.set_result(answer)

        self._node.client_request(
            ClientCall(request=request, context=asked, respond=respond, at_least_offset=at_least_offset)
        )
        return await answered


def _fitting(kind: Kind, answer: ClientAnswer) -> ClientAnswer:
    if weight_of(answer.response) <= SINGLE_CALL_WEIGHT:
        return answer
    why = f"the answer to {kind.name} is too large for a single call: ask for less, or on a Session"
    if not kind.is_repeatable:
        why = f"{kind.name} was done, but its answer is too large for a single call: ask on a Session"
    return ClientAnswer(error=Error.MESSAGE_TOO_LARGE, message=why)
