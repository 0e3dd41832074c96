"""The Python client against real listeners: which controller it asks, and what it returns."""

from __future__ import annotations

import asyncio
import re

import pytest

from metadata_log.ids import ZERO_TOPIC_ID
from metadata_log.voters import Endpoint
from quorum.api.calls import ClientAnswer, ClientCall
from quorum.api.error_codes import Error
from quorum.api.topics import (
    CreatableTopicResult,
    CreateTopics,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicsResponse,
    DescribedPartition,
    DescribedTopic,
    DescribeTopics,
    DescribeTopicsResponse,
)
from quorum.cli.demo.cluster import free_ports
from quorum.client import (
    AddressError,
    Admin,
    Client,
    ClientError,
    ClosedError,
    CreatableTopic,
    InvalidTopicError,
    OutcomeUnknownError,
    RefusedError,
    TopicExistsError,
    UnavailableError,
    UnknownTopicError,
    WrongListenerError,
)
from quorum.server.kafka.listen import listen_kafka
from tests.support.client_nodes import ID, active, failing, scripted_nodes, standby
from tests.support.loop import run, until
from tests.support.scripted_node import NODE_ID, ScriptedNode, served


def _partitions(count: int) -> tuple[DescribedPartition, ...]:
    nodes = tuple(range(2_000_000_000, 2_000_000_015))
    return tuple(
        DescribedPartition(
            partition_index=index, leader_id=nodes[0], leader_epoch=0, partition_epoch=0, replicas=nodes, isr=nodes,
            eligible_leader_replicas=(), last_known_elr=(), offline_replicas=(),
        )
        for index in range(count)
    )  # fmt: skip


def test_numbers_that_are_left_out_are_sent_as_minus_one() -> None:
    async def main() -> None:
        async with scripted_nodes(1) as (nodes, addresses), Client(addresses) as client:
            nodes[0].at_once = active
            await client.create_topic("t")
            (asked,) = [call.request for call in nodes[0].calls]
            assert isinstance(asked, CreateTopics)
            assert [(topic.num_partitions, topic.replication_factor) for topic in asked.topics] == [(-1, -1)]

    run(main())


class TestFinding:
    def test_the_leader_that_an_answer_names_is_asked_next(self) -> None:
        async def main() -> None:
            async with scripted_nodes(3) as (nodes, addresses), Client(addresses[:1]) as client:
                nodes[0].at_once, nodes[1].at_once = standby(addresses[1]), active
                assert (await client.create_topic("t")).topic_id == ID
                await client.create_topic("u")
                assert [len(node.calls) for node in nodes] == [1, 2, 0]

        run(main())

    def test_where_no_leader_is_known_everybody_is_asked_until_there_is_one(self) -> None:
        async def main() -> None:
            async with scripted_nodes(2) as (nodes, addresses), Client(addresses) as client:
                nodes[0].at_once = nodes[1].at_once = standby()
                waiting = asyncio.create_task(client.create_topic("t"))
                await until(lambda: len(nodes[0].calls) > 1 and len(nodes[1].calls) > 1, what="both asked twice")
                nodes[1].at_once = active
                assert (await waiting).topic_id == ID

        run(main())

    def test_controllers_that_name_each_other_are_not_asked_without_rest(self) -> None:
        async def main() -> None:
            async with scripted_nodes(2) as (nodes, addresses), Client(addresses, timeout_s=2) as client:
                nodes[0].at_once, nodes[1].at_once = standby(addresses[1]), standby(addresses[0])
                with pytest.raises(UnavailableError, match=r"within 2 s"):
                    await client.create_topic("t")
                assert 2 <= len(nodes[0].calls) + len(nodes[1].calls) <= 240

        run(main())

    def test_a_leader_without_a_grpc_listener_is_said_to_be_out_of_reach(self) -> None:
        """Such a leader is a Java controller of a mixed quorum."""

        def follower(call: ClientCall) -> ClientAnswer:
            at = (Endpoint(name="CONTROLLER", host="java.example", port=9093),)
            return ClientAnswer(error=Error.NOT_CONTROLLER, leader_id=4, leader_endpoints=at)

        async def main() -> None:
            async with scripted_nodes(1) as (nodes, addresses), Client(addresses) as client:
                nodes[0].at_once = follower
                said: ClientError | None = None
                timeout_s = 0.1
                # A client without time for a response reports that none came: repeat the request with more time.
                while "node 4" not in str(said):
                    timeout_s *= 2
                    with pytest.raises(ClientError) as raised:
                        await client.create_topic("t", timeout_s=timeout_s)
                    said = raised.value
                assert isinstance(said, UnavailableError)
                assert re.search(r"node 4 leads, at CONTROLLER://java\.example:9093.*Kafka's tools", str(said))

        run(main())

    def test_a_controller_that_is_down_is_passed_over(self) -> None:
        async def main() -> None:
            async with scripted_nodes(1) as (nodes, addresses):
                nodes[0].at_once = active
                async with Client([f"127.0.0.1:{free_ports(1)[0]}", *addresses], timeout_s=30) as client:
                    assert (await client.create_topic("t")).topic_id == ID

        run(main())

    def test_nobody_there(self) -> None:
        async def main() -> None:
            port = free_ports(1)[0]
            async with Client(f"127.0.0.1:{port}", timeout_s=0.4) as client:
                with pytest.raises(UnavailableError, match=f"127.0.0.1:{port}"):
                    await client.create_topic("t")
                with pytest.raises(UnavailableError, match="no controller answers"):
                    await client.describe_quorum()

        run(main())

    def test_a_controller_that_comes_back_is_found_at_once(self) -> None:
        async def main() -> None:
            port = free_ports(1)[0]
            node = ScriptedNode()
            node.at_once = active
            loop = asyncio.get_running_loop()
            async with Client(f"127.0.0.1:{port}", timeout_s=30) as client:
                waiting = asyncio.create_task(client.create_topic("t"))
                await asyncio.wait([waiting], timeout=5)  # gRPC, left alone, would try it less and less often
                assert not waiting.done()
                back_at = loop.time()
                async with served(node, port=port):
                    await waiting
                    assert loop.time() - back_at < 2.0

        run(main())

    def test_a_controller_listener_is_recognised_and_the_right_address_is_named(self) -> None:
        async def main() -> None:
            told = Endpoint(name="GRPC", host="c1.example", port=9094)
            held = await listen_kafka(Endpoint(name="CONTROLLER", host="127.0.0.1", port=0), ScriptedNode(), 1, told)
            address = f"127.0.0.1:{held.port}"
            async with Client(address, timeout_s=30) as client:
                with pytest.raises(WrongListenerError, match=r"use its GRPC listener c1\.example:9094") as raised:
                    await client.create_topic("t")
                assert (raised.value.address, raised.value.right_address) == (address, "c1.example:9094")
                with pytest.raises(WrongListenerError):
                    await client.describe_quorum()
            await held.close()

        run(main())

    @pytest.mark.parametrize("wrong", ["", "host", "host:", "host:port", "::1:9094", "a b:1", "host:9094/x"])
    def test_what_is_no_address(self, wrong: str) -> None:
        with pytest.raises(AddressError, match="host:port"):
            Client(wrong)


class TestAnswers:
    def test_one_refused_among_many_is_a_value_and_alone_an_exception(self) -> None:
        async def main() -> None:
            async with scripted_nodes(1) as (nodes, addresses), Client(addresses) as client:
                nodes[0].at_once = lambda call: ClientAnswer(
                    response=CreateTopicsResponse(
                        topics=(
                            CreatableTopicResult(
                                name="t",
                                error=Error.TOPIC_ALREADY_EXISTS,
                                topic_id=ZERO_TOPIC_ID,
                                error_message="Topic 't' already exists.",
                            ),
                        )
                    )
                )
                (result,) = await client.create_topics([CreatableTopic(name="t")])
                assert result.error is Error.TOPIC_ALREADY_EXISTS
                with pytest.raises(TopicExistsError, match="'t' already exists") as raised:
                    await client.create_topic("t")
                assert raised.value.error is Error.TOPIC_ALREADY_EXISTS

        run(main())

    def test_an_existing_topic_is_told_as_it_is_where_that_is_fine(self) -> None:
        async def main() -> None:
            def answer(call: ClientCall) -> ClientAnswer:
                if isinstance(call.request, DescribeTopics):
                    return active(call)
                there = CreatableTopicResult(name="t", error=Error.TOPIC_ALREADY_EXISTS, topic_id=ZERO_TOPIC_ID)
                return ClientAnswer(response=CreateTopicsResponse(topics=(there,)))

            async with scripted_nodes(1) as (nodes, addresses), Client(addresses) as client:
                nodes[0].at_once = answer
                found = await client.create_topic("t", if_not_exists=True)
                assert (found.topic_id, found.error) == (ID, Error.NONE)
                assert found.error_message == "Topic 't' already exists."
                nodes[0].at_once = active
                assert (await client.create_topic("t", if_not_exists=True)).error_message is None

        run(main())

    def test_a_bare_text_where_several_are_meant_and_nothing_at_all_are_refused(self) -> None:
        async def main() -> None:
            async with Client("127.0.0.1:1") as client:
                for asked in (
                    client.describe_topics("cc-1"),
                    client.delete_topics("cc-1"),
                    client.create_topics("cc-1"),
                ):  # type: ignore[arg-type]
                    with pytest.raises(TypeError, match=r"write \['cc-1'\]"):
                        await asked
                for by_id in (client.describe_topics(topic_ids=ID), client.delete_topics(topic_ids=ID)):  # type: ignore[arg-type]
                    with pytest.raises(TypeError, match="no collection of topic ids"):
                        await by_id
                with pytest.raises(TypeError, match=r"names, topic_ids=..., or all_topics=True"):
                    await client.describe_topics()
                with pytest.raises(TypeError, match="no topics are given"):
                    await client.delete_topics()
                with pytest.raises(TypeError, match="no collection of users"):
                    await Admin(client).describe_user_scram_credentials("alice")

        run(main())

    def test_a_name_is_told_without_what_a_terminal_obeys(self) -> None:
        async def main() -> None:
            there = CreatableTopicResult(name="t", error=Error.INVALID_TOPIC_EXCEPTION, topic_id=ZERO_TOPIC_ID)
            async with scripted_nodes(1) as (nodes, addresses), Client(addresses) as client:
                nodes[0].at_once = lambda call: ClientAnswer(response=CreateTopicsResponse(topics=(there,)))
                with pytest.raises(InvalidTopicError, match=r"^topic a\\x00b: refused"):
                    await client.create_topic("a\0b")

        run(main())

    def test_an_unknown_topic_is_no_error_where_that_is_fine(self) -> None:
        async def main() -> None:
            unknown = DeletableTopicResult(error=Error.UNKNOWN_TOPIC_ID, name=None, topic_id=ID)
            async with scripted_nodes(1) as (nodes, addresses), Client(addresses) as client:
                nodes[0].at_once = lambda call: ClientAnswer(response=DeleteTopicsResponse(topics=(unknown,)))
                absent = await client.delete_topic(ID, if_exists=True)
                assert (absent.error, absent.error_message) == (Error.NONE, "it is not there")
                with pytest.raises(UnknownTopicError, match="BQUFBQUFBQUFBQUFBQUFBQ"):
                    await client.delete_topic(ID)

        run(main())

    def test_a_request_refused_as_a_whole(self) -> None:
        async def main() -> None:
            async with scripted_nodes(1) as (nodes, addresses), Client(addresses) as client:
                nodes[0].at_once = failing(Error.RECORD_LIST_TOO_LARGE, "too many")
                with pytest.raises(RefusedError, match="too many"):
                    await client.create_topic("t")
                nodes[0].at_once = lambda call: ClientAnswer(
                    response=CreateTopicsResponse(error=Error.CLUSTER_AUTHORIZATION_FAILED)
                )
                with pytest.raises(RefusedError, match="CLUSTER_AUTHORIZATION_FAILED"):
                    await client.create_topic("t")

        run(main())

    def test_a_request_larger_than_a_message_is_refused_here(self) -> None:
        async def main() -> None:
            async with scripted_nodes(1) as (nodes, addresses), Client(addresses) as client:
                nodes[0].at_once = active
                with pytest.raises(RefusedError, match="divide it"):
                    await client.create_topic("x" * 9_000_000)
                assert (await client.create_topic("t")).topic_id == ID

        run(main())

    def test_it_reads_its_own_writes(self) -> None:
        async def main() -> None:
            async with scripted_nodes(1) as (nodes, addresses), Client(addresses) as client:
                nodes[0].at_once = active
                assert client.seen_offset == 0
                await client.create_topic("t")
                assert client.seen_offset == 40
                await client.describe_topics(["t"], at_least_offset=client.seen_offset)
                await client.describe_topics(["t"])
                assert [call.at_least_offset for call in nodes[0].calls] == [-1, 40, -1]

        run(main())

    def test_a_large_answer_is_put_together(self) -> None:
        async def main() -> None:
            names = [f"t{number}" for number in range(30_000)]
            async with scripted_nodes(1) as (nodes, addresses), Client(addresses) as client:
                nodes[0].at_once = active
                assert [topic.name for topic in await client.describe_topics(names)] == names

        run(main())

    def test_a_topic_that_fits_no_message_is_put_together(self) -> None:
        async def main() -> None:
            wide = DescribedTopic(error=Error.NONE, name="t", topic_id=ID, partitions=_partitions(60_000))
            async with scripted_nodes(1) as (nodes, addresses), Client(addresses) as client:
                nodes[0].at_once = lambda call: ClientAnswer(response=DescribeTopicsResponse(topics=(wide,)))
                assert await client.describe_topics(["t"]) == (wide,)

        run(main())

    def test_many_at_once_share_messages_and_are_told_apart(self) -> None:
        async def main() -> None:
            async with scripted_nodes(1) as (nodes, addresses), Client(addresses) as client:
                nodes[0].at_once = active
                results = await asyncio.gather(*(client.create_topic(f"t{number}") for number in range(2_000)))
                assert [result.name for result in results] == [f"t{number}" for number in range(2_000)]

        run(main())

    def test_a_closed_client_says_so(self) -> None:
        async def main() -> None:
            async with scripted_nodes(1) as (nodes, addresses):
                client = Client(addresses)
                waiting = asyncio.create_task(client.create_topic("t"))
                await until(lambda: nodes[0].calls, what="the call at the node")
                await client.close()
                with pytest.raises(OutcomeUnknownError):
                    await waiting
                with pytest.raises(ClosedError):
                    await client.create_topic("t")

        run(main())

    def test_the_quorum_is_described_by_its_leader_if_it_can_be(self) -> None:
        async def main() -> None:
            async with scripted_nodes(2) as (nodes, addresses), Client(addresses) as client:
                nodes[0].leader_id = 99
                status = await client.describe_quorum()
                assert status.is_from_leader
                assert (status.leader_id, status.leader_epoch, status.high_watermark) == (NODE_ID, 3, 12)
                assert status.cluster_id == "scripted"
                follower = await client.describe_quorum(address=addresses[0])
                assert not follower.is_from_leader

        run(main())
