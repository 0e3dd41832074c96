"""The rules of KIP-853 for voter sets.

One uncommitted change at a time, by one voter, and only by a leader whose epoch has a committed record. Every replica
uses the latest set in its log. Committed batches are on a majority of the voters in force.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metadata_log.directory.quorum_state import QUORUM_STATE_FILE, parse_quorum_state
from metadata_log.ids import ZERO_DIRECTORY_ID, ReplicaKey
from metadata_log.voters import VoterSet
from quorum.node.core.ports import VotersKnown
from tests.simulation.checkers.invariant_failure import InvariantFailure
from tests.simulation.durable import BatchKey, DurableLog

if TYPE_CHECKING:
    from tests.simulation.cluster import Cluster
    from tests.simulation.node import Node


class VoterRules:
    """The voters in force, by the leader that committed last, and the content of lost directories.

    Attributes:
        deciding: the voters of which a majority must hold the committed log.
        is_upgraded: a response has reported kraft.version 1.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.deciding: VoterSet = cluster.first_voters
        self._latest: dict[tuple[int, int], tuple[int, VoterSet]] = {}
        self._committed: dict[int, VoterSet] = {}
        self._gone: dict[ReplicaKey, DurableLog] = {}
        self._named_at: dict[ReplicaKey, int] = {}
        self._removed_at: dict[ReplicaKey, tuple[int, int]] = {}
        self.is_upgraded = False

    def on_start(self, node: Node) -> None:
        """Check that a process begins with the voters in its log."""
        machine = node.executor.machine
        self._latest[node.node_id, node.boot] = (machine.voters_offset, machine.voters)
        self._note_named(machine.voters_offset, machine.voters)

    def on_voters(self, node: Node, event: VotersKnown) -> None:
        """See that a process uses another voter set."""
        me = (node.node_id, node.boot)
        offset, before = self._latest[me]
        self._latest[me] = (event.offset, event.voters)
        self._note_named(event.offset, event.voters)
        machine = node.executor.machine
        if machine.is_leader and event.offset > offset:
            self._check_change(node, offset, before, event.voters)

    def _note_named(self, offset: int, voters: VoterSet) -> None:
        for key in voters.keys:
            self._named_at[key] = max(offset, self._named_at.get(key, -1))

    def on_vote(self, node: Node, epoch: int) -> None:
        """Check a vote that `node` sends: a node that knows a committed set without itself grants none until it is
        added again.

        A process knows what it has received; a later process knows what quorum-state holds.
        """
        offset, boot = self._removed_at.get(node.key, (-1, 0))
        if offset < 0 or self._named_at[node.key] > offset:
            return
        inode = node.media.durable.get(QUORUM_STATE_FILE)
        said = None if inode is None else parse_quorum_state(bytes(inode.durable), QUORUM_STATE_FILE)
        if boot == node.boot or (said is not None and said.was_removed):
            raise InvariantFailure(
                "voters", f"node {node.node_id} votes in epoch {epoch}, though its removal at {offset} is committed"
            )

    def _check_change(self, node: Node, offset: int, before: VoterSet, voters: VoterSet) -> None:
        old, new = set(before.keys), set(voters.keys)
        if old == new:
            return
        node.world.note("the voters change")
        committed = self._cluster.checkers.committed
        who = f"leader {node.node_id} of epoch {node.executor.machine.epoch}"
        if len(old ^ new) != 1 and not self._is_upgrade(before, voters):
            raise InvariantFailure("voters", f"{who} changes {before.node_ids} to {voters.node_ids} at once")
        if offset >= committed.end:
            raise InvariantFailure(
                "voters", f"{who} changes the voters of {offset}, though only {committed.end} is committed"
            )
        if committed.last_epoch < node.executor.machine.epoch:
            raise InvariantFailure("voters", f"{who} changes the voters, and nothing of its epoch is committed yet")

    def _is_upgrade(self, before: VoterSet, voters: VoterSet) -> bool:
        """Return True if static voters (kraft.version 0) move into the log: the same ones, each with its directory."""
        directories = {node.key for node in self._cluster.voters}
        return not before.are_dynamic and before.node_ids == voters.node_ids and set(voters.keys) <= directories

    def on_upgraded(self) -> None:
        """Note a response that reports kraft.version 1."""
        self.is_upgraded = True

    def on_leader(self, node: Node) -> None:
        """Check that a new leader has the kraft.version that a response has reported."""
        if self.is_upgraded and node.executor.machine.kraft_version < 1:
            raise InvariantFailure(
                "voters", f"node {node.node_id} leads with static voters, though kraft.version was raised"
            )

    def on_high_watermark(self, node: Node) -> None:
        """Check that replicas with a committed voter set agree on it, and that no removed leader leads on."""
        machine = node.executor.machine
        offset = machine.voters_offset
        if not 0 <= offset < machine.high_watermark:
            return
        if self._named_at.get(node.key, offset) < offset and node.key not in machine.voters.keys:
            self._removed_at[node.key] = (offset, node.boot)
        known = self._committed.setdefault(offset, machine.voters)
        if known != machine.voters:
            raise InvariantFailure(
                "voters", f"node {node.node_id} uses {machine.voters.node_ids} of {offset}, others {known.node_ids}"
            )
        newest = max(self._committed)  # a snapshot ends one past the record that it holds
        if offset < newest < machine.high_watermark and self._committed[newest] != machine.voters:
            raise InvariantFailure(
                "voters", f"node {node.node_id} uses the voters of {offset}, those of {newest} are later"
            )
        if machine.is_leader and not machine.is_voter:
            raise InvariantFailure("voters", f"node {node.node_id} leads on, and the set without it is committed")

    def on_committing(self, node: Node) -> None:
        """Note the voters by which `node`, the leader, has committed."""
        self.deciding = node.executor.machine.voters

    def on_disk_gone(self, node: Node) -> None:
        """Keep the log of a lost directory: it kept its promises until then."""
        self._gone[node.key] = node.durable

    def holds(self, key: ReplicaKey, batch: BatchKey) -> bool:
        """Return True if exactly this directory has the batch durably, or had when it was lost; a corrupt one
        counts."""
        gone = self._gone.get(key)
        if gone is not None:
            return gone.holds(batch)
        node = self._cluster.voters[key.node_id - 1]
        is_its = key.directory_id in (ZERO_DIRECTORY_ID, node.key.directory_id)  # zero: a static voter's key
        return is_its and (node.durable.holds(batch) or node.is_rotten)
