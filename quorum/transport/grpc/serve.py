"""The start of a gRPC server on a listener, the same for controllers and agents.

Decides: how the address is bound, and the error if that fails. Must not know: which services there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import grpc
from grpc_reflection.v1alpha import reflection

from metadata_log.voters import Endpoint
from quorum.node.config.door_limits import DoorLimits, shares_of_this_process
from quorum.node.process.grpc_guard import Guard
from quorum.node.process.listeners import ListenError, require_bindable
from quorum.transport.channel import address_of, server_options

AddServices = Callable[[grpc.aio.Server], Iterable[str]]
"""Adds services to a server; returns the names that reflection lists."""


async def start_server(
    endpoint: Endpoint, limits: DoorLimits, guard: Guard, add_services: AddServices
) -> tuple[grpc.aio.Server, int]:
    """Bind the listener and serve. Return the server and its port, which the system chooses if the endpoint's is 0.

    Raises:
        ListenError: the address is in use or not of this host.
    """
    require_bindable(endpoint)
    connections = shares_of_this_process(limits.max_connections).grpc
    server = grpc.aio.server(interceptors=[guard], options=server_options(connections, limits.max_idle_ms))
    reflection.enable_server_reflection((*add_services(server), reflection.SERVICE_NAME), server)
    try:
        port = server.add_insecure_port(address_of(endpoint) if endpoint.host else f"[::]:{endpoint.port}")
    except RuntimeError as error:
        raise ListenError(f"cannot listen at {endpoint}: the address is in use, or not of this host") from error
    await server.start()
    return server, port
