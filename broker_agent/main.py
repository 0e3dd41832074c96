"""The agent process: reads its configuration, opens its directories, and assembles observer, client and service.

Decides: the order of start and stop.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
import structlog
import uvloop
from grpc_health.v1._async import HealthServicer

from broker_agent.agent import Agent
from broker_agent.agent_service import AgentService
from broker_agent.controllers import Controllers
from broker_agent.journal import Journal
from broker_agent.lifecycle import Lifecycle
from broker_agent.listen import grpc_listener, keep_health, listen, registered_listeners
from broker_agent.partitions import Partitions
from broker_agent.readiness import ClusterIdCheck, Readiness, RegistrationCheck
from broker_agent.release import finish_release
from metadata_log.directory import DirectoryLock, read_meta_properties
from metadata_log.errors import CorruptFileError, DirectoryError, NotFormattedError
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import Files
from metadata_log.ids import DirectoryId, NodeId, Uuid
from metadata_log.voters import GRPC_LISTENER
from quorum.api.brokers import FeatureRange, Listener, RegisterBroker
from quorum.client.client import Client
from quorum.node.config.node_config import BROKER_ROLE, NodeConfig, load_config
from quorum.node.controller.registration import SUPPORTED_FEATURES
from quorum.node.core.destinations import bootstrap_destinations
from quorum.node.core.executor import ExecutorConfig
from quorum.node.core.opened import OpenedReplica
from quorum.node.process.drain_tasks import settle
from quorum.node.process.driver import Driver
from quorum.node.process.grpc_guard import Guard
from quorum.node.process.health import are_ok
from quorum.node.process.http_server import HttpServer
from quorum.node.process.interpreter import without_collections
from quorum.node.process.log_lines import LogWatcher, Watchers, log_start
from quorum.node.process.metrics import NodeMetrics
from quorum.node.process.refusals import Refusals
from quorum.node.process.system_ports import SystemEntropy
from quorum.node.process.systemd import READY, STOPPING, notify
from quorum.node.process.voter_hosts import VoterHosts
from quorum.node.storage.open_replica import open_replica
from quorum.transport.channel import address_of
from quorum.transport.grpc.event_loop import ServerLoop
from quorum.transport.network import PeerNetwork

_STOP_GRACE_S: Final = 0.1
_MOST_CALLS: Final = 1_000
"""Calls open at a time on the listener GRPC."""
_NS_PER_MS: Final = 1_000_000


def run(config_path: str | Path, *, strict: bool = False) -> None:
    """Run an agent until SIGTERM or SIGINT, then shut it down in a controlled way. `strict`: unknown keys are errors.

    Raises:
        ConfigError: the configuration is wrong.
        NotFormattedError, DirectoryLockedError, ForeignDirectoryError, CorruptBatchError: a directory cannot be used.
        StorageFailedError, OSError: a disk failed, or an address cannot be bound.
    """
    config = load_config(config_path, strict=strict, role=BROKER_ROLE)
    uvloop.run(serve(config, config_path=str(config_path)), loop_factory=ServerLoop)


async def serve(config: NodeConfig, *, config_path: str = "") -> None:
    """Run an agent in the running loop until its process is asked to stop; raises as `run` does."""
    files, log = OsFiles(), structlog.get_logger("broker_agent").bind(node_id=config.node_id)
    config, offline = usable_log_dirs(files, config)
    opened = _open(files, config, log)
    client = Client([address_of(server) for server in config.bootstrap_servers])
    agent = _agent(files, opened, config, client, offline)
    network = PeerNetwork(kafka_listener=next(iter(config.kafka_listener_names), None))
    refusals = Refusals(config.node_id)
    metrics = NodeMetrics(refusals, agent.partitions.metrics)
    clusters = ClusterIdCheck(opened.meta.cluster_id)
    readiness = Readiness(RegistrationCheck(agent.lifecycle), clusters, agent.partitions.check)
    watchers = Watchers(LogWatcher(config.node_id, refusals=refusals), metrics, agent, clusters)
    driver = Driver(opened, _observer(config, opened.meta.cluster_id), network, watchers, syncs=metrics.syncs)
    agent.attach(driver)
    http = HttpServer(driver.view, metrics, refusals, readiness.more)
    checks, server = HealthServicer(), None
    try:
        agent.partitions.open()
        server = await listen(
            config, AgentService(agent, opened.meta.cluster_id), checks, _guard(config, agent, refusals)
        )
        if config.http_listener is not None:
            await http.start(config.http_listener)
    except BaseException:
        opened.abandon()
        if server is not None:
            await server.stop(None)
        await client.close()
        raise
    _stop_on_signals(agent)
    log_start(config, opened, config_path)
    log.info("listening", listeners=[str(grpc_listener(config))])
    notify(READY)
    health = asyncio.create_task(keep_health(checks, lambda: are_ok(readiness.checks(driver.view()))), name="health")
    try:
        await agent.run()
    finally:
        notify(STOPPING)
        health.cancel()
        await server.stop(_STOP_GRACE_S)
        await http.stop()
        await client.close()
        await network.close()
        await settle()
    log.info("stopped")


def _guard(config: NodeConfig, agent: Agent, refusals: Refusals) -> Guard:
    voters = VoterHosts.of(agent.driver.describe_quorum)
    per_host = config.doors.max_connections_per_ip
    return Guard(GRPC_LISTENER, voters, refusals, most_open=_MOST_CALLS, most_per_host=per_host)


def _observer(config: NodeConfig, cluster_id: str) -> ExecutorConfig:
    return ExecutorConfig(
        cluster_id=cluster_id,
        raft=config.raft,
        endpoints=(),
        bootstrap=bootstrap_destinations(config.bootstrap_servers),
        can_vote=False,
        snapshots=config.snapshots,
        keeps_committed=True,
    )


def _stop_on_signals(agent: Agent) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, agent.stop)


def _open(files: OsFiles, config: NodeConfig, log: structlog.stdlib.BoundLogger) -> OpenedReplica:
    if finish_release(files, config.metadata_log_dir):
        log.warning("a release was cut short, and is carried out now", metadata_log_dir=config.metadata_log_dir)
    with without_collections():
        opened = open_replica(files, config)
    for warning in opened.recovery.warnings:
        log.warning("log recovered", what=warning)
    return opened


def _agent(
    files: OsFiles, opened: OpenedReplica, config: NodeConfig, client: Client, offline: Mapping[str, str]
) -> Agent:
    entropy = SystemEntropy()
    broker_id, incarnation_id = NodeId(config.node_id), Uuid(entropy.new_id())
    directories = _directories(files, config)
    registration = RegisterBroker(
        broker_id=broker_id,
        cluster_id=opened.meta.cluster_id,
        incarnation_id=incarnation_id,
        listeners=tuple(Listener(name=at.name, host=at.host, port=at.port) for at in registered_listeners(config)),
        features=tuple(
            FeatureRange(
                name=each.name,
                min_supported_version=each.min_supported_version,
                max_supported_version=each.max_supported_version,
            )
            for each in SUPPORTED_FEATURES
        ),
        rack=config.rack,
        log_dirs=tuple(directories),
    )
    partitions = Partitions(
        files,
        broker_id,
        directories,
        _journal(files, config, opened),
        delete_delay_ms=config.delete_topic_delay_ms,
        wall_ms=lambda: time.time_ns() // _NS_PER_MS,
        monotonic_ms=lambda: time.monotonic_ns() // _NS_PER_MS,
        new_token=entropy.new_id,
        identity=lambda path: read_meta_properties(files, path).directory_id,
        offline=offline,
    )
    return Agent(
        broker_id,
        incarnation_id,
        partitions,
        Lifecycle(heartbeat_interval_ms=config.heartbeat_interval_ms),
        Controllers(client, registration),
        received_end=opened.received_end,
    )


def _journal(files: OsFiles, config: NodeConfig, opened: OpenedReplica) -> Journal:
    return Journal.open(
        files,
        config.metadata_log_dir,
        NodeId(config.node_id),
        log_end=opened.storage.end.offset,
        received_end=opened.received_end,
        committed_end=opened.committed_end,
    )


def usable_log_dirs(files: Files, config: NodeConfig) -> tuple[NodeConfig, dict[str, str]]:
    """Return the configuration without unusable log directories, and these directories with the reasons.

    A missing, unmounted or failing disk takes only its own directory offline. The metadata's directory is not checked
    here: the start fails without it.

    Raises:
        DirectoryError: no log directory is left.
    """
    offline: dict[str, str] = {}
    for path in config.log_dirs:
        if path == config.metadata_log_dir:
            continue
        try:
            read_meta_properties(files, path)
            files.listdir(path)
            DirectoryLock(files, path).release()
        except (OSError, CorruptFileError, NotFormattedError) as error:
            offline[path] = str(error)
    for path, why in offline.items():
        structlog.get_logger("broker_agent").error(
            "log directory is offline", path=path, why=why, what="the others go on; repair it, then restart this agent"
        )
    left = tuple(path for path in config.log_dirs if path not in offline)
    if not left:
        raise DirectoryError(f"no log directory of log.dirs can be used: {'; '.join(offline.values())}")
    return msgspec.structs.replace(config, log_dirs=left), offline


def _directories(files: OsFiles, config: NodeConfig) -> dict[DirectoryId, str]:
    """Return the log directories by their ids.

    Raises:
        DirectoryError: a directory has no id, or two have the same.
    """
    found: dict[DirectoryId, str] = {}
    for path in config.log_dirs:
        directory_id = read_meta_properties(files, path).directory_id
        if directory_id is None:
            raise DirectoryError(f"{path}: its meta.properties has no directory.id")
        if directory_id in found:
            raise DirectoryError(f"{path} and {found[directory_id]} have the same directory.id: one is a copy")
        found[directory_id] = path
    return found
