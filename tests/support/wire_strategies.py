"""Hypothesis strategies for every message that crosses the gRPC wire."""

from __future__ import annotations

from hypothesis import strategies as st

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey, TopicId, Uuid
from metadata_log.offsets import OffsetAndEpoch
from metadata_log.voters import Endpoint
from quorum.api import raft_messages as m
from quorum.api.brokers import (
    BrokerHeartbeat,
    BrokerHeartbeatResponse,
    FeatureRange,
    Listener,
    RegisterBroker,
    RegisterBrokerResponse,
)
from quorum.api.calls import ClientAnswer
from quorum.api.controllers import RegisterController, RegisterControllerResponse
from quorum.api.error_codes import Error
from quorum.api.partitions import (
    AlteredPartition,
    AlteredTopic,
    AlterPartition,
    AlterPartitionResponse,
    BrokerState,
    PartitionAlteration,
    TopicAlteration,
)
from quorum.api.topics import (
    CreatableConfig,
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicResult,
    CreateTopics,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopics,
    DeleteTopicsResponse,
    DeleteTopicState,
    DescribedPartition,
    DescribedTopic,
    DescribeTopics,
    DescribeTopicsResponse,
)

int32 = st.integers(-(1 << 31), (1 << 31) - 1)
int64 = st.integers(-(1 << 63), (1 << 63) - 1)
uint16 = st.integers(0, (1 << 16) - 1)
ids = st.binary(min_size=16, max_size=16)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
maybe_texts = st.none() | texts
errors = st.sampled_from(Error)
topic_ids = ids.map(TopicId)
directory_ids = ids.map(DirectoryId)


def tuples(of: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    """Return a strategy for short tuples."""
    return st.lists(of, max_size=3).map(tuple)


keys = st.builds(ReplicaKey, node_id=int32.map(NodeId), directory_id=directory_ids)
endpoints = st.builds(Endpoint, name=texts, host=texts, port=uint16)
ends = st.builds(OffsetAndEpoch, offset=int64, epoch=int32)
leader = {"leader_id": int32, "leader_epoch": int32, "leader_endpoints": tuples(endpoints)}

vote_requests = st.builds(
    m.VoteRequest,
    candidate=keys,
    voter=keys,
    candidate_epoch=int32,
    last_epoch=int32,
    last_epoch_end_offset=int64,
    pre_vote=st.booleans(),
)
begin_requests = st.builds(
    m.BeginQuorumEpochRequest, leader_id=int32, leader_epoch=int32, voter=keys, leader_endpoints=tuples(endpoints)
)
end_requests = st.builds(
    m.EndQuorumEpochRequest,
    leader_id=int32,
    leader_epoch=int32,
    preferred_candidates=tuples(keys),
    leader_endpoints=tuples(endpoints),
)
fetch_requests = st.builds(
    m.FetchRequest,
    replica=keys,
    current_leader_epoch=int32,
    fetch_offset=int64,
    last_fetched_epoch=int32,
    max_bytes=int32,
    max_wait_ms=int32,
    high_watermark=int64,
)
fetch_snapshot_requests = st.builds(
    m.FetchSnapshotRequest,
    replica=keys,
    current_leader_epoch=int32,
    snapshot_id=ends,
    position=int64,
    max_bytes=int32,
)
vote_responses = st.builds(m.VoteResponse, error=errors, vote_granted=st.booleans(), **leader)
begin_responses = st.builds(m.BeginQuorumEpochResponse, error=errors, **leader)
end_responses = st.builds(m.EndQuorumEpochResponse, error=errors, **leader)
fetch_responses = st.builds(
    m.FetchResponse,
    error=errors,
    high_watermark=int64,
    log_start_offset=int64,
    diverging=st.none() | ends,
    snapshot_id=st.none() | ends,
    records=st.binary(max_size=64),
    **leader,
)
fetch_snapshot_responses = st.builds(
    m.FetchSnapshotResponse,
    error=errors,
    snapshot_id=st.none() | ends,
    size=int64,
    position=int64,
    data=st.binary(max_size=64),
    **leader,
)

listeners = st.builds(Listener, name=texts, host=texts, port=uint16, security_protocol=int32)
_features = st.builds(FeatureRange, name=texts, min_supported_version=int32, max_supported_version=int32)
_creatable = st.builds(
    CreatableTopic,
    name=texts,
    num_partitions=int32,
    replication_factor=int32,
    assignments=tuples(st.builds(CreatableReplicaAssignment, partition_index=int32, broker_ids=tuples(int32))),
    configs=tuples(st.builds(CreatableConfig, name=texts, value=maybe_texts)),
)
_alteration = st.builds(
    PartitionAlteration,
    partition_index=int32,
    leader_epoch=int32,
    new_isr=tuples(st.builds(BrokerState, broker_id=int32, broker_epoch=int64)),
    partition_epoch=int32,
    leader_recovery_state=int32,
)
controller_requests: st.SearchStrategy[object] = st.one_of(
    st.builds(CreateTopics, topics=tuples(_creatable), timeout_ms=int32, validate_only=st.booleans()),
    st.builds(
        DeleteTopics,
        topics=tuples(st.builds(DeleteTopicState, name=maybe_texts, topic_id=st.none() | topic_ids)),
        timeout_ms=int32,
    ),
    st.builds(DescribeTopics, names=tuples(texts), topic_ids=tuples(topic_ids), all_topics=st.booleans()),
    st.builds(
        RegisterBroker,
        broker_id=int32,
        cluster_id=texts,
        incarnation_id=ids.map(Uuid),
        listeners=tuples(listeners),
        features=tuples(_features),
        rack=maybe_texts,
        log_dirs=tuples(directory_ids),
        previous_broker_epoch=int64,
    ),
    st.builds(
        BrokerHeartbeat,
        broker_id=int32,
        broker_epoch=int64,
        current_metadata_offset=int64,
        want_fence=st.booleans(),
        want_shut_down=st.booleans(),
        offline_log_dirs=tuples(directory_ids),
        cordoned_log_dirs=st.none() | tuples(directory_ids),
    ),
    st.builds(
        AlterPartition,
        broker_id=int32,
        broker_epoch=int64,
        topics=tuples(st.builds(TopicAlteration, topic_id=topic_ids, partitions=tuples(_alteration))),
    ),
    st.builds(
        RegisterController,
        controller_id=int32,
        incarnation_id=ids.map(Uuid),
        listeners=tuples(listeners),
        features=tuples(_features),
    ),
)

_described_partition = st.builds(
    DescribedPartition,
    partition_index=int32,
    leader_id=int32,
    leader_epoch=int32,
    partition_epoch=int32,
    replicas=tuples(int32),
    isr=tuples(int32),
    eligible_leader_replicas=tuples(int32),
    last_known_elr=tuples(int32),
    offline_replicas=tuples(int32),
    adding_replicas=tuples(int32),
    removing_replicas=tuples(int32),
)
described_topics = st.builds(
    DescribedTopic,
    error=errors,
    name=maybe_texts,
    topic_id=topic_ids,
    is_internal=st.booleans(),
    partitions=tuples(_described_partition),
    error_message=maybe_texts,
)
_altered = st.builds(
    AlteredPartition,
    partition_index=int32,
    error=errors,
    leader_id=int32,
    leader_epoch=int32,
    isr=tuples(int32),
    leader_recovery_state=int32,
    partition_epoch=int32,
)
_whole = {"error": errors, "error_message": maybe_texts}
controller_responses: st.SearchStrategy[object] = st.one_of(
    st.builds(
        CreateTopicsResponse,
        topics=tuples(
            st.builds(
                CreatableTopicResult,
                name=texts,
                error=errors,
                topic_id=topic_ids,
                error_message=maybe_texts,
                num_partitions=int32,
                replication_factor=int32,
            )
        ),
        **_whole,
    ),
    st.builds(
        DeleteTopicsResponse,
        topics=tuples(
            st.builds(
                DeletableTopicResult, error=errors, name=maybe_texts, topic_id=topic_ids, error_message=maybe_texts
            )
        ),
        **_whole,
    ),
    st.builds(DescribeTopicsResponse, topics=tuples(described_topics), **_whole),
    st.builds(RegisterBrokerResponse, broker_epoch=int64, **_whole),
    st.builds(
        BrokerHeartbeatResponse,
        is_caught_up=st.booleans(),
        is_fenced=st.booleans(),
        should_shut_down=st.booleans(),
        **_whole,
    ),
    st.builds(
        AlterPartitionResponse,
        topics=tuples(st.builds(AlteredTopic, topic_id=topic_ids, partitions=tuples(_altered))),
        **_whole,
    ),
    st.builds(RegisterControllerResponse, **_whole),
)

_position = {"image_offset": int64, "image_epoch": int32, "leader_id": int32, "leader_epoch": int32}
refusals = st.builds(
    ClientAnswer,
    error=errors.filter(lambda error: error is not Error.NONE),
    message=maybe_texts,
    response=st.none(),
    leader_endpoints=tuples(endpoints),
    **_position,
)
successes = st.builds(ClientAnswer, error=st.just(Error.NONE), response=controller_responses, **_position)
