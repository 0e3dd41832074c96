"""A cluster of real `RaftMachine`s in virtual time: messages, disks and crashes come from one seed.

It does the executor's duty as `quorum.raft.ready` states it, in the simplest way. `Defects` breaks one rule of it, to
show that the checkers notice.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.offsets import Offset
from metadata_log.voters import Endpoint, Voter, VoterHistory, VoterSet
from quorum.api.raft_messages import Request, Response, VoteRequest
from quorum.raft.config import RaftConfig
from quorum.raft.inputs import (
    Clock,
    Elapsed,
    Flushed,
    Input,
    Persisted,
    Propose,
    RequestFailed,
    RequestReceived,
    ResponseReceived,
    Shutdown,
    Start,
)
from quorum.raft.machine import RaftMachine
from quorum.raft.ready import (
    BecameLeader,
    Effect,
    HighWatermarkAdvanced,
    PersistQuorumState,
    Ready,
    SendRecords,
    SendRequest,
    SendResponse,
    ShutdownCompleted,
    Write,
)
from tests.support.raft_checkers import Checkers
from tests.support.raft_disk import Batch, Disk

WALL_MS = 1_700_000_000_000


@dataclass
class Faults:
    """Faults of network and disks; probabilities from 0 to 1, times in ms."""

    drop: float = 0.0
    duplicate: float = 0.0
    delay_ms: tuple[int, int] = (1, 3)
    flush_ms: tuple[int, int] = (1, 4)
    slow_flush: float = 0.0
    cut: set[tuple[int, int]] = field(default_factory=set)
    """Pairs (from, to) that are cut."""


@dataclass(frozen=True)
class Defects:
    """Rules of the executor that are broken on purpose."""

    effects_before_their_write: bool = False
    flush_said_before_it_is_done: bool = False


@dataclass(frozen=True, eq=False)  # compared by identity: comparing requests field by field costs much
class Asked:
    """A request of one replica to another."""

    node_id: int
    incarnation: int
    correlation: int
    destination: int
    target: int
    """The node id at that endpoint."""
    request: Request


@dataclass
class Node:
    """One replica: a disk, and while it runs a machine."""

    key: ReplicaKey
    endpoints: tuple[Endpoint, ...]
    disk: Disk
    can_vote: bool
    machine: RaftMachine | None = None
    incarnation: int = 0
    held: dict[int, list[Effect]] = field(default_factory=dict)
    is_flushing: bool = False
    requests: dict[int, Asked] = field(default_factory=dict)
    """The open requests, by request id."""
    events: list[Effect] = field(default_factory=list)


class Cluster:
    """`run` takes events in order of virtual time; everything random comes from `chance`."""

    def __init__(
        self,
        seed: int,
        voters: int = 3,
        observers: int = 0,
        config: RaftConfig | None = None,
        defects: Defects | None = None,
    ) -> None:
        self.chance = random.Random(seed)
        self.config = config or RaftConfig()
        self.defects = defects or Defects()
        self.faults = Faults()
        self.watch: Callable[[str], object] | None = None
        """Called with the role of a replica after each of its inputs."""
        self.checkers = Checkers()
        self.now_ms = 0
        self.events_taken = 0
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._sequence = 0
        self._next_request_id = 1
        self._asked: dict[Asked, None] = {}
        keys = [ReplicaKey(node_id=NodeId(n), directory_id=DirectoryId(bytes([n]) * 16)) for n in range(1, voters + 1)]
        ends = {key.node_id: (Endpoint(name="GRPC", host=f"n{key.node_id}", port=9094),) for key in keys}
        self.voter_set = VoterSet.of(Voter(key=key, endpoints=ends[key.node_id]) for key in keys)
        self.majority = voters // 2 + 1
        history = VoterHistory.start(self.voter_set)
        self.nodes: dict[int, Node] = {key.node_id: Node(key, ends[key.node_id], Disk(history), True) for key in keys}
        for n in range(voters + 1, voters + observers + 1):
            key = ReplicaKey(node_id=NodeId(n), directory_id=DirectoryId(bytes([n]) * 16))
            self.nodes[key.node_id] = Node(key, (), Disk(history), False)

    # --- life and death

    def start(self, node_id: int) -> None:
        """Start a stopped replica from what its disk holds."""
        node = self.nodes[node_id]
        node.incarnation += 1
        node.held, node.requests, node.is_flushing = {}, {}, False
        node.machine = self.machine_of(node)
        self.feed(node, Start(draw=self.draw()))

    def machine_of(self, node: Node) -> RaftMachine:
        """Return the machine that a starting process makes of its disk."""
        return RaftMachine(node.key, self.config, node.disk.load(), node.endpoints, can_vote=node.can_vote)

    def crash(self, node_id: int, *, silently: bool = False) -> None:
        """Kill a replica; its peers see reset connections, unless `silently`."""
        node = self.nodes[node_id]
        node.disk.crash(self.chance)
        node.machine = None
        node.incarnation += 1
        lost = [asked for asked in self._asked if asked.target == node_id]
        for asked in () if silently else lost:
            self.at(self.delay(), lambda asked=asked: self._fail(asked, disconnected=True))

    def stop(self, node_id: int) -> None:
        """Ask for a clean stop; the process ends with `ShutdownCompleted`."""
        self.feed(self.nodes[node_id], Shutdown(draw=self.draw()))

    def propose(self, node_id: int, value: bytes) -> Ready | None:
        """Propose one record to a replica that believes itself leader."""
        node = self.nodes[node_id]
        if node.machine is None:
            return None
        return self.feed(node, Propose(epoch=node.machine.epoch, values=(value,)))

    # --- time

    def at(self, delay_ms: int, action: Callable[[], None]) -> None:
        """Do `action` later."""
        self._sequence += 1
        heapq.heappush(self._queue, (self.now_ms + delay_ms, self._sequence, action))

    def draw(self) -> int:
        """Return 64 random bits."""
        return self.chance.getrandbits(64)

    def delay(self) -> int:
        """Return the delay of a message."""
        return self.chance.randint(*self.faults.delay_ms)

    def run(self, duration_ms: int, until: Callable[[], bool] | None = None) -> bool:
        """Let virtual time pass; return True if `until` came true."""
        end_ms = self.now_ms + duration_ms
        while self._queue and self._queue[0][0] <= end_ms:
            self.now_ms, _, action = heapq.heappop(self._queue)
            action()
            self.events_taken += 1
            if until is not None and until():
                return True
        self.now_ms = end_ms
        return until is not None and until()

    def leader(self) -> int | None:
        """Return the running replica that leads the highest epoch, or None."""
        leading = [node for node in self.nodes.values() if node.machine is not None and node.machine.is_leader]
        best = max(leading, key=lambda node: node.machine.epoch if node.machine else -1, default=None)
        return None if best is None else best.key.node_id

    def describe(self) -> str:
        """Return a line for each replica."""
        return "\n".join(
            f"{node_id}: {node.machine.describe() if node.machine else 'down'}" for node_id, node in self.nodes.items()
        )

    # --- the executor

    def feed(self, node: Node, received: Input) -> Ready:
        """Give a running machine an input, and do what it asks for."""
        assert node.machine is not None
        clock = Clock(monotonic_ms=self.now_ms, wall_ms=WALL_MS + self.now_ms)
        ready = node.machine.on_input(received, clock)
        if self.watch is not None:
            self.watch(str(node.machine.role))
        for write in ready.writes:
            node.disk.stage(write)
        for effect in ready.at_once:
            self._perform(node, effect)
        for token, effect in ready.after:
            if self.defects.effects_before_their_write or all(write.token != token for write in node.disk.pending):
                self._perform(node, effect)
            else:
                node.held.setdefault(token, []).append(effect)
        self._schedule(node)
        return ready

    def _schedule(self, node: Node) -> None:
        incarnation = node.incarnation
        if node.disk.pending and not node.is_flushing:
            node.is_flushing = True
            count = len(node.disk.pending)
            wait_ms = self.chance.randint(*self.faults.flush_ms)
            if self.chance.random() < self.faults.slow_flush:
                wait_ms *= 50
            if self.defects.flush_said_before_it_is_done:
                writes = node.disk.pending[:count]
                self.at(0, lambda: self._complete(node, incarnation, writes))
            self.at(wait_ms, lambda: self._flush(node, incarnation, count))
        machine = node.machine
        if machine is not None and (deadline_ms := machine.next_deadline_ms()) is not None:
            wait_ms = max(0, deadline_ms - self.now_ms)
            self.at(wait_ms, lambda: self._wake(node, incarnation, deadline_ms))

    def _wake(self, node: Node, incarnation: int, deadline_ms: int) -> None:
        machine = node.machine
        if machine is None or node.incarnation != incarnation or machine.next_deadline_ms() != deadline_ms:
            return
        self.feed(node, Elapsed(draw=self.draw()))
        after = node.machine.next_deadline_ms() if node.machine else None
        assert after is None or after > self.now_ms, f"deadline {after} at {self.now_ms}: {self.describe()}"

    def _flush(self, node: Node, incarnation: int, count: int) -> None:
        if node.incarnation != incarnation:
            return
        done = node.disk.flush(count)
        if not self.defects.flush_said_before_it_is_done:
            self._complete(node, incarnation, done)
        node.is_flushing = False
        if node.machine is not None:
            self._schedule(node)

    def _complete(self, node: Node, incarnation: int, writes: list[Write]) -> None:
        for write in writes:
            if node.incarnation != incarnation or node.machine is None:
                return
            held = node.held.pop(write.token, [])
            first = self.chance.random() < 0.5
            for effect in held if first else ():
                self._perform(node, effect)
            if node.incarnation != incarnation:  # one of the effects was `ShutdownCompleted`
                return
            if isinstance(write, PersistQuorumState):
                self.feed(node, Persisted(token=write.token))
            else:
                self.feed(node, Flushed(token=write.token, epoch=write.epoch, end_offset=write.end_offset))
            for effect in () if first or node.incarnation != incarnation else held:
                self._perform(node, effect)

    def _perform(self, node: Node, effect: Effect) -> None:
        match effect:
            case SendRequest():
                self._send_request(node, effect)
            case SendResponse():
                self._send_response(node, effect.request_id, effect.response)
            case SendRecords():
                data = node.disk.read(effect.read_from, effect.max_bytes)
                self._send_response(node, effect.request_id, msgspec.structs.replace(effect.response, records=data))
            case _:
                self._on_event(node, effect)

    def _on_event(self, node: Node, event: Effect) -> None:
        node.events.append(event)
        if isinstance(event, BecameLeader):
            self.checkers.on_leader(node.key.node_id, event.epoch, node.disk.staged[:])
        elif isinstance(event, HighWatermarkAdvanced):
            voters, majority = self.voters_of(node)
            self.checkers.on_high_watermark(
                node.key.node_id, node.incarnation, event.offset, node.disk.staged, voters, majority
            )
        elif isinstance(event, ShutdownCompleted):
            node.machine = None
            node.disk.flush(len(node.disk.pending))
            node.incarnation += 1

    def voters_of(self, node: Node) -> tuple[list[list[Batch]], int]:
        """Return the durable logs of the voters that `node` must count, and the size of their majority."""
        return [self.nodes[node_id].disk.durable for node_id in self.voter_set.node_ids], self.majority

    def final_logs(self) -> dict[int, list[Batch]]:
        """Return the voters' durable logs: a majority must hold all committed batches."""
        return {node_id: self.nodes[node_id].disk.durable for node_id in self.voter_set.node_ids}

    # --- the network

    def _send_request(self, node: Node, effect: SendRequest) -> None:
        request = effect.request
        if isinstance(request, VoteRequest) and not request.pre_vote:
            self.checkers.on_vote(node.key.node_id, request.candidate_epoch, request.candidate)
        destination = effect.destination
        target = next((int(at.host.removeprefix("n")) for at in destination.endpoints), destination.node_id)
        asked = Asked(node.key.node_id, node.incarnation, effect.correlation, destination.node_id, target, request)
        self._asked[asked] = None
        self.at(effect.timeout_ms, lambda: self._fail(asked, disconnected=False))
        copies = 1 + (self.chance.random() < self.faults.duplicate)
        for copy in range(copies):
            if self.chance.random() >= self.faults.drop:
                wait_ms = self.delay() + copy * self.chance.randint(0, 3000)
                self.at(wait_ms, lambda: self._deliver_request(asked))

    def _fail(self, asked: Asked, *, disconnected: bool) -> None:
        if asked not in self._asked:
            return
        del self._asked[asked]
        node = self.nodes[asked.node_id]
        if node.machine is not None and node.incarnation == asked.incarnation:
            self.feed(
                node,
                RequestFailed(
                    destination_id=asked.destination,
                    correlation=asked.correlation,
                    disconnected=disconnected,
                    draw=self.draw(),
                ),
            )

    def _is_cut(self, source: int, target: int) -> bool:
        return (source, target) in self.faults.cut

    def _deliver_request(self, asked: Asked) -> None:
        if self._is_cut(asked.node_id, asked.target):
            return
        node = self.nodes[asked.target]
        if node.machine is None:
            self.at(1, lambda: self._fail(asked, disconnected=True))
            return
        request_id = self._next_request_id
        self._next_request_id += 1
        node.requests[request_id] = asked
        self.feed(node, RequestReceived(request_id=request_id, request=asked.request, draw=self.draw()))

    def _send_response(self, node: Node, request_id: int, response: Response) -> None:
        asked = node.requests.pop(request_id, None)
        if asked is None:
            self.on_answer(request_id, response)
            return
        request = asked.request
        if isinstance(request, VoteRequest) and not request.pre_vote and getattr(response, "vote_granted", False):
            self.checkers.on_vote(node.key.node_id, request.candidate_epoch, request.candidate)
        if self.chance.random() >= self.faults.drop:
            self.at(self.delay(), lambda: self._deliver_response(asked, response))

    def on_answer(self, request_id: int, response: Response) -> None:
        """Handle the response to a client that is no replica."""
        raise AssertionError(f"request {request_id} got a response, but was never sent: {response}")

    def _deliver_response(self, asked: Asked, response: Response) -> None:
        if asked not in self._asked or self._is_cut(asked.target, asked.node_id):
            return
        del self._asked[asked]
        node = self.nodes[asked.node_id]
        if node.machine is not None and node.incarnation == asked.incarnation:
            received = ResponseReceived(
                destination_id=asked.destination,
                correlation=asked.correlation,
                response=response,
                draw=self.draw(),
            )
            self.feed(node, received)


def committed_offset(cluster: Cluster) -> Offset:
    """Return the highest known high watermark."""
    return Offset(cluster.checkers.committed[-1].end if cluster.checkers.committed else 0)
