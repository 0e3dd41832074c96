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
from grpc_reflection.v1alpha import reflection

from broker_agent.doors import AgentDoor
from kraft.v1 import agent_pb2, agent_pb2_grpc
from metadata_log.voters import GRPC_LISTENER, Endpoint
from quorum.node.config.door_limits import shares_of_this_process
from quorum.node.config.node_config import NodeConfig
from quorum.node.config.values import ConfigError
from quorum.node.process.grpc_guard import Guard
from quorum.node.process.listeners import ListenError, require_bindable
from quorum.transport.channel import address_of, server_options

_HEALTH_EVERY_S: Final = 0.25


async def listen(config: NodeConfig, door: AgentDoor, checks: HealthServicer, guard: Guard) -> grpc.aio.Server:
    """Bind and serve the listener GRPC.

    Raises:
        ConfigError: `listeners` has none. ListenError: its address cannot be bound.
    """
    endpoint = grpc_listener(config)
    require_bindable(endpoint)
    connections = shares_of_this_process(config.doors.max_connections).grpc
    server = grpc.aio.server(interceptors=[guard], options=server_options(connections, config.doors.max_idle_ms))
    agent_pb2_grpc.add_AgentServicer_to_server(door, server)
    service = agent_pb2.DESCRIPTOR.services_by_name["Agent"].full_name
    await checks.set("", health_pb2.HealthCheckResponse.NOT_SERVING)
    await checks.set(service, health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(checks, server)
    reflection.enable_server_reflection((service, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
    try:
        server.add_insecure_port(address_of(endpoint) if endpoint.host else f"[::]:{endpoint.port}")
    except RuntimeError as error:
        raise ListenError(f"cannot listen at {endpoint}: the address is in use, or not of this host") from error
    await server.start()
    return server


def grpc_listener(config: NodeConfig) -> Endpoint:
    """Return the listener GRPC, or raise ConfigError."""
    endpoint = config.listener(GRPC_LISTENER)
    if endpoint is None:
        raise ConfigError(f"listeners: the listener {GRPC_LISTENER} is missing: add {GRPC_LISTENER}://host:port")
    return endpoint


def registered_listeners(config: NodeConfig) -> tuple[Endpoint, ...]:
    """Return what the agent registers: the advertised addresses of listeners that it listens on.

    Any other address would be published to every client, and refuse each connection.

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
