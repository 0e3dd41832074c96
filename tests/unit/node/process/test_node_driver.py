"""The driver with real files, threads and time: it elects, commits, stops at a fault, and shows its health."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from metadata_log.errors import StorageFailedError
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import FileHandle
from metadata_log.voters import Endpoint
from quorum.api.calls import ClientAnswer, ClientCall
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.node.process.driver import DriverConfig
from quorum.node.process.health import are_ok, check_alive, check_ready
from tests.support.node_requests import create_request
from tests.support.running_nodes import RunningNode, RunningNodes, until


class _Handle:
    """An open file of `_SyncedFiles`."""

    def __init__(self, handle: FileHandle, files: _SyncedFiles) -> None:
        self._handle = handle
        self._files = files

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handle, name)

    def fdatasync(self) -> None:
        if self._files.fails:
            self._files.syncs_after += 1
            raise OSError(5, "Input/output error")
        self._handle.fdatasync()
        self._files.synced.set()


class _SyncedFiles(OsFiles):
    """Files that announce each sync, and whose syncs fail once `fails` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.fails = False
        self.syncs_after = 0
        self.synced = threading.Event()

    def open(self, path: str, *, create: bool = False, exclusive: bool = False, read_only: bool = False) -> FileHandle:
        handle = super().open(path, create=create, exclusive=exclusive, read_only=read_only)
        return _Handle(handle, self)  # type: ignore[return-value]


def _run(scenario: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), 60))  # type: ignore[arg-type]


def test_three_drivers_commit_and_survive_their_leaders_stop(tmp_path: Path) -> None:
    async def scenario() -> None:
        nodes = RunningNodes(tmp_path)
        for node_id in (1, 2, 3):
            nodes.start(node_id)
        leader = await nodes.add_broker()
        answers = await asyncio.gather(*(nodes.ask(leader, create_request(f"t{n}")) for n in range(50)))
        assert {answer.error for answer in answers} == {Error.NONE}
        leader.driver.stop()
        await leader.task
        successor = await nodes.elect()
        assert successor is not leader
        assert {f"t{n}" for n in range(50)} <= set(successor.driver.image.topics.by_name)
        after = await nodes.ask(successor, create_request("after"))
        assert after.error is Error.NONE
        node_id = leader.driver.executor.replica.node_id
        back = nodes.start(node_id)
        await until(lambda: "after" in back.driver.image.topics.by_name)
        assert back.driver.image.topics.by_name == successor.driver.image.topics.by_name
        await nodes.stop()

    _run(scenario)


def test_what_a_turn_sends_leaves_before_its_writes_go_to_the_disk(tmp_path: Path) -> None:
    """A callback after the turn that fails reaches the exception handler, and stops no other callback."""

    async def scenario() -> None:
        disk, found, told = _SyncedFiles(), [], []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(str(context["exception"])))
        nodes = RunningNodes(tmp_path, 1, files=lambda node_id: disk)
        driver = nodes.start(1).driver
        await nodes.add_broker()

        def in_the_turn(response: object) -> None:
            disk.synced.clear()
            driver.after_turn(lambda: 1 // 0)
            driver.after_turn(lambda: found.append(disk.synced.wait(0.2)))
            found.append("in the turn")

        answers: list[ClientAnswer] = []
        driver.client_request(
            ClientCall(
                request=create_request("orders"),
                context=RequestContext(deadline_ms=driver.now_ms() + 10_000),
                respond=answers.append,
                prepare=in_the_turn,
            )
        )
        await until(lambda: bool(answers))
        assert answers[0].error is Error.NONE
        assert found == ["in the turn", False]
        assert disk.synced.is_set()
        assert told == ["integer division or modulo by zero"]
        await nodes.stop()

    _run(scenario)


def test_what_is_sent_without_a_turn_leaves_soon(tmp_path: Path) -> None:
    async def scenario() -> None:
        nodes = RunningNodes(tmp_path, 1)
        driver = nodes.start(1).driver
        await nodes.elect()
        sent: list[str] = []
        driver.after_turn(lambda: sent.append("sent"))
        assert sent == []
        await until(lambda: sent == ["sent"])
        await nodes.stop()

    _run(scenario)


def test_requests_under_load_share_syncs(tmp_path: Path) -> None:
    async def scenario() -> None:
        nodes = RunningNodes(tmp_path, 1)
        node = nodes.start(1)
        await nodes.add_broker()
        before = node.monitoring.metrics.syncs
        count, total = sum(before.counts), 400
        answers = await asyncio.gather(*(nodes.ask(node, create_request(f"t{n}")) for n in range(total)))
        assert {answer.error for answer in answers} == {Error.NONE}
        assert sum(before.counts) - count < total / 10
        await nodes.stop()

    _run(scenario)


def test_a_failed_sync_ends_the_driver_and_acknowledges_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        disk = _SyncedFiles()
        nodes = RunningNodes(tmp_path, 1, files=lambda node_id: disk)
        node = nodes.start(1)
        await nodes.add_broker()
        disk.fails = True
        answers: list[ClientAnswer] = []
        node.driver.client_request(
            ClientCall(request=create_request("lost"), context=RequestContext(), respond=answers.append)
        )
        with pytest.raises(StorageFailedError, match="Input/output error"):
            await node.task
        assert answers == []
        assert disk.syncs_after == 1
        assert not are_ok(check_alive(node.driver.view()))
        disk.fails = False
        again = nodes.start(1)
        await nodes.elect()
        await nodes.stop()
        assert again.task.exception() is None

    _run(scenario)


def test_more_than_the_bound_is_refused_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        nodes = RunningNodes(tmp_path, 1)
        node = nodes.start(1, bounds=DriverConfig(max_queued=10))
        await nodes.add_broker()
        answers: list[ClientAnswer] = []
        for number in range(25):
            node.driver.client_request(
                ClientCall(request=create_request(f"t{number}"), context=RequestContext(), respond=answers.append)
            )
        await until(lambda: len(answers) == 25)
        errors = [answer.error for answer in answers]
        assert errors.count(Error.THROTTLING_QUOTA_EXCEEDED) == 15
        assert errors.count(Error.NONE) == 10
        await nodes.stop()

    _run(scenario)


def test_whoever_asks_a_stopped_node_is_sent_elsewhere(tmp_path: Path) -> None:
    async def scenario() -> None:
        nodes = RunningNodes(tmp_path, 1)
        node = nodes.start(1)
        await nodes.elect()
        await nodes.stop()
        answer = await nodes.ask(node, create_request("late"))
        assert answer.error is Error.NOT_CONTROLLER

    _run(scenario)


async def _get(port: int, target: str, request: bytes | None = None) -> tuple[int, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request or f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body.decode()


async def _served(node: RunningNode) -> int:
    await node.monitoring.start(node.driver.view, Endpoint(name="HTTP", host="127.0.0.1", port=0))
    server = node.monitoring.server
    assert server is not None
    return server.port


async def _ready(port: int) -> str:
    """Return the body of /readyz once it is 200: on a busy machine, the leader may be silent for a moment."""
    async with asyncio.timeout(30):
        while True:
            status, text = await _get(port, "/readyz?format=json")
            if status == 200:
                return text
            await asyncio.sleep(0)


def test_readiness_names_what_is_missing_and_turns_when_it_is_there(tmp_path: Path) -> None:
    async def scenario() -> None:
        nodes = RunningNodes(tmp_path)
        lonely = nodes.start(1)
        port = await _served(lonely)
        status, text = await _get(port, "/readyz")
        assert status == 503
        assert "[-]leader-known no leader is known" in text
        assert "[+]disk" in text
        assert (await _get(port, "/livez"))[0] == 200
        nodes.start(2)
        nodes.start(3)
        await nodes.elect()
        text = await _ready(port)
        assert json.loads(text)["checks"]["leader-known"]["ok"] is True
        await lonely.monitoring.stop()
        await nodes.stop()

    _run(scenario)


def test_a_leader_that_lost_its_majority_is_not_ready(tmp_path: Path) -> None:
    async def scenario() -> None:
        nodes = RunningNodes(tmp_path)
        for node_id in (1, 2, 3):
            nodes.start(node_id)
        leader = await nodes.elect()
        await until(lambda: are_ok(check_ready(leader.driver.view())))
        for node in nodes.nodes.values():
            if node is not leader:
                node.driver.stop()
                await node.task
        await until(lambda: not are_ok(check_ready(leader.driver.view())))
        failed = {check.name for check in check_ready(leader.driver.view()) if not check.is_ok}
        assert failed & {"leader-known", "majority-fetches"}
        assert are_ok(check_alive(leader.driver.view()))
        leader.driver.stop()
        await leader.task

    _run(scenario)


def test_metrics_tell_the_nodes_numbers(tmp_path: Path) -> None:
    async def scenario() -> None:
        nodes = RunningNodes(tmp_path, 1)
        node = nodes.start(1)
        await nodes.add_broker()
        for number in range(3):
            await nodes.ask(node, create_request(f"t{number}"))
        port = await _served(node)
        status, text = await _get(port, "/metrics")
        assert status == 200
        lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        view = node.driver.view()
        assert lines["kraft_controller_active_controller_count"] == "1.0"
        assert lines["kraft_controller_global_topic_count"] == "3.0"
        assert lines["kraft_controller_global_partition_count"] == "3.0"
        assert lines["kraft_controller_offline_partitions_count"] == "0.0"
        assert lines['kraft_raft_state{state="leader"}'] == "1.0"
        assert float(lines["kraft_raft_high_watermark"]) == view.high_watermark == view.image.offset_and_epoch.offset
        assert float(lines['kraft_log_sync_seconds_bucket{le="+Inf"}']) == sum(node.monitoring.metrics.syncs.counts)
        await node.monitoring.stop()
        await nodes.stop()

    _run(scenario)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET /nowhere HTTP/1.1\r\n\r\n", 404),
        (b"POST /readyz HTTP/1.1\r\n\r\n", 405),
        (b"nonsense\r\n\r\n", 405),
        (b"x" * 20_000, 400),
    ],
)
def test_http_refuses_what_it_does_not_serve(tmp_path: Path, request_bytes: bytes, status: int) -> None:
    async def scenario() -> None:
        nodes = RunningNodes(tmp_path, 1)
        node = nodes.start(1)
        port = await _served(node)
        assert (await _get(port, "", request_bytes))[0] == status
        await node.monitoring.stop()
        await nodes.stop()

    _run(scenario)
