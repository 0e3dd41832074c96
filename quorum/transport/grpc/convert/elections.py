"""Vote, BeginQuorumEpoch and EndQuorumEpoch on the wire (KIP-595, KIP-853, KIP-996)."""

from __future__ import annotations

from kraft.v1 import common_pb2, quorum_pb2
from metadata_log.ids import NodeId, TopicId
from metadata_log.offsets import Epoch, Offset
from quorum.api.calls import PeerCall
from quorum.api.raft_messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)
from quorum.transport.grpc.convert.common import endpoints_from, endpoints_to
from quorum.transport.grpc.convert.partitions import answer_from, answer_to, call_of, only_partition, replica_key

# --- Vote


def vote_request_to(request: VoteRequest, *, cluster_id: str | None, topic_id: TopicId) -> quorum_pb2.VoteRequest:
    """Return the request's message."""
    partition = quorum_pb2.VoteRequest.Partition(
        replica_epoch=request.candidate_epoch,
        replica_id=request.candidate.node_id,
        replica_directory_id=request.candidate.directory_id,
        voter_directory_id=request.voter.directory_id,
        last_offset_epoch=request.last_epoch,
        last_offset=request.last_epoch_end_offset,
        pre_vote=request.pre_vote,
    )
    topic = quorum_pb2.VoteRequest.Topic(topic_id=topic_id, partitions=[partition])
    return quorum_pb2.VoteRequest(cluster_id=cluster_id, voter_id=request.voter.node_id, topics=[topic])


def vote_request_from(message: quorum_pb2.VoteRequest) -> PeerCall:
    """Return the call in `message`.

    Raises:
        BadMessage: it has no partition or several, or an id is not 16 bytes long.
    """
    topic_id, partition = only_partition(message.topics)
    request = VoteRequest(
        candidate=replica_key(partition.replica_id, partition.replica_directory_id),
        voter=replica_key(message.voter_id, partition.voter_directory_id),
        candidate_epoch=Epoch(partition.replica_epoch),
        last_epoch=Epoch(partition.last_offset_epoch),
        last_epoch_end_offset=Offset(partition.last_offset),
        pre_vote=partition.pre_vote,
    )
    return call_of(request, message, topic_id, partition)


def vote_response_to(response: VoteResponse, topic_id: TopicId) -> quorum_pb2.VoteResponse:
    """Return the response's message; `topic_id` as in the request."""
    return answer_to(quorum_pb2.VoteResponse, response, topic_id, vote_granted=response.vote_granted)


def vote_response_from(message: quorum_pb2.VoteResponse) -> VoteResponse:
    """Return the response in `message`.

    Raises:
        BadMessage: it does not have exactly one partition.
    """
    return answer_from(VoteResponse, message, lambda partition: {"vote_granted": partition.vote_granted})


# --- BeginQuorumEpoch


def begin_request_to(
    request: BeginQuorumEpochRequest, *, cluster_id: str | None, topic_id: TopicId
) -> quorum_pb2.BeginQuorumEpochRequest:
    """Return the request's message."""
    partition = quorum_pb2.BeginQuorumEpochRequest.Partition(
        voter_directory_id=request.voter.directory_id,
        leader_id=request.leader_id,
        leader_epoch=request.leader_epoch,
    )
    topic = quorum_pb2.BeginQuorumEpochRequest.Topic(topic_id=topic_id, partitions=[partition])
    return quorum_pb2.BeginQuorumEpochRequest(
        cluster_id=cluster_id,
        voter_id=request.voter.node_id,
        topics=[topic],
        leader_endpoints=endpoints_to(request.leader_endpoints),
    )


def begin_request_from(message: quorum_pb2.BeginQuorumEpochRequest) -> PeerCall:
    """Return the call in `message`.

    Raises:
        BadMessage: it has no partition or several, or an id is not 16 bytes long.
    """
    topic_id, partition = only_partition(message.topics)
    request = BeginQuorumEpochRequest(
        leader_id=NodeId(partition.leader_id),
        leader_epoch=Epoch(partition.leader_epoch),
        voter=replica_key(message.voter_id, partition.voter_directory_id),
        leader_endpoints=endpoints_from(message.leader_endpoints),
    )
    return call_of(request, message, topic_id, partition)


def begin_response_to(response: BeginQuorumEpochResponse, topic_id: TopicId) -> quorum_pb2.BeginQuorumEpochResponse:
    """Return the response's message; `topic_id` as in the request."""
    return answer_to(quorum_pb2.BeginQuorumEpochResponse, response, topic_id)


def begin_response_from(message: quorum_pb2.BeginQuorumEpochResponse) -> BeginQuorumEpochResponse:
    """Return the response in `message`.

    Raises:
        BadMessage: it does not have exactly one partition.
    """
    return answer_from(BeginQuorumEpochResponse, message)


# --- EndQuorumEpoch


def end_request_to(
    request: EndQuorumEpochRequest, *, cluster_id: str | None, topic_id: TopicId
) -> quorum_pb2.EndQuorumEpochRequest:
    """Return the request's message."""
    partition = quorum_pb2.EndQuorumEpochRequest.Partition(
        leader_id=request.leader_id,
        leader_epoch=request.leader_epoch,
        preferred_candidates=[
            common_pb2.ReplicaKey(node_id=key.node_id, directory_id=key.directory_id)
            for key in request.preferred_candidates
        ],
    )
    topic = quorum_pb2.EndQuorumEpochRequest.Topic(topic_id=topic_id, partitions=[partition])
    return quorum_pb2.EndQuorumEpochRequest(
        cluster_id=cluster_id, topics=[topic], leader_endpoints=endpoints_to(request.leader_endpoints)
    )


def end_request_from(message: quorum_pb2.EndQuorumEpochRequest) -> PeerCall:
    """Return the call in `message`.

    Raises:
        BadMessage: it has no partition or several, or an id is not 16 bytes long.
    """
    topic_id, partition = only_partition(message.topics)
    request = EndQuorumEpochRequest(
        leader_id=NodeId(partition.leader_id),
        leader_epoch=Epoch(partition.leader_epoch),
        preferred_candidates=tuple(
            replica_key(key.node_id, key.directory_id) for key in partition.preferred_candidates
        ),
        leader_endpoints=endpoints_from(message.leader_endpoints),
    )
    return call_of(request, message, topic_id, partition)


def end_response_to(response: EndQuorumEpochResponse, topic_id: TopicId) -> quorum_pb2.EndQuorumEpochResponse:
    """Return the response's message; `topic_id` as in the request."""
    return answer_to(quorum_pb2.EndQuorumEpochResponse, response, topic_id)


def end_response_from(message: quorum_pb2.EndQuorumEpochResponse) -> EndQuorumEpochResponse:
    """Return the response in `message`.

    Raises:
        BadMessage: it does not have exactly one partition.
    """
    return answer_from(EndQuorumEpochResponse, message)
