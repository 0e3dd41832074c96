"""The executor's state and ports, as its parts see them."""

from __future__ import annotations

from typing import Protocol

from metadata_log.ids import ReplicaKey
from metadata_log.image import MetadataImage
from metadata_log.offsets import Offset
from metadata_log.storage.file_log import FileLog
from quorum.node.core.ports import NodeEvent, Ports
from quorum.node.core.topic_id_fencing import Gate
from quorum.raft.inputs import Clock
from quorum.raft.machine import RaftMachine


class ReplicaContext(Protocol):
    """The executor as its parts see it: readable state, the ports, and one way to report an event."""

    @property
    def replica(self) -> ReplicaKey: ...

    @property
    def log(self) -> FileLog: ...

    @property
    def ports(self) -> Ports: ...

    @property
    def machine(self) -> RaftMachine: ...

    @property
    def gate(self) -> Gate: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def image(self) -> MetadataImage: ...

    @property
    def high_watermark(self) -> Offset: ...

    def tell(self, event: NodeEvent) -> None:
        """Report an event to the watcher."""
