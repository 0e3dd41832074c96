"""The agent's gRPC listener: the service `kraft.v1.Agent`, health, reflection.

Must not know what the services answer. Health: the empty name follows readiness, as on a controller. `kraft.v1.Agent`
is SERVING while the process listens: `kraft agent describe` must work on an agent that is not ready.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import grpc
import structlog
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_health.v1._async import HealthServicer

from broker_agent.agent_service import AgentService
from kraft.v1 import agent_pb2, agent_pb2_grpc
from metadata_log.voters import GRPC_LISTENER, Endpoint
from quorum.node.config.node_config import NodeConfig
from quorum.node.config.values import ConfigError
from quorum.node.process.grpc_guard import Guard
from quorum.transport.grpc.serve import start_server

_HEALTH_EVERY_S: Final = 0.25


async def listen(config: NodeConfig, service: AgentService, checks: HealthServicer, guard: Guard) -> grpc.aio.Server:
    """Bind and serve the listener GRPC.

    Raises:
        ConfigError: `listeners` has none. ListenError: its address cannot be bound.
    """
    name = agent_pb2.DESCRIPTOR.services_by_name["Agent"].full_name

    def add_services(server: grpc.aio.Server) -> tuple[str, ...]:
        agent_pb2_grpc.add_AgentServicer_to_server(service, server)
        health_pb2_grpc.add_HealthServicer_to_server(checks, server)
        return name, health.SERVICE_NAME

    await checks.set("", health_pb2.HealthCheckResponse.NOT_SERVING)
    await checks.set(name, health_pb2.HealthCheckResponse.SERVING)
    server, _ = await start_server(grpc_listener(config), config.doors, guard, add_services)
    return server


def grpc_listener(config: NodeConfig) -> Endpoint:
    """Return the listener GRPC, or raise ConfigError."""
    endpoint = config.listener(GRPC_LISTENER)
    if endpoint is None:
        raise ConfigError(f"listeners: the listener {GRPC_LISTENER} is missing: add {GRPC_LISTENER}://host:port")
    return endpoint


def registered_listeners(config: NodeConfig) -> tuple[Endpoint, ...]:
    """Return the advertised endpoint of the listener GRPC, which the agent registers.

    The agent serves no other listener: clients would find its address published, but no connection would succeed.

    Raises:
        ConfigError: the listener GRPC is not advertised.
    """
    served = tuple(at for at in config.advertised_listeners if at.name == GRPC_LISTENER)
    if not served:
        raise ConfigError(
            f"advertised.listeners: {GRPC_LISTENER}://host:port is missing: no other agent could reach this one"
        )
    for other in dict.fromkeys(at.name for at in (*config.listeners, *config.advertised_listeners)):
        if other != GRPC_LISTENER:
            structlog.get_logger("broker_agent").warning(
                "a listener of the configuration is not registered: an agent does not listen there",
                listener=other,
                what="remove it from listeners and advertised.listeners",
            )
    return served


async def keep_health(checks: HealthServicer, is_ready: Callable[[], bool]) -> None:
    """Keep the health of the empty name as readiness is, until cancelled."""
    status = health_pb2.HealthCheckResponse
    while True:
        await checks.set("", status.SERVING if is_ready() else status.NOT_SERVING)
        await asyncio.sleep(_HEALTH_EVERY_S)
