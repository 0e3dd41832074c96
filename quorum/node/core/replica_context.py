"""The executor's state and ports, as its parts use them."""

from __future__ import annotations

from typing import Protocol

from metadata_log.ids import ReplicaKey
from metadata_log.image import MetadataImage
from metadata_log.offsets import Offset, OffsetAndEpoch
from metadata_log.storage.file_log import FileLog
from quorum.node.core.changes import Changes
from quorum.node.core.log_fence import Hold
from quorum.node.core.ports import NodeEvent, PeerAnswered, Ports
from quorum.node.core.topic_id_fencing import TopicIdFence
from quorum.raft.inputs import Clock
from quorum.raft.machine import RaftMachine


class FenceState(Protocol):
    """The fence by the metadata topic's own id, as responses and snapshots meet it."""

    def judge(self, event: PeerAnswered) -> Hold | None:
        """Return why the core must not see this response, or None."""

    def hold(self, hold: Hold, peer: str) -> None:
        """Enter a hold."""

    def ask_for_proof(self, event: PeerAnswered) -> bool:
        """Let the next Fetch name the batch before a cut; return False if that is not needed."""

    def on_taken(self, event: PeerAnswered, log_end_before: Offset) -> None:
        """The core has taken that response."""

    def judge_snapshot(self, end: OffsetAndEpoch, image: MetadataImage) -> str | None:
        """Return why a received snapshot must not replace the log, or None."""


class ReplicaContext(Protocol):
    """The executor as its parts use it: readable state, the ports, and one way to report an event."""

    @property
    def replica(self) -> ReplicaKey: ...

    @property
    def log(self) -> FileLog: ...

    @property
    def ports(self) -> Ports: ...

    @property
    def machine(self) -> RaftMachine: ...

    @property
    def topic_id_fence(self) -> TopicIdFence: ...

    @property
    def changes(self) -> Changes: ...

    @property
    def fence(self) -> FenceState: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def image(self) -> MetadataImage: ...

    @property
    def high_watermark(self) -> Offset: ...

    def tell(self, event: NodeEvent) -> None:
        """Report an event to the watcher."""
