"""A cluster whose voters change: spare controllers, operators that add and remove, disks that are replaced.

`VoterRules` knows the voter set in each log, and raises `InvariantFailure` if a change breaks a rule of KIP-853.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Endpoint, Voter, VoterHistory, VoterSet
from quorum.api.error_codes import Error
from quorum.api.raft_messages import Request, Response
from quorum.api.voter_messages import (
    AddRaftVoterRequest,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
    UpgradeKRaftVersionRequest,
)
from quorum.raft.config import RaftConfig
from quorum.raft.control_batches import check_fetched
from quorum.raft.inputs import Input, RequestReceived
from quorum.raft.machine import RaftMachine
from quorum.raft.ready import AppendBatches, Destination, Ready
from tests.support.raft_checkers import InvariantFailure
from tests.support.raft_cluster import Cluster, Defects, Node
from tests.support.raft_disk import Batch, Disk, split

_CLIENT = 1 << 40
"""Request ids of operators begin here."""


def endpoints_of(node_id: int) -> tuple[Endpoint, ...]:
    """Return the endpoints of a node in these clusters."""
    return (Endpoint(name="GRPC", host=f"n{node_id}", port=9094),)


def voters_in(batch: Batch) -> list[tuple[Offset, VoterSet]]:
    """Return the voter sets in one batch."""
    fetched = check_fetched(
        batch.data, base_offset=Offset(batch.base), last_epoch=Epoch(batch.epoch), leader_epoch=Epoch(batch.epoch)
    )
    return list(fetched.voters)


def history_of(initial: VoterHistory, log: list[Batch]) -> VoterHistory:
    """Return the voter sets of a log, computed in the simplest way."""
    history = initial
    for batch in log:
        for offset, voters in voters_in(batch):
            history = history.append(offset, voters)
    return history


def committed_end(committed: list[Batch]) -> int:
    """Return the end offset of the committed log."""
    return committed[-1].end if committed else 0


@dataclass
class VoterRules:
    """The rules of KIP-853 for every voter change, checked from outside."""

    changes: int = 0
    """The number of sets whose keys differ from those of the set before."""

    def on_append(self, node: Node, before: list[Batch], batch: Batch, committed: list[Batch]) -> None:
        """Check a batch that a leader wrote after `before`; `committed` is the committed log of the whole cluster."""
        history = history_of(node.disk.initial_voters, before)
        for _, voters in voters_in(batch):
            self._check_change(node, history, voters, batch, committed)

    def _check_change(
        self, node: Node, history: VoterHistory, voters: VoterSet, batch: Batch, committed: list[Batch]
    ) -> None:
        old, new, who = set(history.latest.keys), set(voters.keys), f"leader {node.key.node_id}"
        if old == new or not history.latest.are_dynamic:
            if history.latest.node_ids != voters.node_ids:
                raise InvariantFailure(
                    f"voter set: {who} changes {history.latest.node_ids} to {voters.node_ids} at an upgrade"
                )
            return
        self.changes += 1
        if len(old ^ new) != 1:
            raise InvariantFailure(f"voter set: {who} changes more than one voter: {sorted(old)} to {sorted(new)}")
        if len(old & new) < len(old) // 2 + 1 and len(old & new) < len(new) // 2 + 1:
            raise InvariantFailure(f"voter set: the majorities of {sorted(old)} and {sorted(new)} need not meet")
        end = committed_end(committed)
        if history.latest_offset >= end:
            raise InvariantFailure(
                f"voter set: {who} changes the voters of {history.latest_offset}, committed is {end}"
            )
        if not committed or committed[-1].epoch < batch.epoch:
            raise InvariantFailure(
                f"voter set: {who} changes the voters before a record of epoch {batch.epoch} is committed"
            )

    def on_turn(self, node: Node) -> None:
        """Check that the replica uses the latest voter set in its log."""
        machine = node.machine
        if machine is None:
            return
        history = history_of(node.disk.initial_voters, node.disk.staged)
        if machine.voters != history.latest:
            raise InvariantFailure(
                f"voter set: {node.key.node_id} uses {machine.voters.node_ids}, its log has {history.latest.node_ids}"
            )
        if machine.is_leader and not machine.is_voter and history.latest_offset < machine.high_watermark:
            raise InvariantFailure(f"voter set: {node.key.node_id} leads on, though the set without it is committed")


@dataclass
class Operator:
    """The operator that adds and removes voters: its requests and their responses."""

    answers: dict[int, Response | None] = field(default_factory=dict)


class VoterCluster(Cluster):
    """A cluster that starts with `voters`; `spares` are controllers that may join later."""

    def __init__(
        self,
        seed: int,
        voters: int = 3,
        spares: int = 1,
        config: RaftConfig | None = None,
        defects: Defects | None = None,
        *,
        auto_join: bool = False,
        static: bool = False,
    ) -> None:
        super().__init__(seed, voters, 0, config, defects)
        self.auto_join = auto_join
        self.rules = VoterRules()
        self.operator = Operator()
        self._disks = 0
        self._replaced: dict[ReplicaKey, list[Batch]] = {}
        initial = VoterHistory.start(_static(self.voter_set)) if static else None
        for node in self.nodes.values():
            node.disk.initial_voters = initial or node.disk.initial_voters
        for n in range(voters + 1, voters + spares + 1):
            self.nodes[n] = Node(self.new_key(n), endpoints_of(n), Disk(initial or VoterHistory()), True)

    def new_key(self, node_id: int) -> ReplicaKey:
        """Return a key of the node with a new directory id."""
        self._disks += 1
        directory = bytes([100 + self._disks // 250, self._disks % 250]) * 8
        return ReplicaKey(node_id=NodeId(node_id), directory_id=DirectoryId(directory))

    def machine_of(self, node: Node) -> RaftMachine:
        others = [other for other in self.nodes.values() if other is not node]
        bootstrap = tuple(Destination(node_id=-2 - at, endpoints=n.endpoints) for at, n in enumerate(others))
        return RaftMachine(
            node.key,
            self.config,
            node.disk.load(),
            node.endpoints,
            bootstrap,
            can_vote=node.can_vote,
            auto_join=self.auto_join,
        )

    def voters_of(self, node: Node) -> tuple[list[list[Batch]], int]:
        voters = history_of(node.disk.initial_voters, node.disk.staged).latest
        return [self.durable_of(voter) for voter in voters], len(voters) // 2 + 1

    def durable_of(self, voter: Voter) -> list[Batch]:
        """Return the durable log of exactly this directory, or its last durable log if the disk was replaced.

        The directory kept its promises until then.
        """
        node = self.nodes[voter.key.node_id]
        return node.disk.durable if VoterSet(voters=(voter,)).is_voter(node.key) else self._replaced[voter.key]

    def final_logs(self) -> dict[int, list[Batch]]:
        return {voter.key.node_id: self.durable_of(voter) for voter in self.latest_voters()}

    def keeps_majorities(self, *, without: ReplicaKey | None = None, now: VoterSet | None = None) -> bool:
        """Return True if every set that may be in force, and `now`, has a majority whose directories still exist."""
        there = {node.key for node in self.nodes.values()} - {without}
        # A static voter is its node id alone: with an empty disk it would break its promises (KIP-853).
        ids = {node.key.node_id for node in self.nodes.values()} - ({without.node_id} if without else set())
        sets = [] if now is None else [now]
        end = committed_end(self.checkers.committed)
        for node in self.nodes.values():
            entries = history_of(node.disk.initial_voters, node.disk.staged).entries
            sets += [entry.voters for at, entry in enumerate(entries) if at + 1 == len(entries) or entry.offset >= end]
            sets += [entries[at].voters for at in range(len(entries) - 1) if entries[at + 1].offset >= end]
        return all(
            sum(1 for key in voters.keys if key in there) >= voters.majority
            if voters.are_dynamic
            else ids.issuperset(voters.node_ids)
            for voters in sets
            if len(voters)
        )

    def feed(self, node: Node, received: Input) -> Ready:
        before = list(node.disk.staged)
        committed = list(self.checkers.committed)
        was_leader = node.machine is not None and node.machine.is_leader
        ready = super().feed(node, received)
        if was_leader or (node.machine is not None and node.machine.is_leader):
            for write in ready.writes:
                if isinstance(write, AppendBatches):
                    for batch in split(write.data):
                        self.rules.on_append(node, before, batch, committed)
                        before.append(batch)
        self.rules.on_turn(node)
        return ready

    # --- operators

    def ask(self, node_id: int, request: Request) -> int | None:
        """Send a request to a running replica; return the id under which `operator.answers` gets the response."""
        node = self.nodes[node_id]
        if node.machine is None:
            return None
        request_id = _CLIENT + len(self.operator.answers)
        self.operator.answers[request_id] = None
        self.feed(node, RequestReceived(request_id=request_id, request=request, draw=self.draw()))
        return request_id

    def on_answer(self, request_id: int, response: Response) -> None:
        self.operator.answers[request_id] = response
        offset = getattr(response, "voters_offset", -1)
        if response.error is Error.NONE and offset >= committed_end(self.checkers.committed):
            raise InvariantFailure(f"voter set: the change at {offset} is said to be done, and is not committed")

    def add(self, node_id: int) -> int | None:
        """Ask the leader to add this node with its present directory."""
        leader, node = self.leader(), self.nodes[node_id]
        if leader is None:
            return None
        return self.ask(leader, AddRaftVoterRequest(voter=node.key, endpoints=node.endpoints))

    def update(self, node_id: int, port: int) -> int | None:
        """Send the leader another port for this voter."""
        leader = self.leader()
        machine = None if leader is None else self.nodes[leader].machine
        voter = None if machine is None else machine.voters.get(NodeId(node_id))
        if leader is None or machine is None or voter is None:
            return None
        moved = msgspec.structs.replace(voter, endpoints=(Endpoint(name="GRPC", host=f"n{node_id}", port=port),))
        return self.ask(leader, UpdateRaftVoterRequest(current_leader_epoch=machine.epoch, voter=moved))

    def remove(self, node_id: int) -> int | None:
        """Ask the leader to remove this node, with the directory that votes."""
        leader = self.leader()
        machine = None if leader is None else self.nodes[leader].machine
        voter = None if machine is None else machine.voters.get(NodeId(node_id))
        if leader is None or voter is None:
            return None
        return self.ask(leader, RemoveRaftVoterRequest(voter=voter.key))

    def upgrade(self) -> int | None:
        """Ask the leader for kraft.version 1."""
        leader = self.leader()
        return None if leader is None else self.ask(leader, UpgradeKRaftVersionRequest(kraft_version=1))

    def replace_disk(self, node_id: int) -> None:
        """Let the machine come back with an empty directory of another id."""
        if self.nodes[node_id].machine is not None:
            self.crash(node_id)
        old = self.nodes[node_id]
        self._replaced[old.key] = old.disk.durable
        # No static voters in the new configuration: with them, a single voter would elect itself and start a new log.
        disk = Disk(VoterHistory())
        self.nodes[node_id] = Node(self.new_key(node_id), old.endpoints, disk, True, incarnation=old.incarnation + 1)
        self.start(node_id)

    def latest_voters(self) -> VoterSet:
        """Return the voters as the leader sees them, or any node if there is no leader."""
        leader = self.leader()
        machines = [node.machine for node in self.nodes.values() if node.machine is not None]
        if leader is not None:
            machines = [machine for machine in machines if machine.replica.node_id == leader]
        ends = {machine: (machine.log_end.epoch, machine.log_end.offset) for machine in machines}
        return max(machines, key=lambda machine: ends[machine]).voters if machines else VoterSet()

    def settle(self, done: Callable[[], bool], within_ms: int = 20_000) -> None:
        """Let time pass until `done` returns True."""
        assert self.run(within_ms, until=done), self.describe()


def _static(voters: VoterSet) -> VoterSet:
    return VoterSet.of(Voter(key=ReplicaKey(node_id=v.key.node_id), endpoints=v.endpoints) for v in voters)
