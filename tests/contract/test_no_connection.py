"""The error for an address without a gRPC connection: nothing was sent, and the reason is in plain words."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
import pytest

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.voters import Endpoint
from quorum.api.voter_messages import RemoveRaftVoterRequest
from quorum.client.client import Client
from quorum.client.errors import OutcomeUnknownError, UnavailableError
from quorum.client.quorum_status import describe_at, who_answers
from quorum.client.voter_changes import ask_at
from quorum.node.process.http_server import HttpServer
from quorum.transport.channel import CHANNEL_OPTIONS, connects
from quorum.transport.misdirected import in_words
from tests.support.loop import run, until
from tests.support.scripted_node import ScriptedNode, served

_REQUEST = RemoveRaftVoterRequest(voter=ReplicaKey(node_id=NodeId(4), directory_id=DirectoryId(bytes([4]) * 16)))


@asynccontextmanager
async def _listener(*, answers: bool) -> AsyncIterator[str]:
    """Serve gRPC without services; or break each call's connection."""
    server = grpc.aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    if not answers:
        server.add_generic_rpc_handlers((_Breaks(),))
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)


class _Breaks(grpc.GenericRpcHandler):
    def service(self, details: object) -> grpc.RpcMethodHandler:
        async def fail(_: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "it broke")
            return b""

        return grpc.unary_unary_rpc_method_handler(fail)  # type: ignore[arg-type]


def test_a_change_that_a_refused_connection_kept_from_being_sent_was_not_made() -> None:
    async def main() -> None:
        with pytest.raises(UnavailableError, match="no connection"):
            await ask_at("127.0.0.1:1", _REQUEST, None, 2.0)
        async with _listener(answers=False) as address:
            with pytest.raises(OutcomeUnknownError, match="it broke"):
                await ask_at(address, _REQUEST, None, 2.0)

    run(main())


def test_whether_a_connection_stands_is_known_before_anything_is_sent() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with grpc.aio.insecure_channel("127.0.0.1:1", options=CHANNEL_OPTIONS) as channel:
            begun = loop.time()
            assert not await connects(channel, 30)
            assert loop.time() - begun < 10
        async with (
            _listener(answers=True) as address,
            grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS) as channel,
        ):
            assert await connects(channel, 30)

    run(main())


def test_a_listener_of_kafkas_own_is_named_as_none_of_grpc() -> None:
    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4)
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(close, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(UnavailableError, match=r"gRPC is not spoken there.*kafka-metadata-quorum\.sh"):
                await describe_at(f"127.0.0.1:{port}", 5.0)

    run(main())


def test_it_is_said_in_words_what_is_at_an_address() -> None:
    async def main() -> None:
        http = HttpServer(lambda: None, None)  # type: ignore[arg-type,return-value]
        await http.start(Endpoint(name="HTTP", host="127.0.0.1", port=0))
        try:
            with pytest.raises(UnavailableError, match=r"^\S+: HTTP is spoken there"):
                await describe_at(f"127.0.0.1:{http.port}", 5)
        finally:
            await http.stop()
        said = await who_answers(["127.0.0.1:1"])
        assert said == "127.0.0.1:1: connection refused. See kraft quorum describe"

    run(main())


@pytest.mark.parametrize("said", ["Connection refused", "connect: Connection refused (111)"])
def test_the_systems_words_are_found_however_grpc_waits_for_connections(said: str) -> None:
    at = "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: Failed to connect to remote host: "
    assert in_words(at + said) == "connection refused"


@pytest.mark.parametrize("said", ["Deadline Exceeded", "Stream removed (Deadline Exceeded)"])
def test_a_deadline_is_said_in_words_however_grpc_found_it(said: str) -> None:
    assert in_words(said) == "no answer in time"


def test_it_is_said_in_words_that_a_controller_stopped_amid_a_call() -> None:
    async def main() -> None:
        node = ScriptedNode()
        async with served(node) as address:
            client = Client([address])
            waiting = asyncio.create_task(client.create_topic("t"))
            await until(lambda: bool(node.calls), what="the request at the node")
        with pytest.raises(OutcomeUnknownError, match=r"is not known: the controller stopped before it answered$"):
            await waiting
        await client.close()

    run(main())


def test_a_deadline_amid_the_search_leaves_said_what_each_address_answered() -> None:
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as mute:
            host, port = mute.getsockname()
            said, timeout_s = "", 0.5
            while "127.0.0.1:1: connection refused" not in said:
                timeout_s *= 2  # a busy machine may need longer before the refusal is there
                async with Client(["127.0.0.1:1", f"{host}:{port}"], timeout_s=timeout_s) as client:
                    with pytest.raises(UnavailableError) as error:
                        await client.describe_topics(all_topics=True)
                said = str(error.value)
        assert f"{host}:{port}: " in said, said
        assert said.endswith("See kraft quorum describe"), said

    run(main())
