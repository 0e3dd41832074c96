"""Vote, BeginQuorumEpoch and EndQuorumEpoch in Kafka's protocol, in both directions.

Kafka names the metadata topic by name here. It carries one endpoint of the leader, that of the listener which received
the request. Must not know: which node sends a request, and when.

Sources: KIP-595, KIP-853 (voter keys, node endpoints), KIP-996 (pre-vote: Vote v2).
"""

from __future__ import annotations

from typing import Any, Final

from metadata_log.ids import METADATA_TOPIC_NAME, NodeId
from metadata_log.offsets import NO_EPOCH, Epoch, Offset
from metadata_log.voters import Endpoint
from quorum.api.calls import PeerCall
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.api.leader_hint import NO_LEADER
from quorum.api.raft_messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)
from quorum.transport.grpc.convert.common import error_from
from quorum.transport.kafka.partitions import answered_partition, only_partition, place_among
from quorum.transport.kafka.wire import Answers, Fields, Questions, key_from, uuid_to

ElectionRequest = VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest
ElectionResponse = VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse

REFUSED_AT_THE_TOP: Final = {
    Error.INCONSISTENT_CLUSTER_ID: Error.INCONSISTENT_CLUSTER_ID,
    Error.CLUSTER_AUTHORIZATION_FAILED: Error.CLUSTER_AUTHORIZATION_FAILED,
    Error.UNKNOWN_TOPIC_ID: Error.INVALID_REQUEST,
    Error.UNKNOWN_TOPIC_OR_PARTITION: Error.INVALID_REQUEST,
}
"""Errors of a request as a whole, which carry no leader, and Kafka's code for each."""

_ANSWER_OF: Final[dict[type[Any], type[Any]]] = {
    VoteRequest: VoteResponse,
    BeginQuorumEpochRequest: BeginQuorumEpochResponse,
    EndQuorumEpochRequest: EndQuorumEpochResponse,
}
_OURS: Final = ("topic_name", METADATA_TOPIC_NAME)
PRE_VOTE_FROM: Final = 2
"""The first version of Vote with a pre-vote."""


# --- incoming requests


def _call(request: ElectionRequest, body: Any, partition: Any, context: RequestContext) -> PeerCall:
    return PeerCall(request=request, cluster_id=body.cluster_id, partition=partition.partition_index, context=context)


def vote_call_from(body: Any, context: RequestContext) -> PeerCall | None:
    """Return the call in a Vote, or None unless it names exactly one partition of the metadata topic."""
    partition = only_partition(body.topics, *_OURS)
    if partition is None:
        return None
    request = VoteRequest(
        candidate=key_from(partition.replica_id, getattr(partition, "replica_directory_id", None)),
        voter=key_from(getattr(body, "voter_id", -1), getattr(partition, "voter_directory_id", None)),
        candidate_epoch=Epoch(partition.replica_epoch),
        last_epoch=Epoch(partition.last_offset_epoch),
        last_epoch_end_offset=Offset(partition.last_offset),
        pre_vote=getattr(partition, "pre_vote", False),
    )
    return _call(request, body, partition, context)


def begin_call_from(body: Any, context: RequestContext) -> PeerCall | None:
    """Return the call in a BeginQuorumEpoch, or None unless it names exactly one partition of the metadata topic."""
    partition = only_partition(body.topics, *_OURS)
    if partition is None:
        return None
    request = BeginQuorumEpochRequest(
        leader_id=NodeId(partition.leader_id),
        leader_epoch=Epoch(partition.leader_epoch),
        voter=key_from(getattr(body, "voter_id", -1), getattr(partition, "voter_directory_id", None)),
        leader_endpoints=_endpoints_from(body),
    )
    return _call(request, body, partition, context)


def end_call_from(body: Any, context: RequestContext) -> PeerCall | None:
    """Return the call in an EndQuorumEpoch, or None unless it names exactly one partition of the metadata topic."""
    partition = only_partition(body.topics, *_OURS)
    if partition is None:
        return None
    candidates = getattr(partition, "preferred_candidates", None)
    if candidates is None:
        successors = tuple(key_from(node_id, None) for node_id in partition.preferred_successors)
    else:
        successors = tuple(key_from(each.candidate_id, each.candidate_directory_id) for each in candidates)
    request = EndQuorumEpochRequest(
        leader_id=NodeId(partition.leader_id),
        leader_epoch=Epoch(partition.leader_epoch),
        preferred_candidates=successors,
        leader_endpoints=_endpoints_from(body),
    )
    return _call(request, body, partition, context)


def _endpoints_from(body: Any) -> tuple[Endpoint, ...]:
    told = getattr(body, "leader_endpoints", ())
    return tuple(Endpoint(name=at.name, host=at.host, port=at.port) for at in told)


def refused_entity(answers: Answers, error: Error) -> Any:
    """Return the response that rejects the whole request."""
    return answers.response(error_code=error, topics=())


def election_entity(answers: Answers, response: ElectionResponse, leader: Endpoint | None) -> Any:
    """Return the response to any of the three. A leader without an endpoint is not named, because no client could
    reach it."""
    spelt = REFUSED_AT_THE_TOP.get(response.error)
    if spelt is not None:
        return refused_entity(answers, spelt)
    leader_id = NO_LEADER if leader is None else response.leader_id
    partition = answers.make(
        "PartitionData",
        partition_index=0,
        error_code=response.error,
        leader_id=leader_id,
        leader_epoch=response.leader_epoch,
        vote_granted=getattr(response, "vote_granted", False),
    )
    topic = answers.make("TopicData", topic_name=METADATA_TOPIC_NAME, partitions=(partition,))
    return answers.response(
        error_code=Error.NONE, topics=(topic,), node_endpoints=answers.node_endpoints(leader_id, leader)
    )


# --- outgoing requests; the sender adds the cluster id


def vote_fields(questions: Questions, request: VoteRequest) -> Fields:
    """Return the fields of the request. A pre-vote needs Vote v2; the caller checks that."""
    partition = questions.make(
        "PartitionData",
        partition_index=0,
        replica_epoch=request.candidate_epoch,
        replica_id=request.candidate.node_id,
        replica_directory_id=uuid_to(request.candidate.directory_id),
        voter_directory_id=uuid_to(request.voter.directory_id),
        last_offset_epoch=request.last_epoch,
        last_offset=request.last_epoch_end_offset,
        pre_vote=request.pre_vote,
    )
    return {"voter_id": request.voter.node_id, "topics": (_topic(questions, partition),)}


def begin_fields(questions: Questions, request: BeginQuorumEpochRequest) -> Fields:
    """Return the fields of the request."""
    partition = questions.make(
        "PartitionData",
        partition_index=0,
        voter_directory_id=uuid_to(request.voter.directory_id),
        leader_id=request.leader_id,
        leader_epoch=request.leader_epoch,
    )
    return {
        "voter_id": request.voter.node_id,
        "topics": (_topic(questions, partition),),
        "leader_endpoints": _leader_endpoints(questions, request.leader_endpoints),
    }


def end_fields(questions: Questions, request: EndQuorumEpochRequest) -> Fields:
    """Return the fields of the request."""
    candidates: tuple[Any, ...] = ()
    if questions.has("ReplicaInfo"):
        candidates = tuple(
            questions.make("ReplicaInfo", candidate_id=key.node_id, candidate_directory_id=uuid_to(key.directory_id))
            for key in request.preferred_candidates
        )
    partition = questions.make(
        "PartitionData",
        partition_index=0,
        leader_id=request.leader_id,
        leader_epoch=request.leader_epoch,
        preferred_candidates=candidates,
        preferred_successors=tuple(key.node_id for key in request.preferred_candidates),
    )
    return {
        "topics": (_topic(questions, partition),),
        "leader_endpoints": _leader_endpoints(questions, request.leader_endpoints),
    }


def _topic(questions: Questions, partition: Any) -> Any:
    return questions.make("TopicData", topic_name=METADATA_TOPIC_NAME, partitions=(partition,))


def _leader_endpoints(questions: Questions, endpoints: tuple[Endpoint, ...]) -> tuple[Any, ...]:
    if not questions.has("LeaderEndpoint"):
        return ()
    return questions.rows("LeaderEndpoint", endpoints)


def election_response_from(kind: type[ElectionRequest], body: Any) -> ElectionResponse:
    """Return the response to a request of that kind.

    Raises:
        BadFrame: it does not have exactly one partition of the metadata topic.
    """
    answer: Any = _ANSWER_OF[kind]
    if body.error_code:
        refused: ElectionResponse = answer(error=error_from(body.error_code), leader_epoch=NO_EPOCH)
        return refused
    partition = answered_partition(body.topics, *_OURS)
    vote = {"vote_granted": partition.vote_granted} if kind is VoteRequest else {}
    told: ElectionResponse = answer(
        error=error_from(partition.error_code),
        leader_id=NodeId(partition.leader_id),
        leader_epoch=Epoch(partition.leader_epoch),
        leader_endpoints=place_among(getattr(body, "node_endpoints", ()), partition.leader_id),
        **vote,
    )
    return told
