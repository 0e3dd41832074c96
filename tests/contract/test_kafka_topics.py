"""Clients' requests about topics at the Kafka listener, direct and in an Envelope."""

from __future__ import annotations

import struct

import msgspec
import pytest
from kio.schema.create_topics.v7.response import CreateTopicsResponse
from kio.schema.describe_quorum.v2.response import DescribeQuorumResponse
from kio.serial import entity_reader

from metadata_log.ids import ZERO_TOPIC_ID, TopicId
from quorum.api.calls import ClientAnswer
from quorum.api.configs import (
    AlterableConfig,
    AlterableResource,
    AlteredResource,
    IncrementalAlterConfigs,
    IncrementalAlterConfigsResponse,
)
from quorum.api.context import ANONYMOUS
from quorum.api.error_codes import Error
from quorum.api.partition_counts import CreatePartitions, CreatePartitionsResponse, GrowingTopic, GrownTopic
from quorum.api.topics import (
    ConfigSource,
    CreatableConfig,
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicResult,
    CreateTopics,
    DeletableTopicResult,
    DeleteTopics,
    DeleteTopicsResponse,
    DeleteTopicState,
    EffectiveConfig,
)
from quorum.api.topics import CreateTopicsResponse as ApiCreateTopicsResponse
from quorum.controller.authorizer import Authorizer
from tests.support.kafka_exchange import exchange, only_answer
from tests.support.kafka_requests import (
    ID,
    alter_partition,
    create_partitions,
    create_topics,
    delete_topics,
    describe_quorum,
    envelope,
    incremental_alter_configs,
)
from tests.support.kafka_wire import connected, kafka_door, request_bytes, written
from tests.support.loop import run
from tests.support.scripted_node import ScriptedNode

TOPIC_ID = TopicId(ID.bytes)
CREATED = ApiCreateTopicsResponse(
    topics=(
        CreatableTopicResult(
            name="t",
            error=Error.NONE,
            topic_id=TOPIC_ID,
            num_partitions=3,
            replication_factor=2,
            configs=(EffectiveConfig(name="flush.ms", value="1", source=ConfigSource.DYNAMIC_TOPIC_CONFIG),),
        ),
    )
)
ASKED = CreateTopics(
    topics=(
        CreatableTopic(
            name="t",
            assignments=(CreatableReplicaAssignment(partition_index=0, broker_ids=(11, 12)),),
            configs=(CreatableConfig(name="flush.ms", value="1"), CreatableConfig(name="x", value=None)),
        ),
    ),
    timeout_ms=5000,
    validate_only=True,
)


class TestCreateTopics:
    @pytest.mark.parametrize("version", range(2, 8))
    def test_each_field(self, version: int) -> None:
        call, said = exchange(create_topics(version), ClientAnswer(response=CREATED))
        assert call.request == msgspec.structs.replace(ASKED, wants_configs=version > 4)
        assert call.context.deadline_ms is not None
        (topic,) = said.topics
        assert (topic.name, topic.error_code.value, topic.error_message) == ("t", 0, None)
        if version > 4:
            assert (topic.num_partitions, topic.replication_factor) == (3, 2)
            assert topic.topic_config_error_code == 0
            ((name, value, source),) = ((each.name, each.value, each.config_source) for each in topic.configs)
            assert (name, value, source) == ("flush.ms", "1", 1)
        if version > 6:
            assert topic.topic_id == ID

    @pytest.mark.parametrize("version", [4, 7])
    def test_a_refusal_that_repeats_a_long_name_is_cut(self, version: int) -> None:
        """No text in Kafka's protocol is longer than 32,767 bytes: its clients could not read the response."""
        topic = CreatableTopicResult(
            name="t", error=Error.INVALID_TOPIC_EXCEPTION, topic_id=ZERO_TOPIC_ID, error_message="ü" * 32_767
        )
        answer = ClientAnswer(response=ApiCreateTopicsResponse(topics=(topic,)))
        _, said = exchange(create_topics(version), answer)
        assert said.topics[0].error_message == "ü" * 4_000 + "..."

    def test_the_configs_that_the_asker_may_not_see(self) -> None:
        topic = CreatableTopicResult(
            name="t", error=Error.NONE, topic_id=TOPIC_ID, config_error=Error.TOPIC_AUTHORIZATION_FAILED
        )
        _, said = exchange(create_topics(7), ClientAnswer(response=ApiCreateTopicsResponse(topics=(topic,))))
        (told,) = said.topics
        assert (told.topic_config_error_code, told.num_partitions) == (29, -1)
        assert told.configs == (), "Kafka's Admin fails where it is null"

    def test_a_refusal_stands_at_each_topic(self) -> None:
        _, said = exchange(create_topics(7), ClientAnswer(error=Error.NOT_CONTROLLER, message="why"))
        assert [(each.name, each.error_code.value, each.error_message) for each in said.topics] == [("t", 41, "why")]

    def test_no_time_is_no_deadline_but_a_refusal_of_the_controller(self) -> None:
        call, _ = exchange(create_topics(7, timeout_ms=-1), ClientAnswer(response=CREATED))
        assert call.request.timeout_ms == -1  # type: ignore[attr-defined]
        assert call.context.deadline_ms is None


class TestDeleteTopics:
    @pytest.mark.parametrize("version", range(1, 7))
    def test_by_name_and_by_id(self, version: int) -> None:
        response = DeleteTopicsResponse(
            topics=(
                DeletableTopicResult(error=Error.NONE, name="t", topic_id=TOPIC_ID),
                DeletableTopicResult(error=Error.UNKNOWN_TOPIC_ID, name="u", topic_id=ZERO_TOPIC_ID),
            )
        )
        call, said = exchange(delete_topics(version), ClientAnswer(response=response))
        states = (DeleteTopicState(name="t"), DeleteTopicState(name="u"))
        if version > 5:
            states = (
                DeleteTopicState(name="t", topic_id=ZERO_TOPIC_ID),
                DeleteTopicState(name=None, topic_id=TOPIC_ID),
            )
        assert call.request == DeleteTopics(topics=states, timeout_ms=5000)
        assert [(each.name, each.error_code.value) for each in said.responses] == [("t", 0), ("u", 100)]
        if version > 5:
            assert [each.topic_id for each in said.responses] == [ID, None]

    @pytest.mark.parametrize(("version", "error"), [(1, 42), (2, 42), (3, 73), (6, 73)])
    def test_that_nothing_may_be_deleted_is_told_in_the_words_of_the_version(self, version: int, error: int) -> None:
        refused = DeletableTopicResult(error=Error.TOPIC_DELETION_DISABLED, name="t", topic_id=ZERO_TOPIC_ID)
        answer = ClientAnswer(response=DeleteTopicsResponse(topics=(refused,)))
        _, said = exchange(delete_topics(version), answer)
        assert [each.error_code.value for each in said.responses] == [error]


class TestCreatePartitions:
    @pytest.mark.parametrize("version", range(4))
    def test_each_field(self, version: int) -> None:
        grown = (GrownTopic(name="t"), GrownTopic(name="u", error=Error.INVALID_PARTITIONS, error_message="why"))
        call, said = exchange(create_partitions(version), ClientAnswer(response=CreatePartitionsResponse(topics=grown)))
        assert call.request == CreatePartitions(
            topics=(
                GrowingTopic(name="t", count=3, assignments=((11, 12),)),
                GrowingTopic(name="u", count=4, assignments=None),
            ),
            timeout_ms=5000,
            validate_only=True,
        )
        results = [(each.name, each.error_code.value, each.error_message) for each in said.results]
        assert results == [("t", 0, None), ("u", 37, "why")]


class TestIncrementalAlterConfigs:
    @pytest.mark.parametrize("version", range(2))
    def test_each_field(self, version: int) -> None:
        altered = AlteredResource(resource_type=2, name="t", error=Error.INVALID_CONFIG, error_message="why")
        response = IncrementalAlterConfigsResponse(resources=(altered,))
        call, said = exchange(incremental_alter_configs(version), ClientAnswer(response=response))
        configs = (
            AlterableConfig(name="flush.ms", operation=0, value="1"),
            AlterableConfig(name="x", operation=1, value=None),
        )
        resource = AlterableResource(resource_type=2, name="t", configs=configs)
        assert call.request == IncrementalAlterConfigs(resources=(resource,), validate_only=True)
        (answered,) = said.responses
        assert (answered.resource_type, answered.resource_name) == (2, "t")
        assert (answered.error_code.value, answered.error_message) == (40, "why")


class TestEnvelope:
    def test_the_request_within_is_the_clients(self) -> None:
        call, said = exchange(envelope(), ClientAnswer(response=CREATED), host="10.1.2.3")
        assert call.request == msgspec.structs.replace(ASKED, wants_configs=True)
        assert (call.context.principal, call.context.forwarded_by) == ("User:ANONYMOUS", None)
        assert said.error_code.value == 0
        assert struct.unpack(">ib", said.response_data[:5]) == (42, 0), "the client's own number, and no tags"
        within, size = entity_reader(CreateTopicsResponse)(said.response_data, 5)
        assert size == len(said.response_data) - 5
        assert (within.topics[0].name, within.topics[0].topic_id) == ("t", ID)

    def test_an_address_of_sixteen_bytes_and_another_principal(self) -> None:
        request = envelope(request_principal=b"\0\0\5User\4eve\1\0", client_host_address=bytes(15) + b"\1")
        call, _ = exchange(request, ClientAnswer(response=CREATED), host="::1")
        assert call.context.principal == "User:eve"

    @pytest.mark.parametrize(
        ("client_id", "node_id"), [("11", 11), ("9" * 5_000, None), ("-1", None), ("admin", None), (None, None)]
    )
    def test_who_passes_it_on_is_known_by_the_client_id(self, client_id: str | None, node_id: int | None) -> None:
        node = ScriptedNode()
        node.at_once = lambda call: ClientAnswer(response=CREATED)

        async def main() -> None:
            async with kafka_door(node) as door, connected(door.port) as client:
                await client.send_bytes(request_bytes(58, 0, written(envelope()), 1, client_id))
                await client.frame()

        run(main())
        assert [call.context.forwarded_by for call in node.calls] == [node_id]

    def test_not_controller_is_for_the_broker(self) -> None:
        _, said = exchange(envelope(), ClientAnswer(error=Error.NOT_CONTROLLER), host="10.1.2.3")
        assert (said.error_code.value, said.response_data) == (41, None)

    def test_other_refusals_are_for_the_client(self) -> None:
        _, said = exchange(envelope(), ClientAnswer(error=Error.REQUEST_TIMED_OUT), host="10.1.2.3")
        within, _ = entity_reader(CreateTopicsResponse)(said.response_data, 5)
        assert (said.error_code.value, within.topics[0].error_code.value) == (0, 7)

    def test_describing_the_quorum(self) -> None:
        data = request_bytes(55, 2, written(describe_quorum(2)), 42)[4:]
        said = only_answer(envelope(request_data=data))
        assert said.error_code.value == 0
        assert said.response_data

    def test_only_a_broker_may_pass_on(self) -> None:
        said = only_answer(envelope(), Authorizer())
        assert (said.error_code.value, said.response_data) == (Error.CLUSTER_AUTHORIZATION_FAILED, None)

    def test_describing_the_quorum_to_who_has_no_right_to_it(self) -> None:
        data = request_bytes(55, 2, written(describe_quorum(2)), 42)[4:]
        broker = Authorizer(super_users=frozenset({ANONYMOUS}))
        said = only_answer(envelope(request_data=data, request_principal=b"\0\0\5User\4eve\1\0"), broker)
        within, _ = entity_reader(DescribeQuorumResponse)(said.response_data, 5)
        assert (within.error_code.value, within.topics) == (Error.CLUSTER_AUTHORIZATION_FAILED, ())

    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"request_data": b""}, Error.INVALID_REQUEST),
            ({"request_data": request_bytes(19, 7, b"\7")[4:]}, Error.INVALID_REQUEST),
            ({"request_data": request_bytes(56, 3, written(alter_partition(3)))[4:]}, Error.INVALID_REQUEST),
            ({"request_data": request_bytes(58, 0, written(envelope()))[4:]}, Error.INVALID_REQUEST),
            ({"request_data": struct.pack(">hhih", 19, 99, 1, -1)}, Error.UNSUPPORTED_VERSION),
            ({"request_data": struct.pack(">hhih", 999, 0, 1, -1)}, Error.UNSUPPORTED_VERSION),
            ({"request_principal": b"\0\1\5User\nANONYMOUS\0\0"}, Error.PRINCIPAL_DESERIALIZATION_FAILURE),
            ({"request_principal": b"\0\0\5Us"}, Error.PRINCIPAL_DESERIALIZATION_FAILURE),
            ({"request_principal": None}, Error.PRINCIPAL_DESERIALIZATION_FAILURE),
            ({"client_host_address": b"\1\2\3"}, Error.INVALID_REQUEST),
        ],
    )
    def test_what_cannot_be_opened(self, changes: dict[str, bytes], error: Error) -> None:
        said = only_answer(envelope(**changes))
        assert (said.error_code.value, said.response_data) == (error, None)
