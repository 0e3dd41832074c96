"""Controllers with real files, threads and time in one event loop, over a `LocalNetwork`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import Files
from metadata_log.ids import DirectoryId, NodeId, ReplicaKey, Uuid
from metadata_log.storage.formatter import LogDirectory, format_directory
from metadata_log.voters import Endpoint, Voter
from quorum.api.brokers import BrokerHeartbeat
from quorum.api.calls import ClientAnswer
from quorum.api.context import RequestContext
from quorum.api.request import Request
from quorum.controller.config import ControllerConfig
from quorum.node.config.node_config import config_of
from quorum.node.controller.registration import registration_of
from quorum.node.controller.role import ControllerRole
from quorum.node.controller.role_config import RoleConfig
from quorum.node.core.executor import Executor, ExecutorConfig
from quorum.node.process.driver import Driver, DriverConfig
from quorum.node.process.monitoring import Monitoring
from quorum.node.storage.open_replica import open_replica
from tests.support.local_network import LocalNetwork, Switchboard
from tests.support.node_requests import BROKER, CLUSTER_ID, LEVEL, REGISTER_BROKER

DEADLINE_S = 20.0


class RunningNode:
    """One controller and the task that runs it."""

    def __init__(self, driver: Driver, monitoring: Monitoring, task: asyncio.Task[None]) -> None:
        self.driver = driver
        self.monitoring = monitoring
        self.task = task


class RunningNodes:
    """Controllers 1..count under `path`, formatted; a test starts each."""

    def __init__(
        self,
        path: Path,
        count: int = 3,
        *,
        files: Callable[[int], Files] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self.switchboard = Switchboard()
        self.nodes: dict[int, RunningNode] = {}
        self._path = path
        self._properties = properties or {}
        self._files = files or (lambda node_id: OsFiles())
        self._voters = [
            Voter(
                key=ReplicaKey(node_id=NodeId(n), directory_id=DirectoryId(bytes(15) + bytes([200 + n]))),
                endpoints=(
                    Endpoint(name="CONTROLLER", host=f"c{n}", port=9093),
                    Endpoint(name="GRPC", host=f"c{n}", port=9094),
                ),
            )
            for n in range(1, count + 1)
        ]
        for voter in self._voters:
            directory = self.directory(voter.key.node_id)
            Path(directory).mkdir(parents=True)
            format_directory(
                OsFiles(),
                [LogDirectory(path=directory, directory_id=voter.key.directory_id)],
                directory,
                cluster_id=CLUSTER_ID,
                node_id=voter.key.node_id,
                level=LEVEL,
                now_ms=0,
                initial_voters=self._voters,
            )

    def directory(self, node_id: int) -> str:
        return str(self._path / f"node-{node_id}")

    def start(self, node_id: int, *, bounds: DriverConfig | None = None) -> RunningNode:
        voter = self._voters[node_id - 1]
        config = config_of(
            {
                "process.roles": "controller",
                "node.id": str(node_id),
                "listeners": f"CONTROLLER://c{node_id}:9093,GRPC://c{node_id}:9094",
                "log.dirs": self.directory(node_id),
                **self._properties,
            }
        )
        opened = open_replica(self._files(node_id), config)
        monitoring = Monitoring(node_id)
        cluster_id = opened.meta.cluster_id
        controller = ControllerConfig(node_id=node_id, cluster_id=cluster_id, session_timeout_ms=1 << 30)

        def application(executor: Executor) -> ControllerRole:
            registration = registration_of(node_id, Uuid(bytes([node_id]) * 16), voter.endpoints)
            return ControllerRole(executor, controller, RoleConfig(), registration, opened.bootstrap_records)

        driver = Driver(
            opened,
            ExecutorConfig(
                cluster_id=cluster_id, raft=config.raft, endpoints=voter.endpoints, bootstrap=(), can_vote=True
            ),
            LocalNetwork(self.switchboard),
            monitoring.watcher,
            application=application,
            bounds=bounds,
            syncs=monitoring.metrics.syncs,
        )
        self.switchboard.drivers[node_id] = driver
        task = asyncio.get_running_loop().create_task(driver.run())
        task.add_done_callback(lambda _: self.switchboard.gone(node_id))
        self.nodes[node_id] = RunningNode(driver, monitoring, task)
        return self.nodes[node_id]

    @property
    def leader(self) -> RunningNode | None:
        active = [
            node
            for node in self.nodes.values()
            if not node.task.done() and node.driver.executor.active_epoch is not None
        ]
        return max(active, key=lambda node: node.driver.executor.machine.epoch, default=None)

    async def elect(self) -> RunningNode:
        await until(lambda: self.leader is not None)
        assert self.leader is not None
        return self.leader

    async def ask(self, node: RunningNode, request: Request) -> ClientAnswer:
        context = RequestContext(deadline_ms=node.driver.now_ms() + 10_000)
        return await asyncio.wait_for(node.driver.submit(request, context), DEADLINE_S)

    async def add_broker(self) -> RunningNode:
        """Register `BROKER` and unfence it."""
        leader = await self.elect()
        registered = (await self.ask(leader, REGISTER_BROKER)).response
        epoch = registered.broker_epoch  # type: ignore[union-attr]
        heartbeat = BrokerHeartbeat(broker_id=BROKER, broker_epoch=epoch, current_metadata_offset=1 << 40)
        answer = await self.ask(leader, heartbeat)
        assert not answer.response.is_fenced  # type: ignore[union-attr]
        return leader

    async def stop(self) -> None:
        """Stop all running controllers cleanly."""
        for node in self.nodes.values():
            node.driver.stop()
        tasks = [node.task for node in self.nodes.values()]
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), DEADLINE_S)


async def until(condition: Callable[[], bool], within_s: float = DEADLINE_S) -> None:
    """Let the loop run until `condition` holds."""
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110  (there is no event to wait for, and there is a deadline)
            await asyncio.sleep(0.002)
