"""The node at an address, controller or agent, and its high watermark."""

from __future__ import annotations

import asyncio

import msgspec

from quorum.cli.errors import wrong_use
from quorum.client.agent_status import NotAnAgentError, describe_agent
from quorum.client.errors import AddressError
from quorum.client.quorum_status import describe_at


class LiveNode(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A running node. `high_watermark`: None if it knows none yet."""

    node_id: int
    cluster_id: str
    high_watermark: int | None


def node_at(address: str, timeout_s: float) -> LiveNode:
    """Return the node whose GRPC listener is at `address`.

    Raises:
        CliError: `address` is not `host:port`.
        UnavailableError, WrongListenerError, RefusedError: no node of this software responds there.
    """
    try:
        return asyncio.run(find_node(address, timeout_s))
    except AddressError as error:
        raise wrong_use(str(error)) from error


async def find_node(address: str, timeout_s: float) -> LiveNode:
    """Return the node, in a running loop; see `node_at`."""
    try:
        agent = await describe_agent(address, timeout_s)
    except NotAnAgentError:
        found = await describe_at(address, timeout_s)
        return LiveNode(
            node_id=found.answered_by, cluster_id=found.cluster_id, high_watermark=_known(found.high_watermark)
        )
    return LiveNode(node_id=agent.broker_id, cluster_id=agent.cluster_id, high_watermark=_known(agent.high_watermark))


def _known(high_watermark: int) -> int | None:
    return None if high_watermark < 0 else high_watermark
