"""The gRPC server of a controller: its services on one listener.

Decides: which services it has. `grpc_guard` decides how many calls may be open at once.
"""

from __future__ import annotations

from typing import Any, cast

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from kraft.v1 import controller_pb2, controller_pb2_grpc, quorum_pb2, quorum_pb2_grpc
from metadata_log.voters import Endpoint
from quorum.node.config.door_limits import DoorLimits
from quorum.node.process.grpc_guard import Guard
from quorum.node.process.large_requests import LargeRequests
from quorum.node.process.refusals import Refusals
from quorum.node.process.voter_hosts import VoterHosts
from quorum.server.grpc.controller_service import ControllerService
from quorum.server.grpc.health_service import HealthDoor
from quorum.server.grpc.quorum_service import QuorumService
from quorum.server.node import Node
from quorum.transport.grpc.serve import start_server


async def listen(
    endpoint: Endpoint,
    node: Node,
    limits: DoorLimits | None = None,
    refusals: Refusals | None = None,
    large: LargeRequests | None = None,
    *,
    guard: Guard | None = None,
) -> tuple[grpc.aio.Server, int]:
    """Bind the listener and serve. Return the server and its port; for port 0 the system chooses one.

    `guard`: by default, one with these limits.

    Raises:
        ListenError: the address is in use, or is not an address of this host.
    """
    limits, served = limits or DoorLimits(), large or LargeRequests()
    guard = guard or Guard(
        endpoint.name,
        VoterHosts.of(node.describe_quorum),
        refusals or Refusals(node.view().node_id),
        most_per_host=limits.max_connections_per_ip,
        large=served,
    )

    def add_services(server: grpc.aio.Server) -> tuple[str, ...]:
        quorum_pb2_grpc.add_QuorumServicer_to_server(QuorumService(node), server)
        controller_pb2_grpc.add_ControllerServicer_to_server(cast("Any", ControllerService(node, served)), server)
        health_pb2_grpc.add_HealthServicer_to_server(HealthDoor(node), server)
        return (
            quorum_pb2.DESCRIPTOR.services_by_name["Quorum"].full_name,
            controller_pb2.DESCRIPTOR.services_by_name["Controller"].full_name,
            health_pb2.DESCRIPTOR.services_by_name["Health"].full_name,
        )

    return await start_server(endpoint, limits, guard, add_services)
