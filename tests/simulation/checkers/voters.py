"""Voter-set rules (KIP-853): one uncommitted change at a time, by one voter, and only by a leader whose epoch has a
committed record; every replica goes by what its log says; what is committed is on a majority of those who decide."""

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
    """Knows who decides, by the leader that committed last, and what directories held that are gone.

    Attributes:
        deciding: the voters of whom a majority holds what is committed.
        is_upgraded: somebody was told that kraft.version is 1.
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
        """A process begins with the voters that its log names."""
        machine = node.executor.machine
        self._latest[node.node_id, node.boot] = (machine.voters_offset, machine.voters)
        self._note_named(machine.voters_offset, machine.voters)

    def on_voters(self, node: Node, event: VotersKnown) -> None:
        """A process goes by another voter set."""
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
        """A vote leaves `node`: none where it knows a committed set without it, until it is added again.

        A process knows what it has heard; a later one knows what quorum-state says.
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
        """Static voters (kraft.version 0) move into the log: the same, each with the directory that it has."""
        directories = {node.key for node in self._cluster.voters}
        return not before.are_dynamic and before.node_ids == voters.node_ids and set(voters.keys) <= directories

    def on_upgraded(self) -> None:
        """Somebody was told that kraft.version is 1."""
        self.is_upgraded = True

    def on_leader(self, node: Node) -> None:
        """A replica leads: what somebody was told of kraft.version is so for it."""
        if self.is_upgraded and node.executor.machine.kraft_version < 1:
            raise InvariantFailure(
                "voters", f"node {node.node_id} leads with static voters, though kraft.version was raised"
            )

    def on_high_watermark(self, node: Node) -> None:
        """Who has heard that its voter set is committed, has the same as all others; a removed leader leads no more."""
        machine = node.executor.machine
        offset = machine.voters_offset
        if not 0 <= offset < machine.high_watermark:
            return
        if self._named_at.get(node.key, offset) < offset and node.key not in machine.voters.keys:
            self._removed_at[node.key] = (offset, node.boot)
        known = self._committed.setdefault(offset, machine.voters)
        if known != machine.voters:
            raise InvariantFailure(
                "voters", f"node {node.node_id} goes by {machine.voters.node_ids} of {offset}, others {known.node_ids}"
            )
        newest = max(self._committed)  # a snapshot stands for the record that it holds, one offset before its end
        if offset < newest < machine.high_watermark and self._committed[newest] != machine.voters:
            raise InvariantFailure(
                "voters", f"node {node.node_id} goes by the voters of {offset}, those of {newest} are later"
            )
        if machine.is_leader and not machine.is_voter:
            raise InvariantFailure("voters", f"node {node.node_id} leads on, and the set without it is committed")

    def on_committing(self, node: Node) -> None:
        """`node`, the leader, has found something to be committed: by these voters."""
        self.deciding = node.executor.machine.voters

    def on_disk_gone(self, node: Node) -> None:
        """It had kept its word until then."""
        self._gone[node.key] = node.durable

    def holds(self, key: ReplicaKey, batch: BatchKey) -> bool:
        """Whether that very directory has the batch durably, or had when it was lost; a rotten one counts as having."""
        gone = self._gone.get(key)
        if gone is not None:
            return gone.holds(batch)
        node = self._cluster.voters[key.node_id - 1]
        is_its = key.directory_id in (ZERO_DIRECTORY_ID, node.key.directory_id)  # zero: a static voter's
        return is_its and (node.durable.holds(batch) or node.is_rotten)
