"""`kraft.SyncClient`, `kraft.SyncAdmin`, their asynchronous forms, and the examples of docs/python.md."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest

import kraft
from tests.support.controlled_process import controlled_process
from tests.support.fixture_files import FIXTURES

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
NODES = [str(FIXTURES / "basic" / f"node-{number}" / "data") for number in (1, 2, 3)]


@pytest.fixture
def address() -> Iterator[str]:
    with controlled_process() as served:
        yield served


def _threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "kraft clients"]


def test_the_pages_examples_run(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE))
    scope: dict[str, Any] = {"LOG": NODES[0], "NODES": NODES, "ADDRESS": address}
    exec(compile(code, str(PAGE), "exec"), scope)

    said = capsys.readouterr().out.splitlines()
    ids = [line for line in said if re.fullmatch(r"\S+ [\w-]{22} \d+", line)]
    assert {line.split()[0] for line in ids} == set(scope["image"].topics.by_name)
    rest = said[len(ids) :]
    assert rest[:4] == ["0", str(scope["before"].offset_and_epoch.offset), "True", "True []"]
    assert rest[4] == "()"
    assert re.match(r"\d+ \S", rest[5])
    assert rest[-4:] == ["orders 3", "TOPIC_ALREADY_EXISTS", "['orders']", "[]"]
    assert _threads() == []


def test_a_client_that_waits(address: str) -> None:
    with kraft.SyncClient(address) as client, kraft.SyncAdmin(address) as admin:
        created = client.create_topic("t", num_partitions=2, replication_factor=2)
        text = str(created.topic_id)
        assert repr(created.topic_id) == f"TopicId({text!r})"
        assert kraft.parse_topic_id(text) == created.topic_id
        assert client.seen_offset > 0
        assert admin.list_topics() == client.list_topics() == {"t": created.topic_id}
        client.create_topic("__consumer_offsets", num_partitions=1)
        assert set(admin.list_topics()) == set(client.list_topics()) == {"t", "__consumer_offsets"}
        for waiting in (admin, client):
            assert list(waiting.list_topics(exclude_internal=True)) == ["t"]
        (topic,) = client.describe_topics(["t"])
        assert [str(one) for one in kraft.TopicIdPartition.of_topic(topic)] == [f"{text}:t-0", f"{text}:t-1"]
        with pytest.raises(kraft.UnknownTopicError):
            client.delete_topic("nothing")
        gone = admin.delete_topics(kraft.TopicCollection.of_topic_ids([created.topic_id])).all_topic_ids()
        assert gone is not None
        assert repr(gone[created.topic_id].topic_id) == repr(created.topic_id)
        assert _threads() == ["kraft clients"]
    assert _threads() == []


def test_clients_of_several_threads_share_one(address: str) -> None:
    names = [f"topic-{number}" for number in range(8)]
    with kraft.SyncClient(address) as client:
        makers = [
            threading.Thread(target=client.create_topic, args=(name,), kwargs={"num_partitions": 1}) for name in names
        ]
        for maker in makers:
            maker.start()
        for maker in makers:
            maker.join()
        assert sorted(client.list_topics()) == names
        with kraft.SyncClient(address) as other:
            assert sorted(other.list_topics()) == names
        assert sorted(client.list_topics()) == names


def test_a_closed_client_refuses() -> None:
    client = kraft.SyncClient("127.0.0.1:1")
    client.close()
    client.close()
    with pytest.raises(kraft.ClosedError):
        client.list_topics()
    assert _threads() == []


def test_a_client_that_several_threads_close_leaves_the_thread_to_another_client() -> None:
    with kraft.SyncClient("127.0.0.1:1", timeout_s=0.1) as other:
        for _ in range(20):
            client = kraft.SyncClient("127.0.0.1:1")
            start = threading.Barrier(3)

            def close(client: kraft.SyncClient = client, start: threading.Barrier = start) -> None:
                start.wait(30)
                client.close()

            closers = [threading.Thread(target=close, daemon=True) for _ in range(start.parties)]
            for closer in closers:
                closer.start()
            for closer in closers:
                closer.join(30)
            assert not any(closer.is_alive() for closer in closers)
        with pytest.raises(kraft.UnavailableError):
            other.describe_quorum()
    assert _threads() == []


def test_a_call_that_waits_while_the_client_is_closed_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = kraft.SyncClient(f"127.0.0.1:{silent.getsockname()[1]}", timeout_s=60.0)
        raised: list[BaseException] = []

        def ask() -> None:
            try:
                client.describe_quorum()
            except (kraft.ClientError, CancelledError) as error:
                raised.append(error)

        asker = threading.Thread(target=ask, daemon=True)
        asker.start()
        silent.settimeout(30.0)
        connection, _ = silent.accept()
        with connection:
            client.close()
            asker.join(30)
    assert [type(error) for error in raised] == [kraft.ClosedError]


def test_a_forked_process_does_not_wait_for_its_parents_thread() -> None:
    with kraft.SyncClient("127.0.0.1:1") as client:
        child = os.fork()
        if not child:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(30)  # ends a child that waits
            try:
                client.list_topics()
            except kraft.ClosedError:
                client.close()
                os._exit(7)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7


@pytest.mark.parametrize("kind", [kraft.SyncClient, kraft.SyncAdmin])
def test_a_wrong_address_leaves_no_thread(kind: type[kraft.SyncClient | kraft.SyncAdmin]) -> None:
    with pytest.raises(kraft.AddressError):
        kind("nowhere")
    assert _threads() == []


def test_nobody_answers() -> None:
    with kraft.SyncClient("127.0.0.1:1", timeout_s=0.3) as client, pytest.raises(kraft.UnavailableError):
        client.describe_quorum()


def test_the_quorum(address: str) -> None:
    with kraft.SyncClient(address) as client, kraft.SyncAdmin(address) as admin:
        status = client.describe_quorum()
        assert status.leader_id == admin.describe_quorum(address=address).leader_id
        assert re.fullmatch(r"TopicId\('[\w-]{22}'\)", repr(status.topic_id))


def test_the_asynchronous_forms(address: str) -> None:
    async def main() -> None:
        async with kraft.Client(address) as client:
            created = await client.create_topic("t", num_partitions=1)
            assert isinstance(created.topic_id, kraft.TopicId)
            assert await client.list_topics() == {"t": created.topic_id}
            (gone,) = await client.delete_topics(["t"])
            assert isinstance(gone.topic_id, kraft.TopicId)
            async with kraft.Admin(client) as admin:
                assert await admin.list_topics() == {}

    asyncio.run(main())


@pytest.mark.parametrize("value", [b"short", "AAAAAAAAAAAAAAAAAAAAAQ", b"\0" * 17])
def test_a_topic_id_of_another_form_is_refused(value: Any) -> None:
    with pytest.raises(kraft.InvalidIdError, match="parse_topic_id"):
        kraft.TopicId(value)
