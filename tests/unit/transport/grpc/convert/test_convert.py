"""Every message survives a round trip on the wire. A message that cannot be understood gets Kafka's error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.v1 import access_pb2, admin_pb2, controller_pb2, quorum_pb2
from metadata_log.ids import METADATA_TOPIC_ID, ZERO_DIRECTORY_ID, DirectoryId, ReplicaKey, TopicId, Uuid
from metadata_log.image import AclEntry
from metadata_log.offsets import NO_EPOCH, Epoch, Offset
from quorum.api import raft_messages as m
from quorum.api.acls import AclDeletionResult, AclFilter, DeleteAclsResponse, DescribeAcls, DescribeAclsResponse
from quorum.api.calls import ClientAnswer, PeerCall
from quorum.api.cluster import DescribeCluster, DescribeClusterResponse, DescribedBroker, FinalizedFeature
from quorum.api.described_configs import (
    ConfigSynonym,
    DescribeConfigs,
    DescribeConfigsResponse,
    DescribedConfig,
    DescribedResource,
)
from quorum.api.error_codes import Error
from quorum.api.leader_hint import NO_LEADER
from quorum.api.quotas import DescribeClientQuotas, DescribeClientQuotasResponse, DescribedQuota
from quorum.api.scram import DescribedScramUser, DescribeUserScramCredentials, DescribeUserScramCredentialsResponse
from quorum.api.topics import (
    ConfigSource,
    CreatableTopic,
    CreateTopics,
    DescribedPartition,
    DescribedTopic,
    DescribeTopics,
    DescribeTopicsResponse,
)
from quorum.transport.grpc.convert import calls, elections
from quorum.transport.grpc.convert.common import BadMessage, error_from
from quorum.transport.grpc.convert.consistency import AT_LEAST, LINEARIZABLE, at_least_offset_in
from quorum.transport.grpc.convert.fetch import (
    fetch_request_from,
    fetch_request_to,
    fetch_response_from,
    fetch_response_to,
)
from quorum.transport.grpc.convert.fetch_snapshot import (
    fetch_snapshot_request_from,
    fetch_snapshot_request_to,
    fetch_snapshot_response_from,
    fetch_snapshot_response_to,
)
from quorum.transport.grpc.convert.partitions import TOP_LEVEL_ERRORS
from quorum.transport.grpc.convert.parts import ANSWERED_LONG, PART_WEIGHT, joined, parts_of, weight_of
from tests.support import wire_strategies as wire

cluster_ids = st.none() | wire.texts


def _over_the_wire(message: Any) -> Any:
    return type(message).FromString(message.SerializeToString())


ACL_FILTER = AclFilter(
    resource_type=1, resource_name=None, pattern_type=1, principal=None, host=None, operation=1, permission_type=1
)
READS: dict[Any, Any] = {
    DescribeTopics(all_topics=True): controller_pb2.DescribeTopicsRequest,
    DescribeConfigs(resources=()): admin_pb2.DescribeConfigsRequest,
    DescribeAcls(asked=ACL_FILTER): access_pb2.DescribeAclsRequest,
    DescribeClientQuotas(): access_pb2.DescribeClientQuotasRequest,
    DescribeCluster(): controller_pb2.DescribeClusterRequest,
    DescribeUserScramCredentials(): access_pb2.DescribeUserScramCredentialsRequest,
}
"""Requests that name their consistency, and their messages."""


def _configs(count: int) -> tuple[DescribedConfig, ...]:
    synonym = ConfigSynonym(name="log.x", value="1", source=ConfigSource.DEFAULT_CONFIG)
    config = DescribedConfig(name="x", value="1", source=synonym.source, kind=2, synonyms=(synonym,))
    return (config,) * count


def _entries(count: int) -> tuple[AclEntry, ...]:
    return tuple(
        AclEntry(
            resource_type=2,
            resource_name="orders",
            pattern_type=3,
            principal=f"User:{number}",
            host="*",
            operation=3,
            permission_type=3,
        )
        for number in range(count)
    )


def _numbered(topic: DescribedTopic) -> DescribedTopic:
    """With its partitions in order, as an image has them."""
    partitions = tuple(
        msgspec.structs.replace(partition, partition_index=index) for index, partition in enumerate(topic.partitions)
    )
    return msgspec.structs.replace(topic, partitions=partitions)


def _topic(name: str, partitions: int) -> DescribedTopic:
    one = DescribedPartition(
        partition_index=0, leader_id=1, leader_epoch=0, partition_epoch=0, replicas=(1,), isr=(1,),
        eligible_leader_replicas=(), last_known_elr=(), offline_replicas=(),
    )  # fmt: skip
    topic_id = TopicId(name.encode().ljust(16))
    return _numbered(DescribedTopic(error=Error.NONE, name=name, topic_id=topic_id, partitions=(one,) * partitions))


_LARGE = _topic("large", 3 * PART_WEIGHT)
DIVIDED = (
    DescribeTopicsResponse(topics=(_topic("a", 3), _LARGE, _LARGE, _topic("exact", PART_WEIGHT - 1), _topic("b", 0))),
    DescribeConfigsResponse(
        resources=tuple(DescribedResource(resource_type=2, name=f"t{n}", configs=_configs(40)) for n in range(300))
    ),
    DescribeAclsResponse(entries=_entries(25_000)),
    DescribeUserScramCredentialsResponse(results=tuple(DescribedScramUser(user=str(n)) for n in range(25_000))),
    DescribeClientQuotasResponse(
        entries=tuple(
            DescribedQuota(entity=(("user", str(n)),), values=(("producer_byte_rate", float(n)),) * 2)
            for n in range(10_000)
        )
    ),
    DescribeClusterResponse(
        cluster_id="c",
        brokers=tuple(
            DescribedBroker(
                broker_id=n, broker_epoch=n, incarnation_id=Uuid(bytes(16)), log_dirs=(DirectoryId(bytes(16)),) * 3
            )
            for n in range(7_000)
        ),
        finalized_features=(FinalizedFeature(name="metadata.version", level=30),),
    ),
    DeleteAclsResponse(results=tuple(AclDeletionResult(matching=_entries(n)) for n in range(300))),
)
"""Answers that are longer than a message should be."""


class TestPeers:
    @given(wire.vote_requests, cluster_ids, wire.topic_ids)
    def test_vote(self, request: m.VoteRequest, cluster_id: str | None, topic_id: TopicId) -> None:
        message = elections.vote_request_to(request, cluster_id=cluster_id, topic_id=topic_id)
        assert elections.vote_request_from(_over_the_wire(message)) == PeerCall(
            request=request, cluster_id=cluster_id, topic_id=topic_id
        )

    @given(wire.begin_requests, cluster_ids, wire.topic_ids)
    def test_begin_quorum_epoch(
        self, request: m.BeginQuorumEpochRequest, cluster_id: str | None, topic_id: TopicId
    ) -> None:
        message = elections.begin_request_to(request, cluster_id=cluster_id, topic_id=topic_id)
        assert elections.begin_request_from(_over_the_wire(message)) == PeerCall(
            request=request, cluster_id=cluster_id, topic_id=topic_id
        )

    @given(wire.end_requests, cluster_ids, wire.topic_ids)
    def test_end_quorum_epoch(
        self, request: m.EndQuorumEpochRequest, cluster_id: str | None, topic_id: TopicId
    ) -> None:
        message = elections.end_request_to(request, cluster_id=cluster_id, topic_id=topic_id)
        assert elections.end_request_from(_over_the_wire(message)) == PeerCall(
            request=request, cluster_id=cluster_id, topic_id=topic_id
        )

    @given(wire.fetch_requests, cluster_ids, wire.topic_ids, wire.int64)
    def test_fetch(
        self, request: m.FetchRequest, cluster_id: str | None, topic_id: TopicId, correlation_id: int
    ) -> None:
        message = _over_the_wire(
            fetch_request_to(request, cluster_id=cluster_id, topic_id=topic_id, correlation_id=correlation_id)
        )
        assert message.correlation_id == correlation_id
        assert fetch_request_from(message) == PeerCall(request=request, cluster_id=cluster_id, topic_id=topic_id)

    @given(wire.vote_responses, wire.topic_ids)
    def test_vote_answer(self, response: m.VoteResponse, topic_id: TopicId) -> None:
        message = _over_the_wire(elections.vote_response_to(response, topic_id))
        _check_answer(elections.vote_response_from(message), response, message, topic_id)

    @given(wire.begin_responses, wire.topic_ids)
    def test_begin_answer(self, response: m.BeginQuorumEpochResponse, topic_id: TopicId) -> None:
        message = _over_the_wire(elections.begin_response_to(response, topic_id))
        _check_answer(elections.begin_response_from(message), response, message, topic_id)

    @given(wire.end_responses, wire.topic_ids)
    def test_end_answer(self, response: m.EndQuorumEpochResponse, topic_id: TopicId) -> None:
        message = _over_the_wire(elections.end_response_to(response, topic_id))
        _check_answer(elections.end_response_from(message), response, message, topic_id)

    @given(wire.fetch_snapshot_requests, cluster_ids, wire.topic_ids)
    def test_fetch_snapshot(self, request: m.FetchSnapshotRequest, cluster_id: str | None, topic_id: TopicId) -> None:
        message = _over_the_wire(fetch_snapshot_request_to(request, cluster_id=cluster_id, topic_id=topic_id))
        call = PeerCall(request=request, cluster_id=cluster_id, topic_id=topic_id)
        assert fetch_snapshot_request_from(message) == call

    @given(wire.fetch_snapshot_responses, wire.topic_ids)
    def test_fetch_snapshot_answer(self, response: m.FetchSnapshotResponse, topic_id: TopicId) -> None:
        message = _over_the_wire(fetch_snapshot_response_to(response, topic_id))
        _check_answer(fetch_snapshot_response_from(message), response, message, topic_id)

    @given(wire.fetch_responses, wire.topic_ids, wire.int64)
    def test_fetch_answer(self, response: m.FetchResponse, topic_id: TopicId, correlation_id: int) -> None:
        message = _over_the_wire(fetch_response_to(response, topic_id, correlation_id))
        assert message.correlation_id == correlation_id
        _check_answer(fetch_response_from(message), response, message, topic_id)


def _check_answer(back: Any, response: Any, message: Any, topic_id: TopicId) -> None:
    if response.error in TOP_LEVEL_ERRORS:
        assert (back.error, back.leader_id, back.leader_epoch) == (response.error, NO_LEADER, NO_EPOCH)
        assert not message.topics
    else:
        assert back == response
        assert message.topics[0].topic_id == topic_id


class TestClients:
    @given(wire.controller_requests, st.integers(0, (1 << 64) - 1), st.integers(0, (1 << 32) - 1))
    def test_request(self, request: object, request_id: int, timeout_ms: int) -> None:
        call = _over_the_wire(calls.call_to(request_id, request, timeout_ms=timeout_ms))
        kind = calls.kind_in(call)
        assert (call.request_id, call.timeout_ms) == (request_id, timeout_ms)
        assert kind.request_from(getattr(call, kind.name)) == request

    @given(st.sampled_from(list(READS)), st.integers(0, (1 << 63) - 1))
    def test_a_read_names_the_offset_that_it_must_see(self, read: Any, offset: int) -> None:
        message = _over_the_wire(calls.request_to(read, Offset(offset)))
        assert at_least_offset_in(message) == offset

    def test_a_read_that_names_none_is_linearizable(self) -> None:
        for read in READS:
            message = _over_the_wire(calls.request_to(read))
            assert (message.consistency, at_least_offset_in(message)) == (LINEARIZABLE, -1)

    def test_every_message_that_has_a_consistency_is_a_read(self) -> None:
        asked = [field.message_type for field in controller_pb2.Call.DESCRIPTOR.oneofs_by_name["request"].fields]
        named = {message.name for message in asked if "at_least_offset" in message.fields_by_name}
        in_rows = {message.DESCRIPTOR.name for message in READS.values()}
        assert sorted(named - in_rows) == [], "add an example of the read to READS above"
        assert sorted(in_rows - named) == [], "give its message at_least_offset and consistency in the .proto"

    @pytest.mark.parametrize(
        ("fields", "offset"),
        [
            ({}, -1),
            ({"consistency": LINEARIZABLE}, -1),
            ({"at_least_offset": 7}, 7),
            ({"consistency": AT_LEAST}, 0),
            ({"consistency": AT_LEAST, "at_least_offset": 7}, 7),
        ],
    )
    def test_what_a_read_has_to_be_of(self, fields: dict[str, Any], offset: int) -> None:
        for message in READS.values():
            assert at_least_offset_in(message(**fields)) == offset

    @given(wire.successes, st.integers(0, (1 << 64) - 1))
    def test_answer(self, answer: ClientAnswer, request_id: int) -> None:
        kind = next(kind for kind in calls.KINDS if type(answer.response) is kind.response)
        message = _over_the_wire(calls.answer_to(request_id, kind, answer))
        assert message.request_id == request_id
        assert calls.answer_from(message) == answer

    @given(wire.refusals, st.sampled_from(calls.KINDS))
    def test_refusal(self, answer: ClientAnswer, kind: calls.Kind) -> None:
        assert calls.answer_from(_over_the_wire(calls.answer_to(1, kind, answer))) == answer
        assert calls.answer_from(_over_the_wire(calls.unknown_answer_to(1, answer))) == answer

    @given(st.lists(wire.described_topics, max_size=20), st.integers(0, 3))
    def test_an_answer_in_parts_is_joined_to_what_it_was(self, topics: list[DescribedTopic], copies: int) -> None:
        many = tuple(map(_numbered, topics)) * (PART_WEIGHT // 8) * copies
        answer = ClientAnswer(response=DescribeTopicsResponse(topics=many), image_offset=Offset(7))
        parts = list(parts_of(answer))
        assert [has_more for _, has_more in parts] == [True] * (len(parts) - 1) + [False]
        assert all(weight_of(part.response) <= PART_WEIGHT + 1 for part, _ in parts)
        assert joined([part for part, _ in parts]) == answer

    def test_every_divided_response_has_an_example(self) -> None:
        in_rows = {type(response).__name__.removesuffix("Response") for response in DIVIDED}
        assert sorted(ANSWERED_LONG - in_rows) == [], "add an example of its response to DIVIDED above"
        assert sorted(in_rows - ANSWERED_LONG) == [], "divide its response in quorum/transport/grpc/convert/parts.py"

    @pytest.mark.parametrize("response", DIVIDED, ids=lambda response: type(response).__name__)
    def test_every_answer_that_may_be_long_is_divided(self, response: Any) -> None:
        answer = ClientAnswer(response=response, image_offset=Offset(7))
        assert weight_of(response) > 2 * PART_WEIGHT
        parts = [part for part, _ in parts_of(answer)]
        assert len(parts) > 2
        assert all(weight_of(part.response) <= PART_WEIGHT + 1 for part in parts)
        assert joined(parts) == answer

    def test_the_rows_are_in_the_order_of_the_fields(self) -> None:
        fields = controller_pb2.Call.DESCRIPTOR.oneofs_by_name["request"].fields
        assert [kind.name for kind in calls.KINDS] == [field.name for field in fields]


class TestWhatCannotBeUnderstood:
    @pytest.mark.parametrize(
        ("convert", "message_type"),
        [
            (elections.vote_request_from, quorum_pb2.VoteRequest),
            (elections.begin_request_from, quorum_pb2.BeginQuorumEpochRequest),
            (elections.end_request_from, quorum_pb2.EndQuorumEpochRequest),
            (fetch_request_from, quorum_pb2.FetchRequest),
            (fetch_snapshot_request_from, quorum_pb2.FetchSnapshotRequest),
        ],
    )
    @pytest.mark.parametrize(
        ("topics", "partitions", "why"),
        [(0, 1, "0 topics"), (2, 1, "2 topics"), (1, 0, "0 partitions"), (1, 2, "2 partitions")],
    )
    def test_not_one_topic_and_partition(
        self, convert: Callable[[Any], PeerCall], message_type: Any, topics: int, partitions: int, why: str
    ) -> None:
        topic = message_type.Topic(topic_id=METADATA_TOPIC_ID, partitions=[message_type.Partition()] * partitions)
        with pytest.raises(BadMessage, match=why) as raised:
            convert(message_type(topics=[topic] * topics))
        assert raised.value.error is Error.INVALID_REQUEST

    def test_a_topic_id_of_another_length(self) -> None:
        topic = quorum_pb2.VoteRequest.Topic(topic_id=b"abc", partitions=[quorum_pb2.VoteRequest.Partition()])
        with pytest.raises(BadMessage, match="topic id has 3 bytes, not 16"):
            elections.vote_request_from(quorum_pb2.VoteRequest(topics=[topic]))

    def test_a_directory_id_of_another_length(self) -> None:
        partition = quorum_pb2.FetchRequest.Partition(replica_directory_id=b"abc")
        topic = quorum_pb2.FetchRequest.Topic(topic_id=METADATA_TOPIC_ID, partitions=[partition])
        with pytest.raises(BadMessage, match="directory id has 3 bytes, not 16"):
            fetch_request_from(quorum_pb2.FetchRequest(topics=[topic]))

    def test_a_missing_directory_id_is_none_known(self) -> None:
        topic = quorum_pb2.FetchRequest.Topic(
            topic_id=METADATA_TOPIC_ID, partitions=[quorum_pb2.FetchRequest.Partition()]
        )
        request = fetch_request_from(quorum_pb2.FetchRequest(topics=[topic])).request
        assert isinstance(request, m.FetchRequest)
        assert request.replica == ReplicaKey(node_id=m.NodeId(0), directory_id=ZERO_DIRECTORY_ID)
        assert request.high_watermark == m.UNKNOWN_OFFSET

    def test_a_call_without_a_request(self) -> None:
        with pytest.raises(BadMessage, match="no request that this controller knows") as raised:
            calls.kind_in(controller_pb2.Call(request_id=1))
        assert raised.value.error is Error.UNSUPPORTED_VERSION

    def test_an_incarnation_id_that_is_missing(self) -> None:
        kind = calls.KIND_BY_NAME["register_broker"]
        with pytest.raises(BadMessage, match="incarnation id has 0 bytes, not 16"):
            kind.request_from(controller_pb2.RegisterBrokerRequest())

    def test_a_negative_at_least_offset(self) -> None:
        with pytest.raises(BadMessage, match="at_least_offset is -2"):
            at_least_offset_in(controller_pb2.DescribeTopicsRequest(at_least_offset=-2))

    def test_an_offset_for_a_linearizable_read(self) -> None:
        request = controller_pb2.DescribeTopicsRequest(consistency=LINEARIZABLE, at_least_offset=3)
        with pytest.raises(BadMessage, match="a linearizable read takes no at_least_offset"):
            at_least_offset_in(request)

    def test_a_consistency_of_newer_software(self) -> None:
        request = controller_pb2.DescribeTopicsRequest()
        request.ParseFromString(b"\x28\x63")
        with pytest.raises(BadMessage, match="no consistency 99"):
            at_least_offset_in(request)

    def test_an_unknown_error_code_is_an_unknown_error(self) -> None:
        assert error_from(9999) is Error.UNKNOWN_SERVER_ERROR
        assert all(error_from(int(error)) is error for error in Error)

    def test_fields_of_newer_software_are_passed_over(self) -> None:
        request = m.EndQuorumEpochRequest(leader_id=m.NodeId(1), leader_epoch=Epoch(5))
        known = elections.end_request_to(request, cluster_id="c", topic_id=METADATA_TOPIC_ID)
        newer = quorum_pb2.EndQuorumEpochRequest.FromString(known.SerializeToString() + b"\xf2\x3f\x03new")
        assert elections.end_request_from(newer).request == request

    def test_defaults_of_what_is_left_out(self) -> None:
        topic = controller_pb2.CreatableTopic(name="t")
        kind = calls.KIND_BY_NAME["create_topics"]
        assert kind.request_from(controller_pb2.CreateTopicsRequest(topics=[topic])) == CreateTopics(
            topics=(CreatableTopic(name="t", num_partitions=-1, replication_factor=-1),), timeout_ms=60_000
        )
