"""The leader hint: the leader and epoch that a replica knows, which every response to another replica names (KIP-595).

Decides: its fields. Must not know: how a hint is applied.
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.ids import NodeId
from metadata_log.offsets import Epoch
from metadata_log.voters import Endpoint

NO_LEADER: Final = NodeId(-1)
"""The leader id in a response from a replica that knows no leader of its epoch."""


class LeaderHint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The responding replica's epoch, with that epoch's leader and its endpoints as far as they are known."""

    leader_id: NodeId = NO_LEADER
    leader_epoch: Epoch
    leader_endpoints: tuple[Endpoint, ...] = ()
