"""The executor's configuration, apart from what it finds on disk."""

from __future__ import annotations

import msgspec

from metadata_log.voters import Endpoint
from quorum.node.core.retention import SnapshotConfig
from quorum.raft.config import RaftConfig
from quorum.raft.ready import Destination


class ExecutorConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The executor's configuration, apart from what it finds on disk."""

    cluster_id: str
    raft: RaftConfig
    endpoints: tuple[Endpoint, ...]
    """This node's endpoints, for peers and the voter set."""
    bootstrap: tuple[Destination, ...]
    can_vote: bool
    auto_join: bool = False
    """True if an observer that can vote asks to become a voter (`controller.quorum.auto.join.enable`)."""
    snapshots: SnapshotConfig = SnapshotConfig()
    keeps_committed: bool = False
    """True if the committed state is kept on disk, as by an agent: no vote protects its log."""
