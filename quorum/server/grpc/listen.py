"""The gRPC server of a controller: its services on one listener.

Decides: which services are there, and how many calls and streams may be open at once.
"""

from __future__ import annotations

from typing import Final

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from kraft.v1 import controller_pb2, controller_pb2_grpc, quorum_pb2, quorum_pb2_grpc
from metadata_log.voters import Endpoint
from quorum.node.process.listeners import ListenError, require_bindable
from quorum.server.grpc.controller_service import ControllerDoor
from quorum.server.grpc.health_service import HealthDoor
from quorum.server.grpc.quorum_service import QuorumDoor
from quorum.server.node import Node
from quorum.transport.channel import SERVER_OPTIONS, address_of

MAX_OPEN_CALLS: Final = 10_000
"""Streams and single calls together; one more is refused with RESOURCE_EXHAUSTED."""


async def listen(endpoint: Endpoint, node: Node) -> tuple[grpc.aio.Server, int]:
    """Bind the listener and serve; returns the server and the port, which is chosen where the endpoint's is 0.

    Raises:
        ListenError: the address is in use or not of this host.
    """
    require_bindable(endpoint)
    server = grpc.aio.server(options=SERVER_OPTIONS, maximum_concurrent_rpcs=MAX_OPEN_CALLS)
    quorum_pb2_grpc.add_QuorumServicer_to_server(QuorumDoor(node), server)
    controller_pb2_grpc.add_ControllerServicer_to_server(ControllerDoor(node), server)
    health_pb2_grpc.add_HealthServicer_to_server(HealthDoor(node), server)
    reflection.enable_server_reflection(
        (
            quorum_pb2.DESCRIPTOR.services_by_name["Quorum"].full_name,
            controller_pb2.DESCRIPTOR.services_by_name["Controller"].full_name,
            health_pb2.DESCRIPTOR.services_by_name["Health"].full_name,
            reflection.SERVICE_NAME,
        ),
        server,
    )
    bound = Endpoint(name=endpoint.name, host=endpoint.host or "[::]", port=endpoint.port)
    try:
        port = server.add_insecure_port(address_of(bound) if endpoint.host else f"[::]:{endpoint.port}")
    except RuntimeError as error:
        raise ListenError(f"cannot listen at {endpoint}: the address is in use, or not of this host") from error
    await server.start()
    return server, port
