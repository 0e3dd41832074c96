"""The bootstrap servers, where a replica looks for a leader before it knows one.

Decides: the ids of bootstrap servers. Must not know: how a destination is reached.
"""

from __future__ import annotations

from typing import Final

from metadata_log.voters import Endpoint
from quorum.raft.ready import Destination

_FIRST_BOOTSTRAP_ID: Final = -2


def bootstrap_destinations(servers: tuple[Endpoint, ...]) -> tuple[Destination, ...]:
    """Return `controller.quorum.bootstrap.servers` as destinations, with ids from -2 down because the real ids are
    unknown."""
    return tuple(
        Destination(node_id=_FIRST_BOOTSTRAP_ID - index, endpoints=(server,)) for index, server in enumerate(servers)
    )
