"""Three controllers over real gRPC on loopback, each with its files, threads and ports, in one event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import grpc

from metadata_log.files.os_files import OsFiles
from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.storage.formatter import LogDirectory, format_directory
from metadata_log.voters import Endpoint, Voter
from quorum.cli.demo.cluster import free_ports
from quorum.client import BrokerHeartbeat, Client
from quorum.node.config.node_config import NodeConfig, config_of
from quorum.node.process.driver import Driver
from quorum.node.process.monitoring import Monitoring
from quorum.node.storage.open_replica import open_replica
from quorum.server.grpc.listen import listen
from quorum.server.main import make_driver
from quorum.transport.grpc.network import GrpcNetwork
from tests.support.loop import until
from tests.support.node_requests import BROKER, CLUSTER_ID, LEVEL, REGISTER_BROKER


class GrpcController:
    """One running controller."""

    def __init__(self, config: NodeConfig) -> None:
        self.config = config
        self._network = GrpcNetwork()
        monitoring = Monitoring(config.node_id)
        self.driver: Driver = make_driver(open_replica(OsFiles(), config), config, self._network, monitoring)
        self._server: grpc.aio.Server | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def address(self) -> str:
        """Return `host:port` of its GRPC listener."""
        endpoint = self.config.listener("GRPC")
        assert endpoint is not None
        return f"{endpoint.host}:{endpoint.port}"

    async def start(self) -> None:
        """Open its listener and run it."""
        endpoint = self.config.listener("GRPC")
        assert endpoint is not None
        self._server, _ = await listen(endpoint, self.driver)
        self._task = asyncio.get_running_loop().create_task(self.driver.run(), name=f"node-{self.config.node_id}")

    async def stop(self) -> None:
        """Stop it cleanly, as the process does."""
        if self._task is None or self._server is None:
            return
        self.driver.stop()
        await self._task
        await self._server.stop(None)
        await self._network.close()
        self._task = None


class GrpcControllers:
    """Controllers 1 to 3."""

    def __init__(self, path: Path, properties: Mapping[str, str]) -> None:
        self._path = path
        self._properties = properties
        self.nodes = {config.node_id: GrpcController(config) for config in self._formatted()}

    @property
    def addresses(self) -> list[str]:
        """Return the addresses of all controllers, running or not."""
        return [node.address for node in self.nodes.values()]

    @property
    def active(self) -> GrpcController | None:
        """Return the active one among the running controllers, or None."""
        active = [node for node in self.nodes.values() if node.driver.executor.active_epoch is not None]
        return max(active, key=lambda node: node.driver.executor.machine.epoch, default=None)

    async def elected(self) -> GrpcController:
        """Return the active controller, once there is one."""
        await until(lambda: self.active is not None, what="an active controller")
        assert self.active is not None
        return self.active

    def standby(self) -> GrpcController:
        """Return a controller that is not active."""
        return next(node for node in self.nodes.values() if node.driver.executor.active_epoch is None)

    async def add_broker(self, client: Client) -> None:
        """Register a broker and unfence it."""
        epoch = (await client.register_broker(REGISTER_BROKER)).broker_epoch
        heartbeat = BrokerHeartbeat(broker_id=BROKER, broker_epoch=epoch, current_metadata_offset=1 << 40)
        assert not (await client.broker_heartbeat(heartbeat)).is_fenced

    def _formatted(self) -> list[NodeConfig]:
        ports = {node_id: free_ports(2) for node_id in (1, 2, 3)}
        directories = {node_id: DirectoryId(bytes(15) + bytes([200 + node_id])) for node_id in ports}
        voters = [
            Voter(
                key=ReplicaKey(node_id=NodeId(node_id), directory_id=directories[node_id]),
                endpoints=(
                    Endpoint(name="CONTROLLER", host="127.0.0.1", port=controller),
                    Endpoint(name="GRPC", host="127.0.0.1", port=own),
                ),
            )
            for node_id, (controller, own) in ports.items()
        ]
        return [self._format(node_id, controller, own, voters) for node_id, (controller, own) in ports.items()]

    def _format(self, node_id: int, controller: int, own: int, voters: list[Voter]) -> NodeConfig:
        directory = str(self._path / f"node-{node_id}")
        Path(directory).mkdir(parents=True)
        format_directory(
            OsFiles(),
            [LogDirectory(path=directory, directory_id=voters[node_id - 1].key.directory_id)],
            directory,
            cluster_id=CLUSTER_ID,
            node_id=NodeId(node_id),
            level=LEVEL,
            now_ms=time.time_ns() // 1_000_000,
            initial_voters=voters,
        )
        return config_of(
            {
                "process.roles": "controller",
                "node.id": str(node_id),
                "listeners": f"CONTROLLER://127.0.0.1:{controller},GRPC://127.0.0.1:{own}",
                "log.dirs": directory,
                "broker.session.timeout.ms": "60000",
                **self._properties,
            }
        )


@asynccontextmanager
async def three_controllers(path: Path, properties: Mapping[str, str] | None = None) -> AsyncIterator[GrpcControllers]:
    """Format and start three controllers, and stop them at the end; `properties` are added to each file."""
    controllers = GrpcControllers(path, properties or {})
    for node in controllers.nodes.values():
        await node.start()
    try:
        yield controllers
    finally:
        for node in controllers.nodes.values():
            await node.stop()
