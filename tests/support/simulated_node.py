"""One whole controller over simulated ports: its disk, and its process while it is up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from metadata_log.errors import MetadataLogError
from metadata_log.files.simulated_files import SimulatedCrash, SimulatedFiles
from metadata_log.ids import NodeId, Uuid
from metadata_log.voters import Voter
from quorum.api.brokers import BrokerHeartbeat
from quorum.api.calls import ClientAnswer, ClientCall
from quorum.api.context import RequestContext
from quorum.controller.config import ControllerConfig
from quorum.node.config.node_config import NodeConfig, config_of
from quorum.node.controller.registration import registration_of
from quorum.node.controller.role import ControllerRole
from quorum.node.controller.role_config import RoleConfig
from quorum.node.core.application import Application
from quorum.node.core.destinations import bootstrap_destinations
from quorum.node.core.executor import Executor, ExecutorConfig
from quorum.node.core.opened import OpenedReplica
from quorum.node.core.ports import Event, NodeEvent, Ports, StopAsked
from quorum.node.storage.open_replica import open_replica
from tests.support.durable_files import durable_copy, read_directory
from tests.support.node_ports import Crashed, SeededEntropy, SimulatedNetwork, VirtualClock
from tests.support.node_requests import BROKER, CLUSTER_ID, DATA

if TYPE_CHECKING:
    from tests.support.node_cluster import Cluster


class Node:
    """One controller: its disk, and its process while it is up."""

    is_voter = True
    executor_type: type[Executor] | None = None
    """Overrides the cluster's executor type."""

    def __init__(self, cluster: Cluster, voter: Voter) -> None:
        self.cluster = cluster
        self.voter = voter
        self.node_id = voter.key.node_id
        self.files = SimulatedFiles()
        self.is_up = False
        self.boot = 0
        self.opened: OpenedReplica
        self.executor: Executor
        self.events: list[NodeEvent] = []
        self.failure: Exception | None = None
        self.disk_latency_ms = 1
        self.in_flight: list[tuple[list[bool], Callable[[], None]]] = []
        self._durable: tuple[int, int, frozenset[str]] | None = None

    # --- life

    @property
    def config(self) -> NodeConfig:
        config = config_of(
            {
                "process.roles": "controller",
                "node.id": str(self.node_id),
                "listeners": f"CONTROLLER://c{self.node_id}:9093,GRPC://c{self.node_id}:9094",
                "log.dirs": DATA,
            }
        )
        return msgspec.structs.replace(config, log=self.cluster.log_config)

    @property
    def executor_config(self) -> ExecutorConfig:
        return ExecutorConfig(
            cluster_id=CLUSTER_ID,
            raft=self.config.raft,
            endpoints=self.voter.endpoints,
            bootstrap=(),
            can_vote=True,
            snapshots=self.cluster.snapshots,
        )

    def start(self) -> None:
        assert not self.is_up
        self.boot += 1
        self.failure = None
        try:
            self.opened = open_replica(self.files, self.config, cluster_id=CLUSTER_ID)
        except SimulatedCrash:
            self.crash()
            return
        self.disk = self.cluster.disk_type(self)
        self.executor = (self.executor_type or self.cluster.executor_type)(
            self.opened,
            self.executor_config,
            Ports(
                disk=self.disk,
                network=SimulatedNetwork(self),
                clock=VirtualClock(self.cluster),
                entropy=SeededEntropy(self),
            ),
            self,
            self._application if self.is_voter else None,
        )
        self.is_up = True
        self._guarded(self.executor.start)

    def _application(self, executor: Executor) -> Application:
        controller = ControllerConfig(
            node_id=self.node_id,
            cluster_id=CLUSTER_ID,
            session_timeout_ms=self.cluster.session_timeout_ms,
            max_records_per_sweep=self.cluster.max_records_per_sweep,
            max_idle_interval_ms=self.cluster.max_idle_interval_ms,
        )
        incarnation = Uuid(self.node_id.to_bytes(8, "big") + self.boot.to_bytes(8, "big"))
        return ControllerRole(
            executor,
            controller,
            RoleConfig(),
            registration_of(self.node_id, incarnation, self.voter.endpoints),
            self.opened.bootstrap_records,
        )

    def crash(self, draw: int | None = None) -> None:
        """Kill -9 and cut the power at once."""
        self._end()
        self.files.crash(self.cluster.random.getrandbits(64) if draw is None else draw)
        self._durable = None
        if self.cluster.restart_after_ms is not None:
            self.cluster.later(self.cluster.restart_after_ms, self.start)

    def _end(self) -> None:
        """End the process: clients that wait for it see closed connections."""
        self.is_up = False
        for answered, fail in self.in_flight:
            if not answered:
                answered.append(True)
                fail()
        self.in_flight.clear()

    def stop(self) -> None:
        self.turn([StopAsked()])

    def turn(self, events: Iterable[Event]) -> None:
        if self.is_up:
            batch = list(events)
            self._guarded(lambda: self.executor.turn(batch))

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except (Crashed, SimulatedCrash):
            self.crash()
        except MetadataLogError as error:
            self.failure = error
            self._end()
            self.opened.abandon()
        else:
            if self.executor.is_shut:
                self._end()
                self.disk.finish()
                self.opened.close()
                self.disk_changed()

    def deadline_ms(self) -> int | None:
        return self.executor.next_deadline_ms() if self.is_up else None

    def post(self, boot: int, delay_ms: int, event: Event) -> None:
        """Deliver an event later, unless its process has ended by then."""

        def deliver() -> None:
            if self.boot == boot:
                self.turn([event])

        self.cluster.later(delay_ms, deliver)

    def call(
        self,
        request: object,
        respond: Callable[[ClientAnswer], None],
        at_least_offset: int = -1,
        deadline_ms: int | None = None,
    ) -> None:
        deadline = self.cluster.now_ms + 10_000 if deadline_ms is None else deadline_ms
        self.turn(
            [
                ClientCall(
                    request=request,
                    context=RequestContext(deadline_ms=deadline),
                    respond=respond,
                    at_least_offset=at_least_offset,  # type: ignore[arg-type]
                )
            ]
        )

    def unfence_broker(self) -> None:
        """Send a heartbeat of `BROKER`, which is registered."""
        heartbeat = BrokerHeartbeat(
            broker_id=BROKER,
            broker_epoch=self.executor.image.cluster.broker_epoch(NodeId(BROKER)),
            current_metadata_offset=1 << 40,
        )
        self.call(heartbeat, lambda answer: None)

    def on_event(self, event: NodeEvent) -> None:
        self.events.append(event)
        if type(event).__name__ == "ControllerActivated":
            self.cluster.promises.on_leader(self.node_id, event.epoch)  # type: ignore[union-attr]

    # --- the least that a power cut now would leave

    def durable_end(self) -> int:
        return self._read_durable()[0]

    def durable_epoch(self) -> int:
        return self._read_durable()[1]

    def durable_topics(self) -> frozenset[str]:
        return self._read_durable()[2]

    def disk_changed(self) -> None:
        self._durable = None

    def _read_durable(self) -> tuple[int, int, frozenset[str]]:
        if self._durable is None:
            self._durable = read_directory(durable_copy(self.files))
        return self._durable


class Observer(Node):
    """A node that fetches the log as an agent does, and keeps the committed part on disk."""

    is_voter = False

    @property
    def config(self) -> NodeConfig:
        servers = ",".join(f"c{node.node_id}:9094" for node in self.cluster.nodes if node.is_voter)
        config = config_of(
            {
                "process.roles": "broker",
                "node.id": str(self.node_id),
                "listeners": f"GRPC://c{self.node_id}:9092",
                "log.dirs": DATA,
                "controller.listener.names": "GRPC",
                "controller.quorum.bootstrap.servers": servers,
            }
        )
        return msgspec.structs.replace(config, log=self.cluster.log_config)

    @property
    def executor_config(self) -> ExecutorConfig:
        return msgspec.structs.replace(
            super().executor_config,
            endpoints=(),
            bootstrap=bootstrap_destinations(self.config.bootstrap_servers),
            can_vote=False,
            keeps_committed=True,
        )
