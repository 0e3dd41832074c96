"""Client requests and responses on the wire: the message of each request, and the outcome around a response.

Decides: the table of requests, one row for each. A new request is a row here and a field in `Call` and `Answer`. Topics
have conversions of their own, because their responses are large. All others are converted by field name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from google.protobuf.message import Message

from kraft.v1 import common_pb2
from kraft.v1 import controller_pb2 as pb
from metadata_log.offsets import Epoch, Offset
from quorum.api.brokers import BrokerHeartbeat, RegisterBroker
from quorum.api.calls import NO_OFFSET, AnyAnswer, ClientAnswer, Rejection
from quorum.api.controllers import RegisterController
from quorum.api.error_codes import Error
from quorum.api.partitions import AlterPartition
from quorum.api.request import AnyRequest, Request, Response
from quorum.api.topics import (
    CreateTopics,
    CreateTopicsResponse,
    DeleteTopics,
    DeleteTopicsResponse,
    DescribeTopics,
    DescribeTopicsResponse,
)
from quorum.transport.grpc.convert import topics
from quorum.transport.grpc.convert.admin import ADMIN_KINDS
from quorum.transport.grpc.convert.common import BadMessage, endpoint_from, endpoints_to, error_from
from quorum.transport.grpc.convert.consistency import set_consistency
from quorum.transport.grpc.convert.kind import Kind, kind_by_fields
from quorum.transport.grpc.convert.unsendable import FAILURES, Unsendable, why_unsendable

R = TypeVar("R", bound=Response)

KINDS: Final[tuple[Kind[Any], ...]] = (
    Kind(
        name="create_topics",
        request=CreateTopics,
        response=CreateTopicsResponse,
        response_message=pb.CreateTopicsResponse,
        request_to=topics.create_topics_to,
        request_from=topics.create_topics_from,
        response_to=topics.create_topics_response_to,
        response_from=topics.create_topics_response_from,
        is_repeatable=False,
    ),
    Kind(
        name="delete_topics",
        request=DeleteTopics,
        response=DeleteTopicsResponse,
        response_message=pb.DeleteTopicsResponse,
        request_to=topics.delete_topics_to,
        request_from=topics.delete_topics_from,
        response_to=topics.delete_topics_response_to,
        response_from=topics.delete_topics_response_from,
        is_repeatable=False,
    ),
    Kind(
        name="describe_topics",
        request=DescribeTopics,
        response=DescribeTopicsResponse,
        response_message=pb.DescribeTopicsResponse,
        request_to=topics.describe_topics_to,
        request_from=topics.describe_topics_from,
        response_to=topics.describe_topics_response_to,
        response_from=topics.describe_topics_response_from,
        is_repeatable=True,
    ),
    kind_by_fields(pb, RegisterBroker, is_repeatable=True),
    kind_by_fields(pb, BrokerHeartbeat, is_repeatable=True),
    kind_by_fields(pb, AlterPartition),
    kind_by_fields(pb, RegisterController, is_repeatable=True),
    *ADMIN_KINDS,
)

KIND_BY_NAME: Final[Mapping[str, Kind[Any]]] = {kind.name: kind for kind in KINDS}
_KIND_BY_REQUEST: Final[Mapping[type, Kind[Any]]] = {kind.request: kind for kind in KINDS}


def kind_of(request: Request[R]) -> Kind[R]:
    """Return the row of a request.

    Raises:
        TypeError: it is not a request to a controller.
    """
    kind = _KIND_BY_REQUEST.get(type(request))
    if kind is None:
        raise TypeError(f"{type(request).__name__} is not a request to a controller")
    return kind


def request_to(request: AnyRequest, at_least_offset: Offset = NO_OFFSET) -> Message:
    """Return the message of a single call. A read without an offset asks for a linearizable answer.

    Raises:
        Unsendable: a field has a value that the message cannot hold.
        TypeError: it is not a request to a controller.
    """
    kind = kind_of(request)
    try:
        message = kind.request_to(request)
    except FAILURES as failure:
        why = why_unsendable(request, pb.Call.DESCRIPTOR.fields_by_name[kind.name].message_type)
        if why is None:
            raise
        raise Unsendable(why) from failure
    try:
        set_consistency(message, at_least_offset)
    except FAILURES as failure:
        raise Unsendable(f"at_least_offset is {at_least_offset!r}, which is no offset") from failure
    return message


def call_to(
    request_id: int, request: AnyRequest, *, timeout_ms: int = 0, at_least_offset: Offset = NO_OFFSET
) -> pb.Call:
    """Return the request as a call of a Session; raises the same errors as `request_to`."""
    fields: dict[str, Any] = {kind_of(request).name: request_to(request, at_least_offset)}
    return pb.Call(request_id=request_id, timeout_ms=timeout_ms, **fields)


def kind_in(call: pb.Call) -> Kind[Any]:
    """Return the row of the request in a call.

    Raises:
        BadMessage: the call has no request that this version knows.
    """
    name = call.WhichOneof("request")
    if name is None:
        raise BadMessage(Error.UNSUPPORTED_VERSION, "the call holds no request that this controller knows")
    return KIND_BY_NAME[name]


def response_to(kind: Kind[R], answer: ClientAnswer[R], prepared: Any = None) -> Any:
    """Return the response message with its outcome. `prepared`: the message of the response, if `kind` has made it
    already."""
    message = prepared
    if message is None:
        message = kind.response_message() if answer.response is None else kind.response_to(answer.response)
    set_outcome(message.outcome, answer)
    return message


def set_outcome(outcome: common_pb2.Outcome, answer: AnyAnswer) -> None:
    """Set how the node handled a request. The leader's listeners are included only in an error."""
    outcome.image_offset = answer.image_offset
    outcome.image_epoch = answer.image_epoch
    outcome.leader_id = answer.leader_id
    outcome.leader_epoch = answer.leader_epoch
    if answer.error is not Error.NONE:
        outcome.error_code = answer.error
        outcome.leader_endpoints.extend(endpoints_to(answer.leader_endpoints))
        if answer.message is not None:
            outcome.error_message = answer.message


def answer_to(request_id: int, kind: Kind[R], answer: ClientAnswer[R], prepared: Any = None) -> pb.Answer:
    """Return the message as an answer of a Session; for `prepared` see `response_to`."""
    fields: dict[str, Any] = {kind.name: response_to(kind, answer, prepared)}
    return pb.Answer(request_id=request_id, **fields)


def unknown_answer_to(request_id: int, refusal: AnyAnswer) -> pb.Answer:
    """Return the answer to a call of an unknown kind."""
    answer = pb.Answer(request_id=request_id)
    set_outcome(answer.unknown, refusal)
    return answer


def answer_from(message: pb.Answer) -> AnyAnswer:
    """Return the content of a Session's answer.

    Raises:
        BadMessage: the answer is malformed, or of a kind that this version does not know.
    """
    name = message.WhichOneof("response")
    if name is None:
        raise BadMessage(Error.UNSUPPORTED_VERSION, "the answer is of a kind that this client does not know")
    if name == "unknown":
        unknown: Rejection = _answer_of(message.unknown, None)
        return unknown
    return response_from(KIND_BY_NAME[name], getattr(message, name))


def response_from(kind: Kind[R], message: Any) -> ClientAnswer[R]:
    """Return the content of the response to a single call.

    Raises:
        BadMessage: the response is malformed.
    """
    outcome = message.outcome
    return _answer_of(outcome, None if outcome.error_code else kind.response_from(message))


def _answer_of(outcome: common_pb2.Outcome, response: R | None) -> ClientAnswer[R]:
    if not outcome.error_code:
        return ClientAnswer(
            response=response,
            image_offset=Offset(outcome.image_offset),
            image_epoch=Epoch(outcome.image_epoch),
            leader_id=outcome.leader_id,
            leader_epoch=Epoch(outcome.leader_epoch),
        )
    return ClientAnswer(
        error=error_from(outcome.error_code),
        message=outcome.error_message if outcome.HasField("error_message") else None,
        image_offset=Offset(outcome.image_offset),
        image_epoch=Epoch(outcome.image_epoch),
        leader_id=outcome.leader_id,
        leader_epoch=Epoch(outcome.leader_epoch),
        leader_endpoints=tuple(endpoint_from(endpoint) for endpoint in outcome.leader_endpoints),
    )
