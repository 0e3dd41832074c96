"""Leadership handed over between real controllers, over gRPC and by the command."""

from __future__ import annotations

import asyncio
from pathlib import Path

import grpc
import pytest

from kraft.v1 import quorum_pb2, quorum_pb2_grpc
from quorum.api.error_codes import Error
from quorum.cli.main import run as kraft
from quorum.client import Client, RefusedError, UnavailableError
from quorum.client.transfer import transfer_leadership
from tests.support.command_json import document
from tests.support.grpc_controllers import three_controllers
from tests.support.logs_apart import keep_logs_apart
from tests.support.loop import run, until


def test_each_in_turn_is_made_the_leader_while_topics_are_created(tmp_path: Path) -> None:
    async def main() -> None:
        async with three_controllers(tmp_path) as controllers, Client(controllers.addresses) as client:
            await controllers.add_broker(client)
            stop = asyncio.Event()
            created: list[str] = []

            async def create() -> None:
                while not stop.is_set():
                    created.append((await client.create_topic(f"t{len(created)}", num_partitions=1)).name)

            creating = asyncio.create_task(create())
            for to in (1, 2, 3):
                done = await client.transfer_leadership(to)
                assert done.leader_id == to
                await until(
                    lambda to=to: controllers.nodes[to].driver.executor.active_epoch is not None,
                    what=f"{to} to be active",
                )
                count = len(created)
                await until(lambda count=count: len(created) > count + 5, what="topics to be created")
            stop.set()
            await creating
            assert len(await client.describe_topics(created)) == len(created)

    run(main())


def test_what_cannot_be_done_is_refused_with_the_reason(tmp_path: Path) -> None:
    async def main() -> None:
        async with three_controllers(tmp_path) as controllers, Client(controllers.addresses) as client:
            leader = await controllers.elected()
            with pytest.raises(RefusedError, match="there is no voter 9: the voters are 1, 2, 3") as refused:
                await client.transfer_leadership(9)
            assert refused.value.error is Error.VOTER_NOT_FOUND
            standby = controllers.standby()
            await standby.stop()
            with pytest.raises(RefusedError, match=f"node {leader.config.node_id} still leads"):
                await client.transfer_leadership(standby.config.node_id, timeout_s=5.0)
            async with Client(standby.address, timeout_s=0.5) as alone:
                with pytest.raises(UnavailableError):
                    await alone.transfer_leadership()

    run(main())


def test_without_a_majority_it_is_said_what_each_address_answers(tmp_path: Path) -> None:
    async def main() -> None:
        async with three_controllers(tmp_path) as controllers:
            await controllers.elected()
            first, second, last = controllers.nodes.values()
            await first.stop()
            await second.stop()
            async with Client(controllers.addresses, timeout_s=3.0) as client:
                with pytest.raises(UnavailableError) as of_topics:
                    await client.describe_topics(all_topics=True)
                with pytest.raises(UnavailableError) as of_transfer:
                    await client.transfer_leadership()
            for said in (str(of_topics.value), str(of_transfer.value)):
                for gone in (first, second):
                    assert f"{gone.address}: connection refused" in said, said
                assert f"{last.address}: " in said
                assert "knows no leader" in said or "leads" in said
                assert "kraft quorum describe" in said

    run(main())


class _AnswersOnce(quorum_pb2_grpc.QuorumServicer):
    """A controller that knows no leader, and says so once: it is frozen afterwards."""

    def __init__(self) -> None:
        self.asked = 0

    async def DescribeQuorum(
        self, request: quorum_pb2.DescribeQuorumRequest, context: object
    ) -> quorum_pb2.DescribeQuorumResponse:
        self.asked += 1
        if self.asked > 1:
            await asyncio.Event().wait()
        partition = quorum_pb2.DescribeQuorumResponse.Partition(leader_id=-1)
        topic = quorum_pb2.DescribeQuorumResponse.Topic(topic_id=bytes(15) + b"\1", partitions=[partition])
        return quorum_pb2.DescribeQuorumResponse(node_id=4, topics=[topic])


def test_a_controller_that_has_answered_is_not_said_to_answer_nothing() -> None:
    async def main() -> None:
        server = grpc.aio.server()
        controller = _AnswersOnce()
        quorum_pb2_grpc.add_QuorumServicer_to_server(controller, server)
        address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        await server.start()
        try:
            with pytest.raises(UnavailableError) as error:
                await transfer_leadership([address], None, timeout_s=2.0)
        finally:
            await server.stop(None)
        assert controller.asked == 3, "once in time, once when too little was left, once to say who answers"
        assert str(error.value) == (
            f"no leader was found within 2 s that could hand over: {address}: no answer in time. "
            "See kraft quorum describe"
        )

    run(main())


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep_logs_apart()

    async def main() -> None:
        async with three_controllers(tmp_path) as controllers:
            leader = await controllers.elected()
            words = ("--bootstrap-controller", controllers.standby().address)
            to = str(controllers.standby().config.node_id)
            old = leader.config.node_id
            assert await asyncio.to_thread(kraft, ("quorum", "transfer", *words, "--to", to, "-o", "json")) == 0
            done = document(capsys.readouterr().out)
            assert (done["old_leader_id"], str(done["leader_id"])) == (old, to)
            assert await asyncio.to_thread(kraft, ("quorum", "transfer", *words, "--to", to)) == 0
            assert capsys.readouterr().out == f"Node {to} leads epoch {done['leader_epoch']} already.\n"
            assert await asyncio.to_thread(kraft, ("quorum", "transfer", *words, "--to", "8")) == 1
            assert "there is no voter 8" in capsys.readouterr().err

    run(main())
