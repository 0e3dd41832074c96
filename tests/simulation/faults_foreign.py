"""Another quorum of the same cluster id responds to an agent for a while, as where controllers were formatted again.

Or it is the agent's own quorum as of an earlier time, as after a restore. Its log has the same topic id, lacks the
newest records of the agent's log, and has grown past that log in the same epoch.

Decides: the responses of that quorum's leader. The agent would cut its log, or append other records. Responses on gRPC
carry ids, those of Kafka's protocol do not. Must not know: how an agent detects it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metadata_log.format.batch import build_batch
from metadata_log.ids import METADATA_TOPIC_ID, METADATA_TOPIC_NAME, NodeId, TopicId
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.records import TopicRecord, encode_record
from quorum.api.calls import PeerResponse
from quorum.api.error_codes import Error
from quorum.api.raft_messages import FetchRequest, FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse
from tests.simulation.world import US_PER_MS

if TYPE_CHECKING:
    from quorum.node.core.ports import OutgoingRequest
    from tests.simulation.cluster import Cluster
    from tests.simulation.node import Node

FOREIGN_ID: Final = TopicId(b"\x5f" * 16)
_LASTS_MS: Final = (40, 200, 900)


class Impostor:
    """The leader of the other quorum, as one agent sees it."""

    def __init__(self, cluster: Cluster, agent: Node, bits: int) -> None:
        self._agent = agent
        self._names_ids = bits % 3 > 0
        self._would_cut = bits // 3 % 2 == 0
        self._rises = self._names_ids and bits // 6 % 2 == 0
        self._is_earlier = bits // 48 % 3 == 0
        self._is_longer = False
        self.until_us = cluster.world.now_us + _LASTS_MS[bits // 12 % 3] * US_PER_MS

    def answer(self, request: OutgoingRequest) -> PeerResponse | None:
        """Return its response, or None if it has none, or if this agent could not detect the quorum by it."""
        sent = request.request
        machine = self._agent.executor.machine
        if not self._agent.executor.topic_id_fence.own_ids:
            return None
        leader_id = NodeId(request.destination.node_id) if machine.leader_id is None else machine.leader_id
        if isinstance(sent, FetchSnapshotRequest):
            return FetchSnapshotResponse(
                error=Error.SNAPSHOT_NOT_FOUND, leader_id=leader_id, leader_epoch=sent.current_leader_epoch
            )
        if not isinstance(sent, FetchRequest) or leader_id < 0:
            return None
        return self._fetched(sent, leader_id, request.topic_id)

    def _fetched(self, sent: FetchRequest, leader_id: NodeId, topic_id: TopicId) -> FetchResponse | None:
        if self._is_earlier:
            return self._of_earlier(sent, leader_id)
        own_ids = (FOREIGN_ID,) if self._names_ids else ()
        epoch = Epoch(sent.current_leader_epoch + 5 * self._rises)
        if self._names_ids and topic_id not in (METADATA_TOPIC_ID, FOREIGN_ID):
            return FetchResponse(error=Error.UNKNOWN_TOPIC_ID, leader_id=leader_id, leader_epoch=epoch, own_ids=own_ids)
        if self._would_cut:
            start = OffsetAndEpoch(offset=Offset(0), epoch=Epoch(0))
            return FetchResponse(
                leader_id=leader_id, leader_epoch=epoch, own_ids=own_ids, diverging=start, high_watermark=Offset(1)
            )
        return FetchResponse(
            leader_id=leader_id,
            leader_epoch=epoch,
            own_ids=own_ids,
            high_watermark=Offset(sent.fetch_offset + 1),
            records=_one_topic(sent, METADATA_TOPIC_NAME),
        )

    def _of_earlier(self, sent: FetchRequest, leader_id: NodeId) -> FetchResponse | None:
        """Return a truncation at first, then records from the agent's end; None if the Fetch names no batch."""
        if sent.committed_batch is None:
            return None
        cuts, self._is_longer = self._would_cut and not self._is_longer, True
        return FetchResponse(
            leader_id=leader_id,
            leader_epoch=sent.current_leader_epoch,
            own_ids=self._agent.executor.topic_id_fence.own_ids,
            diverging=OffsetAndEpoch(offset=Offset(0), epoch=Epoch(0)) if cuts else None,
            high_watermark=Offset(1 if cuts else sent.fetch_offset + 1),
            records=b"" if cuts else _one_topic(sent, "of-another-history"),
            has_committed_batch=False,
        )


def _one_topic(sent: FetchRequest, name: str) -> bytes:
    return build_batch(
        base_offset=sent.fetch_offset,
        epoch=sent.current_leader_epoch,
        timestamp_ms=1,
        values=[encode_record(TopicRecord(name=name, topic_id=FOREIGN_ID), 0)],
    )


def another_quorum(cluster: Cluster, bits: int) -> None:
    """Let the other quorum respond to one agent, which may restart meanwhile."""
    if not cluster.agents:
        return
    agent = cluster.agents[bits % len(cluster.agents)]
    cluster.network.impostors[agent.node_id] = Impostor(cluster, agent, bits >> 4)
    if bits >> 20 & 3 == 0 and agent.is_up:
        agent.end(power=bool(bits >> 22 & 1))
