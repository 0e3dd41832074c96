"""The promises of replicas, checked against the durable bytes at that moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metadata_log.ids import ReplicaKey
from quorum.api.calls import PeerCall, PeerResponse
from quorum.api.raft_messages import FetchRequest, VoteRequest, VoteResponse
from quorum.node.core.ports import OutgoingRequest

if TYPE_CHECKING:
    from tests.support.node_cluster import Cluster
    from tests.support.simulated_node import Node


class Promises:
    """Checks each promise against the durable bytes at that moment, and keeps each violation as text."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._votes: dict[tuple[int, int], ReplicaKey] = {}
        self._leaders: dict[int, int] = {}
        self.acknowledged: dict[str, bytes] = {}
        self.violations: list[str] = []

    def on_send(self, node: Node, request: OutgoingRequest) -> None:
        """Check a request that is being sent."""
        sent = request.request
        if isinstance(sent, FetchRequest) and sent.fetch_offset > node.durable_end():
            self.violations.append(
                f"node {node.node_id} fetches from {sent.fetch_offset}, durable is {node.durable_end()}"
            )
        if isinstance(sent, VoteRequest) and not sent.pre_vote:
            self._voted(node, sent.candidate_epoch, sent.candidate)

    def on_answer(self, node: Node, call: PeerCall, response: PeerResponse) -> None:
        """Check a response to a peer that is being sent."""
        asked = call.request
        is_granted = isinstance(response, VoteResponse) and response.vote_granted
        if is_granted and isinstance(asked, VoteRequest) and not asked.pre_vote:
            self._voted(node, asked.candidate_epoch, asked.candidate)

    def on_created(self, name: str, topic_id: bytes) -> None:
        """Check a response to a client that reports its topic as created."""
        holders = [node.node_id for node in self._cluster.nodes if name in node.durable_topics()]
        if len(holders) * 2 <= len(self._cluster.nodes):
            self.violations.append(f"topic {name} is acknowledged, durable only on {holders}")
        self.acknowledged[name] = topic_id

    def on_leader(self, node_id: int, epoch: int) -> None:
        """Check a replica that reports itself as leader."""
        if self._leaders.setdefault(epoch, node_id) != node_id:
            self.violations.append(f"epoch {epoch} has two leaders, {self._leaders[epoch]} and {node_id}")

    def _voted(self, node: Node, epoch: int, candidate: ReplicaKey) -> None:
        before = self._votes.setdefault((node.node_id, epoch), candidate)
        if before != candidate:
            self.violations.append(f"node {node.node_id} voted in epoch {epoch} for {before} and for {candidate}")
        if node.durable_epoch() < epoch:
            self.violations.append(f"node {node.node_id} votes in epoch {epoch}, durable is {node.durable_epoch()}")
