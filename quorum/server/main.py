"""The controller process: reads its configuration, opens its directory, and composes the node and its listeners.

Decides: the order of start and stop. The listeners open after the node exists. A clean stop transfers leadership before
they close.
"""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Final

import grpc
import structlog
import uvloop

from metadata_log.files.os_files import OsFiles
from metadata_log.ids import Uuid
from metadata_log.voters import GRPC_LISTENER
from quorum.controller.authorizer import Authorizer
from quorum.controller.config import ControllerConfig
from quorum.node.config.door_limits import shares_of_this_process
from quorum.node.config.listeners import how_derived, set_grpc
from quorum.node.config.node_config import CONTROLLER_ROLE, NodeConfig, load_config
from quorum.node.config.values import ConfigError
from quorum.node.controller.registration import registration_of
from quorum.node.controller.role import ControllerRole
from quorum.node.controller.role_config import RoleConfig
from quorum.node.core.destinations import bootstrap_destinations
from quorum.node.core.executor import Executor, ExecutorConfig
from quorum.node.core.opened import OpenedReplica
from quorum.node.core.ports import Watcher
from quorum.node.process.drain_tasks import settle
from quorum.node.process.driver import Driver
from quorum.node.process.interpreter import collect_when_idle, tune, without_collections
from quorum.node.process.large_requests import LargeRequests
from quorum.node.process.listeners import ListenError
from quorum.node.process.log_lines import log_start
from quorum.node.process.monitoring import Monitoring
from quorum.node.process.refusals import Refusals
from quorum.node.process.system_ports import SystemEntropy
from quorum.node.process.systemd import READY, STOPPING, notify
from quorum.node.storage.open_replica import open_replica
from quorum.server.grpc.listen import listen
from quorum.server.kafka.bounds import Limits, limits_of
from quorum.server.kafka.listen import KafkaListener, LeaderWatcher, listen_kafka
from quorum.transport.grpc.event_loop import ServerLoop
from quorum.transport.network import PeerNetwork

_STOP_GRACE_S: Final = 0.1
"""Time for the last responses to leave when everything else has ended."""


def run(config_path: str | Path, *, strict: bool = False) -> None:
    """Run a controller until SIGTERM or SIGINT, then stop it cleanly. `strict`: unknown keys are errors.

    Raises:
        ConfigError: the configuration is invalid.
        NotFormattedError, DirectoryLockedError, ForeignDirectoryError, CorruptBatchError: its directory is unusable.
        ListenError: an address cannot be bound.
        StorageFailedError: a write or a sync failed. The node has acknowledged nothing that is not durable.
        InvariantViolation: a bug in this software.
    """
    config = load_config(config_path, strict=strict, role=CONTROLLER_ROLE)
    uvloop.run(serve(config, config_path=str(config_path)), loop_factory=ServerLoop)


async def serve(config: NodeConfig, *, config_path: str = "", watcher: Watcher | None = None) -> None:
    """Run a controller in the running loop until its process is asked to stop. Raise the errors of `run`."""
    with without_collections():
        opened = open_replica(OsFiles(), config)
    log = structlog.get_logger().bind(node_id=config.node_id)
    for warning in opened.recovery.warnings:
        log.warning("log recovered", what=warning)
    network = PeerNetwork(config.inter_controller_listener_name, next(iter(config.kafka_listener_names), None))
    leaders = LeaderWatcher()
    monitoring = Monitoring(config.node_id, leaders, *([] if watcher is None else [watcher]))
    driver = make_driver(opened, config, network, monitoring)
    large = LargeRequests()
    doors: list[KafkaListener] = []
    server: grpc.aio.Server | None = None
    try:
        shares = shares_of_this_process(config.doors.max_connections)
        await _listen_kafka(config, driver, doors, limits_of(config.doors, shares), monitoring.refusals, large)
        leaders.doors = doors
        server, port = await _listen_grpc(config, driver, monitoring.refusals, large)
        await monitoring.start(driver.view, config.http_listener)
    except OSError:
        opened.abandon()
        if server is not None:
            await server.stop(None)
        for door in doors:
            await door.close()
        raise
    _stop_on_signals(driver)
    log_start(config, opened, config_path)
    listeners = [str(endpoint) for endpoint in config.listeners]
    log.info("listening", listeners=listeners, grpc_port=port, asks_by=config.inter_controller_listener_name)
    tune()
    collecting = asyncio.create_task(collect_when_idle(), name="collect-when-idle")
    notify(READY)
    try:
        await driver.run()
    finally:
        notify(STOPPING)
        # The driver has ended, so leadership is transferred. Closed earlier, the listeners would cost clients a retry.
        collecting.cancel()
        await server.stop(_STOP_GRACE_S)
        await monitoring.stop()
        await network.close()
        for door in doors:
            await door.close()
        await settle()
    log.info("stopped")


def make_driver(opened: OpenedReplica, config: NodeConfig, network: PeerNetwork, monitoring: Monitoring) -> Driver:
    """Return the controller's driver, not yet running."""
    cluster_id = opened.meta.cluster_id
    controller = ControllerConfig(
        node_id=config.node_id,
        cluster_id=cluster_id,
        session_timeout_ms=config.session_timeout_ms,
        default_num_partitions=config.num_partitions,
        default_replication_factor=config.default_replication_factor,
        delete_topic_enable=config.delete_topic_enable,
        unclean_leader_election_enable=config.unclean_leader_election_enable,
        quorum_node_ids=frozenset(config.static_voters.node_ids),
        unclean_leader_election_interval_ms=config.unclean_leader_election_interval_ms,
        leader_imbalance_check_interval_ms=(
            config.leader_imbalance_check_interval_s * 1000 if config.auto_leader_rebalance_enable else None
        ),
        max_idle_interval_ms=config.max_idle_interval_ms or None,
        mutation_burst_s=config.quota_window_num * config.quota_window_size_s,
        min_insync_replicas=config.min_insync_replicas,
        settings=config.settings,
        tokens=config.tokens,
        remote_log_storage_system_enable=config.remote_log_storage_system_enable,
    )
    registration = registration_of(config.node_id, Uuid(SystemEntropy().new_id()), config.controller_endpoints)

    def application(executor: Executor) -> ControllerRole:
        return ControllerRole(executor, controller, RoleConfig(), registration, opened.bootstrap_records)

    executor_config = ExecutorConfig(
        cluster_id=cluster_id,
        raft=config.raft,
        endpoints=config.controller_endpoints,
        bootstrap=bootstrap_destinations(config.bootstrap_servers),
        can_vote=True,
        snapshots=config.snapshots,
        auto_join=config.auto_join,
    )
    return Driver(
        opened,
        executor_config,
        network,
        monitoring.watcher,
        application=application,
        syncs=monitoring.metrics.syncs,
        authorizer=_authorizer(config),
    )


def _authorizer(config: NodeConfig) -> Authorizer | None:
    """Return the authorizer of the configuration, or None: then every client may do everything."""
    if not config.authorizer_class_name:
        return None
    return Authorizer(super_users=config.super_users, allow_everyone_if_no_acl=config.allow_everyone_if_no_acl)


async def _listen_kafka(
    config: NodeConfig,
    driver: Driver,
    doors: list[KafkaListener],
    limits: Limits,
    refusals: Refusals,
    large: LargeRequests,
) -> None:
    """Bind every listener of Kafka's protocol. Each refers a gRPC client to the advertised GRPC address."""
    advertised = next(endpoint for endpoint in config.advertised_listeners if endpoint.name == GRPC_LISTENER)
    for endpoint in config.listeners:
        if endpoint.name in config.kafka_listener_names:
            doors.append(await listen_kafka(endpoint, driver, config.node_id, advertised, limits, refusals, large))


async def _listen_grpc(
    config: NodeConfig, driver: Driver, refusals: Refusals, large: LargeRequests
) -> tuple[grpc.aio.Server, int]:
    """Bind the listener GRPC, whose address may be derived from another listener's. Return the server and its port.

    Raises:
        ListenError: its address cannot be bound. If it is derived, the message names the keys that set another.
    """
    listener, beside = config.listener(GRPC_LISTENER), config.grpc_derived_from
    if listener is None:
        raise ConfigError(f"listeners: the listener {GRPC_LISTENER} is missing: add {GRPC_LISTENER}://host:port")
    try:
        return await listen(listener, driver, config.doors, refusals, large)
    except ListenError as error:
        if beside is None:
            raise
        raise ListenError(f"{error}. {how_derived(beside)}: {set_grpc(beside)}") from error


def _stop_on_signals(driver: Driver) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, driver.stop)
