"""What an executor is told besides what it finds on disk.

Decides: nothing. Must not know: the executor's insides.
"""

from __future__ import annotations

import msgspec

from metadata_log.voters import Endpoint
from quorum.node.core.retention import SnapshotConfig
from quorum.raft.config import RaftConfig
from quorum.raft.ready import Destination


class ExecutorConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What an executor is told besides what it finds on disk."""

    cluster_id: str
    raft: RaftConfig
    endpoints: tuple[Endpoint, ...]
    """Our own, for peers and the voter set."""
    bootstrap: tuple[Destination, ...]
    can_vote: bool
    auto_join: bool = False
    """Whether an observer that can vote asks to become a voter (`controller.quorum.auto.join.enable`)."""
    snapshots: SnapshotConfig = SnapshotConfig()
    keeps_committed: bool = False
    """Whether what is committed is kept on disk, as an agent does: no vote protects its log."""
