"""Three controllers and the client, over real gRPC: what a user of the client sees, also while leaders come and go."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from metadata_log.ids import METADATA_TOPIC_ID, METADATA_TOPIC_NAME
from metadata_log.offsets import Offset
from quorum.api.error_codes import Error
from quorum.client import Client, OutcomeUnknownError, TopicExistsError, UnavailableError, UnknownTopicError
from tests.support.grpc_controllers import three_controllers
from tests.support.loop import run, until


def test_topics_live_and_die_by_a_client_that_knows_a_standby_only(tmp_path: Path) -> None:
    async def main() -> None:
        async with three_controllers(tmp_path) as controllers:
            await controllers.elected()
            async with Client(controllers.standby().address) as client:
                await controllers.add_broker(client)
                first = await client.create_topic("events", num_partitions=3, replication_factor=1)
                with pytest.raises(TopicExistsError):
                    await client.create_topic("events")
                assert (await client.create_topic("events", if_not_exists=True)).topic_id == first.topic_id
                (described,) = await client.describe_topics(["events"])
                assert (described.topic_id, len(described.partitions)) == (first.topic_id, 3)
                assert (await client.delete_topic(first.topic_id)).name == "events"
                with pytest.raises(UnknownTopicError):
                    await client.delete_topic("events")
                assert (await client.create_topic("events")).topic_id != first.topic_id

    run(main())


def test_the_metadata_topic_gets_its_own_id_and_the_quorum_is_described(tmp_path: Path) -> None:
    async def main() -> None:
        async with three_controllers(tmp_path) as controllers:
            active = await controllers.elected()
            async with Client(controllers.addresses) as client:
                topic_id = active.driver.image.topics.by_name.get(METADATA_TOPIC_NAME)
                await until(
                    lambda: all(
                        node.driver.image.topics.by_name.get(METADATA_TOPIC_NAME) for node in controllers.nodes.values()
                    ),
                    what="the metadata topic's own id everywhere",
                )
                status = await client.describe_quorum()
                assert status.is_from_leader
                assert status.topic_id not in (METADATA_TOPIC_ID, None)
                assert topic_id in (None, status.topic_id)
                assert status.leader_id == active.config.node_id
                assert [voter.replica.node_id for voter in status.voters] == [1, 2, 3]
                assert {len(node.listeners) for node in status.nodes} == {2}
                standby = await client.describe_quorum(address=controllers.standby().address)
                assert not standby.is_from_leader
                assert standby.leader_id == status.leader_id

    run(main())


def test_an_address_that_takes_connections_and_never_answers_does_not_hold_up_a_description(tmp_path: Path) -> None:
    async def main() -> None:
        silent = await asyncio.start_server(lambda reader, writer: asyncio.Event().wait(), "127.0.0.1", 0)
        port = silent.sockets[0].getsockname()[1]
        async with three_controllers(tmp_path) as controllers:
            await controllers.elected()
            async with Client([f"127.0.0.1:{port}", *controllers.addresses], timeout_s=20.0) as client:
                async with asyncio.timeout(10.0):
                    assert (await client.describe_quorum()).is_from_leader
        silent.close()

    run(main())


def test_a_standby_answers_reads_that_it_can_see(tmp_path: Path) -> None:
    async def main() -> None:
        async with three_controllers(tmp_path) as controllers:
            await controllers.elected()
            async with Client(controllers.addresses) as client:
                await controllers.add_broker(client)
                created = await client.create_topic("events")
                async with Client(controllers.standby().address) as reader:
                    (seen,) = await reader.describe_topics(["events"], at_least_offset=client.seen_offset)
                    assert seen.topic_id == created.topic_id
                    with pytest.raises(UnavailableError):
                        await reader.describe_topics(["events"], at_least_offset=Offset(1 << 40), timeout_s=0.5)

    run(main())


def test_a_clean_stop_of_the_leader_loses_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with three_controllers(tmp_path) as controllers:
            active = await controllers.elected()
            async with Client(controllers.addresses, timeout_s=15) as client:
                await controllers.add_broker(client)
                created: list[str] = []
                unknown: list[str] = []
                is_over = asyncio.Event()

                async def write(writer: int) -> None:
                    number = 0
                    while not is_over.is_set():
                        name = f"t-{writer}-{number}"
                        number += 1
                        try:
                            await client.create_topic(name)
                            created.append(name)
                        except OutcomeUnknownError:
                            unknown.append(name)

                writers = [asyncio.create_task(write(writer)) for writer in range(8)]
                await until(lambda: len(created) > 50, what="fifty topics")
                await active.stop()
                before = len(created)
                await until(lambda: len(created) > before + 50, what="fifty more, under another leader")
                is_over.set()
                await asyncio.gather(*writers)
                found = {topic.name for topic in await client.describe_topics(all_topics=True)}
                assert set(created) <= found
                assert found <= {*created, *unknown, METADATA_TOPIC_NAME}
                assert controllers.active is not active

    run(main())


def test_without_a_majority_nothing_is_promised_and_everything_can_still_be_read(tmp_path: Path) -> None:
    async def main() -> None:
        async with three_controllers(tmp_path) as controllers:
            active = await controllers.elected()
            async with Client(controllers.addresses) as client:
                await controllers.add_broker(client)
                await client.create_topic("before")
                last = controllers.standby()
                others = [node for node in controllers.nodes.values() if node not in (active, last)]
                await until(lambda: last.driver.image.topics.by_name.get("before"), what="the topic at the standby")
                for node in (*others, active):
                    await node.stop()
                # Sent just before the connection's end was seen, it may count as having arrived.
                with pytest.raises((UnavailableError, OutcomeUnknownError)):
                    await client.create_topic("after", timeout_s=1.0)
                (before,) = await client.describe_topics(["before"], at_least_offset=client.seen_offset)
                assert before.error is Error.NONE
                assert not (await client.describe_quorum(timeout_s=5)).is_from_leader

    run(main())
