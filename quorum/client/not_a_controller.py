"""What to tell whoever named an address where gRPC is spoken, but not by a controller: a broker agent's, most likely.

Decides: the words. Must not know: who wanted what.
"""

from __future__ import annotations

from typing import Final

from quorum.client.agent_status import describe_agent
from quorum.client.errors import ClientError, NotAControllerError, who_leads

_PATIENCE_S: Final = 1.0


async def not_a_controller(address: str) -> NotAControllerError:
    """The error, with what is at `address` in it."""
    try:
        agent = await describe_agent(address, _PATIENCE_S)
    except ClientError:
        return NotAControllerError(f"{address} is no controller: give the GRPC address of one")
    leader = f"; it {who_leads(agent.leader_id)}" if agent.leader_id >= 0 else ""
    return NotAControllerError(
        f"{address} is the broker agent {agent.broker_id} of cluster {agent.cluster_id}, no controller: give the GRPC "
        f"address of a controller, as in the agent's controller.quorum.bootstrap.servers{leader}"
    )
