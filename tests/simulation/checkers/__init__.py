"""Invariants of a cluster that hold at every moment, whatever fails: one checker a file, all called here.

Decides: which checker sees which event. Must not know: the invariants. To add one, write its file and call it here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker_agent.reconciler import Plan
from broker_agent.storage import StagedDirectory
from metadata_log.storage.checkpoint_ops import ReadPiece
from quorum.api.calls import PeerCall, PeerResponse
from quorum.api.error_codes import Error
from quorum.api.raft_messages import EndQuorumEpochRequest, FetchRequest, Request, VoteRequest, VoteResponse
from quorum.api.voter_messages import UpgradeKRaftVersionRequest
from quorum.node.core.checkpoint_jobs import SnapshotGenerated, SnapshotLoaded
from quorum.node.core.ports import (
    DiskJob,
    ImagePublished,
    NodeEvent,
    OutgoingRequest,
    RequestRejected,
    RoleChanged,
    VotersKnown,
)
from tests.simulation.checkers.committed import Committed
from tests.simulation.checkers.directories import check_plan
from tests.simulation.checkers.handovers import check_handover
from tests.simulation.checkers.high_watermark import check_high_watermark
from tests.simulation.checkers.history import History
from tests.simulation.checkers.image_equality import check_image
from tests.simulation.checkers.invariant_failure import InvariantFailure
from tests.simulation.checkers.log_matching import LogMatching
from tests.simulation.checkers.no_ops import NoOps
from tests.simulation.checkers.one_leader import OneLeader
from tests.simulation.checkers.own_errors import check_failure
from tests.simulation.checkers.own_ids import check_refusal
from tests.simulation.checkers.promises import check_fetch, check_outcome, check_upgrade, check_wish
from tests.simulation.checkers.reads import check_read
from tests.simulation.checkers.reference import Reference
from tests.simulation.checkers.removals import Removals
from tests.simulation.checkers.snapshots import check_all_snapshots, check_installed, check_piece, check_snapshot
from tests.simulation.checkers.topic_ids import TopicIds
from tests.simulation.checkers.voters import VoterRules
from tests.simulation.checkers.votes import Votes

if TYPE_CHECKING:
    from tests.simulation.agent import AgentNode
    from tests.simulation.clients import Operation
    from tests.simulation.cluster import Cluster
    from tests.simulation.node import Node
    from tests.simulation.wishes import Wish

__all__ = ["Checkers", "InvariantFailure"]


class Checkers:
    """All checkers of one scenario. `data` is the log directory of each node."""

    def __init__(self, cluster: Cluster, data: str) -> None:
        self.data = data
        self.one_leader = OneLeader()
        self.votes = Votes()
        self.log_matching = LogMatching()
        self.reference = Reference(TopicIds())
        self.committed = Committed(cluster, self.reference)
        self.history = History()
        self.voters = VoterRules(cluster)
        self.removals = Removals()
        self.no_ops = NoOps()

    def on_event(self, node: Node, event: NodeEvent) -> None:
        """See an event that a process reports to its watcher."""
        kind = type(event)
        if kind is ImagePublished:
            check_image(node.node_id, event.after, self.reference)  # type: ignore[union-attr]
        elif kind is RoleChanged and event.role == "leader":  # type: ignore[union-attr]
            self.one_leader.on_leader(node.node_id, node.boot, event.epoch)  # type: ignore[union-attr]
            self.committed.on_leader(node)
            self.voters.on_leader(node)
            node.world.note("an epoch has a leader")
        elif kind is VotersKnown:
            self.voters.on_voters(node, event)  # type: ignore[arg-type]
        elif kind is RequestRejected:
            check_refusal(node.node_id, event)  # type: ignore[arg-type]
        elif kind is SnapshotGenerated:
            check_snapshot(node.node_id, node.files, self.data, event.end, self.reference)  # type: ignore[union-attr]
        elif kind is SnapshotLoaded:
            check_installed(node, event.end, self.reference)  # type: ignore[union-attr]

    def on_send(self, node: Node, request: OutgoingRequest) -> None:
        """See a request that is sent to a peer."""
        sent = request.request
        if type(sent) is FetchRequest:
            check_fetch(node, sent.fetch_offset)
        elif type(sent) is EndQuorumEpochRequest:
            check_handover(node, sent)
        elif type(sent) is VoteRequest and not sent.pre_vote:
            self._on_vote(node, sent)

    def on_answer(self, node: Node, call: PeerCall, response: PeerResponse) -> None:
        """See a response that is sent to a peer."""
        asked = call.request
        is_granted = type(response) is VoteResponse and response.vote_granted
        if is_granted and type(asked) is VoteRequest and not asked.pre_vote:
            self._on_vote(node, asked)

    def _on_vote(self, node: Node, asked: VoteRequest) -> None:
        self.votes.on_vote(node.key, node.media, asked.candidate_epoch, asked.candidate)
        self.voters.on_vote(node, asked.candidate_epoch)

    def on_piece(self, node: Node, piece: ReadPiece) -> None:
        """See a chunk of a checkpoint that was read for a replica that lacks it."""
        check_piece(node, piece)

    def on_high_watermark(self, node: Node, before: int, after: int) -> None:
        """See a process's new high watermark."""
        check_high_watermark(node, before, after)
        self.voters.on_high_watermark(node)
        self.committed.on_high_watermark(node, after)

    def on_write(self, node: Node, jobs: Sequence[DiskJob]) -> None:
        """See the writes that a turn hands to the disk."""
        self.no_ops.on_write(node, jobs)

    def on_durable(self, node: Node) -> None:
        """See a change of the durable bytes on a node's disk."""
        for before, key in node.durable.added:
            self.log_matching.on_durable(node.node_id, before, key)
        if node.durable.removed:
            node.world.note("a log is cut")
            self.committed.on_durable(node)

    def on_outcome(self, operation: Operation) -> None:
        """See a response to a client."""
        check_outcome(operation, self.reference)
        check_read(operation, self.reference)

    def on_wish_done(self, client_id: int, wish: Wish, image_offset: int) -> None:
        """See a response that reports an administrator's request as done."""
        check_wish(client_id, wish, image_offset, self.reference)

    def on_operator_told(self, node: Node, asked: Request, answer: PeerResponse) -> None:
        """See a response to an operator who changes the voters."""
        if type(asked) is UpgradeKRaftVersionRequest and answer.error is Error.NONE:
            node.note_high_watermark()
            check_upgrade(node, self.reference)
            self.voters.on_upgraded()
            node.world.note("kraft.version is raised")

    def on_reconciled(self, agent: AgentNode, plan: Plan) -> None:
        """See a plan that an agent has carried out."""
        check_plan(agent, plan, self.reference)
        self.removals.on_plan(agent, plan)

    def on_removed(self, agent: AgentNode, gone: Sequence[StagedDirectory]) -> None:
        """See staged directories that an agent has removed, or failed to remove and forgotten."""
        self.removals.on_removed(agent, gone, self.reference)

    def on_failure(self, node: Node, error: Exception) -> None:
        """See a process that ended by its own error."""
        check_failure(node, error)

    def on_end(self, cluster: Cluster, data: str) -> None:
        """Check the end of the scenario, after quiesce."""
        self.history.check()
        self.committed.check_majority()
        for node in cluster.nodes:
            check_all_snapshots(node, data, self.reference)
