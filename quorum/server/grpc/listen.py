"""The gRPC server of a controller: its services on one listener.

Decides: which services are there. `grpc_guard` decides how many calls may be open at once.
"""

from __future__ import annotations

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from kraft.v1 import controller_pb2, controller_pb2_grpc, quorum_pb2, quorum_pb2_grpc
from metadata_log.voters import Endpoint
from quorum.node.config.door_limits import DoorLimits, shares_of_this_process
from quorum.node.process.grpc_guard import Guard
from quorum.node.process.large_requests import LargeRequests
from quorum.node.process.listeners import ListenError, require_bindable
from quorum.node.process.refusals import Refusals
from quorum.node.process.voter_hosts import VoterHosts
from quorum.server.grpc.controller_service import ControllerDoor
from quorum.server.grpc.health_service import HealthDoor
from quorum.server.grpc.quorum_service import QuorumDoor
from quorum.server.node import Node
from quorum.transport.channel import address_of, server_options


def voter_hosts(node: Node) -> VoterHosts:
    """Return the addresses of a node's latest voter set."""
    return VoterHosts(lambda: [at for voter in node.describe_quorum().voters for at in voter.endpoints])


async def listen(
    endpoint: Endpoint,
    node: Node,
    limits: DoorLimits | None = None,
    refusals: Refusals | None = None,
    large: LargeRequests | None = None,
    *,
    guard: Guard | None = None,
) -> tuple[grpc.aio.Server, int]:
    """Bind the listener and serve; returns the server and the port, which is chosen where the endpoint's is 0.

    `guard` is made of the limits if it is not given.

    Raises:
        ListenError: the address is in use or not of this host.
    """
    require_bindable(endpoint)
    limits = limits or DoorLimits()
    large = large or LargeRequests()
    guard = guard or Guard(
        endpoint.name,
        voter_hosts(node),
        refusals or Refusals(node.view().node_id),
        most_per_host=limits.max_connections_per_ip,
        large=large,
    )
    connections = shares_of_this_process(limits.max_connections).grpc
    server = grpc.aio.server(interceptors=[guard], options=server_options(connections, limits.max_idle_ms))
    quorum_pb2_grpc.add_QuorumServicer_to_server(QuorumDoor(node), server)
    controller_pb2_grpc.add_ControllerServicer_to_server(ControllerDoor(node, large), server)
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
