"""Whole controllers in one process over simulated files, network and time: what the node's own tests drive.

Every effect that a replica has on the world (a job taken by the disk, a group made durable, a message sent, an answer
given) is counted before it happens, so that a test can crash a replica between any two. `Promises` watches what leaves
and knows what each of it must rest on.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.errors import MetadataLogError
from metadata_log.file_log import LogConfig, open_log
from metadata_log.format import LogDirectory, format_directory
from metadata_log.ids import DirectoryId, NodeId, ReplicaKey, Uuid
from metadata_log.simulated_files import SimulatedCrash, SimulatedFiles
from metadata_log.voters import Endpoint, Voter
from quorum.controller.config import ControllerConfig
from quorum.controller.context import RequestContext
from quorum.controller.requests import (
    BrokerHeartbeat,
    CreatableTopic,
    CreateTopics,
    FeatureRange,
    Listener,
    RegisterBroker,
)
from quorum.node.bootstrap import open_replica
from quorum.node.config import NodeConfig, config_of
from quorum.node.controller_role import ControllerRole, RoleConfig
from quorum.node.executor import Application, Executor, ExecutorConfig
from quorum.node.opened import OpenedReplica
from quorum.node.ports import (
    ClientAnswer,
    ClientCall,
    ControllerAnswered,
    ControllerCall,
    DiskDone,
    DiskFailed,
    DiskJob,
    Event,
    LogRead,
    NodeEvent,
    OutgoingRequest,
    PeerAnswered,
    PeerCall,
    PeerFailed,
    PeerRequested,
    PeerResponse,
    Ports,
    ReadDone,
    Replies,
    StopAsked,
)
from quorum.node.registration import SUPPORTED_FEATURES, registration_of
from quorum.raft.inputs import Clock
from quorum.raft.messages import FetchRequest, VoteRequest, VoteResponse
from quorum.raft.ready import Destination

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
DATA = "/data"
LEVEL = 30
_WALL_START_MS = 1_700_000_000_000


class Crashed(Exception):
    """The replica died right before an effect."""


class Promises:
    """What has been promised, and whether it rests on durable bytes at that moment. Each violation is kept as text."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._votes: dict[tuple[int, int], ReplicaKey] = {}
        self._leaders: dict[int, int] = {}
        self.acknowledged: dict[str, bytes] = {}
        self.violations: list[str] = []

    def on_send(self, node: Node, request: OutgoingRequest) -> None:
        """A request leaves."""
        sent = request.request
        if isinstance(sent, FetchRequest) and sent.fetch_offset > node.durable_end():
            self.violations.append(
                f"node {node.node_id} fetches from {sent.fetch_offset}, durable is {node.durable_end()}"
            )
        if isinstance(sent, VoteRequest) and not sent.pre_vote:
            self._voted(node, sent.candidate_epoch, sent.candidate)

    def on_answer(self, node: Node, call: PeerCall, response: PeerResponse) -> None:
        """An answer to a peer leaves."""
        asked = call.request
        is_granted = isinstance(response, VoteResponse) and response.vote_granted
        if is_granted and isinstance(asked, VoteRequest) and not asked.pre_vote:
            self._voted(node, asked.candidate_epoch, asked.candidate)

    def on_created(self, name: str, topic_id: bytes) -> None:
        """A client was told that its topic exists."""
        holders = [node.node_id for node in self._cluster.nodes if name in node.durable_topics()]
        if len(holders) * 2 <= len(self._cluster.nodes):
            self.violations.append(f"topic {name} is acknowledged, durable only on {holders}")
        self.acknowledged[name] = topic_id

    def on_leader(self, node_id: int, epoch: int) -> None:
        """A replica says that it leads."""
        if self._leaders.setdefault(epoch, node_id) != node_id:
            self.violations.append(f"epoch {epoch} has two leaders, {self._leaders[epoch]} and {node_id}")

    def _voted(self, node: Node, epoch: int, candidate: ReplicaKey) -> None:
        before = self._votes.setdefault((node.node_id, epoch), candidate)
        if before != candidate:
            self.violations.append(f"node {node.node_id} voted in epoch {epoch} for {before} and for {candidate}")
        if node.durable_epoch() < epoch:
            self.violations.append(f"node {node.node_id} votes in epoch {epoch}, durable is {node.durable_epoch()}")


class Cluster:
    """Controllers 1..count in virtual time; everything that happens follows from the seed."""

    def __init__(
        self,
        count: int = 3,
        *,
        seed: int = 0,
        executor: type[Executor] = Executor,
        disk: type[SimulatedDisk] | None = None,
        log: LogConfig | None = None,
    ) -> None:
        self.now_ms = 0
        self.random = random.Random(seed)
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._sequence = 0
        self.executor_type = executor
        self.disk_type = disk or SimulatedDisk
        self.log_config = log or LogConfig()
        self.restart_after_ms: int | None = None
        """When set, a replica that crashed is started again after so long."""
        self.cut: set[tuple[int, int]] = set()
        """(from, to) pairs between which nothing passes; the sender sees a timeout."""
        self.session_timeout_ms = 1 << 30
        self.max_records_per_sweep = 500
        self.effects = 0
        self.crash_at: int | None = None
        self.promises = Promises(self)
        voters = [
            Voter(
                key=ReplicaKey(node_id=NodeId(n), directory_id=DirectoryId(bytes(15) + bytes([200 + n]))),
                endpoints=(
                    Endpoint(name="CONTROLLER", host=f"c{n}", port=9093),
                    Endpoint(name="GRPC", host=f"c{n}", port=9094),
                ),
            )
            for n in range(1, count + 1)
        ]
        self.nodes = [Node(self, voter) for voter in voters]
        for node, voter in zip(self.nodes, voters, strict=True):
            node.files.mkdirs(DATA)
            format_directory(
                node.files,
                [LogDirectory(path=DATA, directory_id=voter.key.directory_id)],
                DATA,
                cluster_id=CLUSTER_ID,
                node_id=voter.key.node_id,
                level=LEVEL,
                now_ms=_WALL_START_MS,
                initial_voters=voters,
            )

    def node(self, node_id: int) -> Node:
        return self.nodes[node_id - 1]

    def start(self) -> None:
        for node in self.nodes:
            node.start()

    def later(self, delay_ms: int, action: Callable[[], None]) -> None:
        self._sequence += 1
        heapq.heappush(self._queue, (self.now_ms + delay_ms, self._sequence, action))

    def run_until(self, condition: Callable[[], bool], *, within_ms: int = 60_000) -> None:
        """Let time pass until `condition` holds."""
        end = self.now_ms + within_ms
        while not condition():
            if not self.step(end):
                described = [(n.node_id, n.is_up and n.executor.machine.describe()) for n in self.nodes]
                raise AssertionError(f"not within {within_ms} ms of virtual time: {described}")

    def run_for(self, duration_ms: int) -> None:
        end = self.now_ms + duration_ms
        while self.step(end):
            pass
        self.now_ms = end

    def step(self, end_ms: int) -> bool:
        """One thing happens: the earliest event or deadline; false when nothing does before `end_ms`."""
        timers = [(due, node.node_id) for node in self.nodes if (due := node.deadline_ms()) is not None]
        timer = min(timers, default=None)
        if timer is not None and (not self._queue or timer[0] <= self._queue[0][0]):
            if timer[0] > end_ms:
                return False
            self.now_ms = max(self.now_ms, timer[0])
            self.node(timer[1]).turn([])
            return True
        if not self._queue or self._queue[0][0] > end_ms:
            return False
        self.now_ms, _, action = heapq.heappop(self._queue)
        action()
        return True

    def before_effect(self) -> None:
        """Called before each effect on the world."""
        self.effects += 1
        if self.effects == self.crash_at:
            raise Crashed(f"before effect {self.effects}")

    @property
    def leader(self) -> Node | None:
        """The active controller of the highest epoch, if one is active."""
        active = [node for node in self.nodes if node.is_up and node.executor.active_epoch is not None]
        return max(active, key=lambda node: node.executor.machine.epoch, default=None)

    def elect(self) -> Node:
        self.run_until(lambda: self.leader is not None)
        leader = self.leader
        assert leader is not None
        return leader

    def add_broker(self) -> None:
        """Register broker 100 with the active controller, and unfence it."""
        leader, answers = self.elect(), list[ClientAnswer]()
        leader.call(REGISTER_BROKER, answers.append)
        self.run_until(lambda: bool(answers))
        registered: Any = answers.pop().response
        assert registered.error == 0
        leader.unfence_broker()
        self.run_until(lambda: not leader.executor.image.cluster.brokers[NodeId(BROKER)].fenced)

    def create(self, node: Node, name: str) -> list[ClientAnswer]:
        """Ask `node` for a topic; the answer comes into the list."""
        answers: list[ClientAnswer] = []

        def respond(answer: ClientAnswer) -> None:
            self.before_effect()
            answers.append(answer)
            response: Any = answer.response
            if answer.error == 0 and response.topics[0].error == 0:
                self.promises.on_created(name, response.topics[0].topic_id)

        node.call(create_request(name), respond)
        return answers

    def check(self) -> None:
        assert self.promises.violations == []


BROKER = 100
REGISTER_BROKER = RegisterBroker(
    broker_id=BROKER,
    cluster_id=CLUSTER_ID,
    incarnation_id=Uuid(b"\x20" * 16),
    listeners=(Listener(name="PLAINTEXT", host="b", port=9092),),
    features=tuple(
        FeatureRange(name=feature.name, min_supported_version=0, max_supported_version=feature.max_supported_version)
        for feature in SUPPORTED_FEATURES
    ),
    log_dirs=(DirectoryId(b"\x30" * 16),),
)


def create_request(*names: str) -> CreateTopics:
    """Topics of one partition on `BROKER`."""
    return CreateTopics(
        topics=tuple(CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names)
    )


class Node:
    """One controller: its disk, and its process while it is up."""

    def __init__(self, cluster: Cluster, voter: Voter) -> None:
        self.cluster = cluster
        self.voter = voter
        self.node_id = voter.key.node_id
        self.files = SimulatedFiles()
        self.is_up = False
        self.boot = 0
        self.opened: OpenedReplica
        self.executor: Executor
        self.events: list[NodeEvent] = []
        self.failure: Exception | None = None
        self.disk_latency_ms = 1
        self.in_flight: list[tuple[list[bool], Callable[[], None]]] = []
        self._durable: tuple[int, int, frozenset[str]] | None = None

    # --- life

    @property
    def config(self) -> NodeConfig:
        config = config_of(
            {
                "process.roles": "controller",
                "node.id": str(self.node_id),
                "listeners": f"CONTROLLER://c{self.node_id}:9093,GRPC://c{self.node_id}:9094",
                "log.dirs": DATA,
            }
        )
        return msgspec.structs.replace(config, log=self.cluster.log_config)

    def start(self) -> None:
        assert not self.is_up
        self.boot += 1
        self.failure = None
        try:
            self.opened = open_replica(self.files, self.config, cluster_id=CLUSTER_ID)
        except SimulatedCrash:
            self.crash()
            return
        self.executor = self.cluster.executor_type(
            self.opened,
            ExecutorConfig(
                cluster_id=CLUSTER_ID,
                raft=self.config.raft,
                endpoints=self.voter.endpoints,
                bootstrap=(),
                can_vote=True,
            ),
            Ports(
                disk=self.cluster.disk_type(self),
                network=_Network(self),
                clock=_Clock(self.cluster),
                entropy=_Entropy(self),
            ),
            self,
            self._application,
        )
        self.is_up = True
        self._guarded(self.executor.start)

    def _application(self, executor: Executor) -> Application:
        controller = ControllerConfig(
            node_id=self.node_id,
            cluster_id=CLUSTER_ID,
            session_timeout_ms=self.cluster.session_timeout_ms,
            max_records_per_sweep=self.cluster.max_records_per_sweep,
        )
        incarnation = Uuid(self.node_id.to_bytes(8, "big") + self.boot.to_bytes(8, "big"))
        return ControllerRole(
            executor,
            controller,
            RoleConfig(),
            registration_of(self.node_id, incarnation, self.voter.endpoints),
            self.opened.bootstrap_records,
        )

    def crash(self, draw: int | None = None) -> None:
        """kill -9 and power cut at once."""
        self._end()
        self.files.crash(self.cluster.random.getrandbits(64) if draw is None else draw)
        self._durable = None
        if self.cluster.restart_after_ms is not None:
            self.cluster.later(self.cluster.restart_after_ms, self.start)

    def _end(self) -> None:
        """The process is gone: whoever waits for it sees its connections closed."""
        self.is_up = False
        for answered, fail in self.in_flight:
            if not answered:
                answered.append(True)
                fail()
        self.in_flight.clear()

    def stop(self) -> None:
        self.turn([StopAsked()])

    def turn(self, events: Iterable[Event]) -> None:
        if self.is_up:
            batch = list(events)
            self._guarded(lambda: self.executor.turn(batch))

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except (Crashed, SimulatedCrash):
            self.crash()
        except MetadataLogError as error:
            self.failure = error
            self._end()
            self.opened.abandon()
        else:
            if self.executor.is_shut:
                self._end()
                self.opened.close()
                self.disk_changed()

    def deadline_ms(self) -> int | None:
        return self.executor.next_deadline_ms() if self.is_up else None

    def post(self, boot: int, delay_ms: int, event: Event) -> None:
        """Give it an event later, unless its process has ended by then."""

        def deliver() -> None:
            if self.boot == boot:
                self.turn([event])

        self.cluster.later(delay_ms, deliver)

    def call(self, request: object, respond: Callable[[ClientAnswer], None], at_least_offset: int = -1) -> None:
        deadline = self.cluster.now_ms + 10_000
        self.turn(
            [
                ClientCall(
                    request=request,
                    context=RequestContext(deadline_ms=deadline),
                    respond=respond,
                    at_least_offset=at_least_offset,  # type: ignore[arg-type]
                )
            ]
        )

    def unfence_broker(self) -> None:
        """A heartbeat of `BROKER`, which is registered."""
        heartbeat = BrokerHeartbeat(
            broker_id=BROKER,
            broker_epoch=self.executor.image.cluster.broker_epoch(NodeId(BROKER)),
            current_metadata_offset=1 << 40,
        )
        self.call(heartbeat, lambda answer: None)

    def on_event(self, event: NodeEvent) -> None:
        self.events.append(event)
        if type(event).__name__ == "ControllerActivated":
            self.cluster.promises.on_leader(self.node_id, event.epoch)  # type: ignore[union-attr]

    # --- what a power cut right now would leave at the least

    def durable_end(self) -> int:
        return self._read_durable()[0]

    def durable_epoch(self) -> int:
        return self._read_durable()[1]

    def durable_topics(self) -> frozenset[str]:
        return self._read_durable()[2]

    def disk_changed(self) -> None:
        self._durable = None

    def _read_durable(self) -> tuple[int, int, frozenset[str]]:
        if self._durable is None:
            self._durable = read_directory(durable_copy(self.files))
        return self._durable


def durable_copy(files: SimulatedFiles) -> SimulatedFiles:
    """What was made durable, and nothing else."""
    copy = SimulatedFiles()
    for path, directory in files._directories.items():
        copy.mkdirs(path)
        for name, inode in directory.durable.items():
            handle = copy.open(f"{path}/{name}", create=True)
            handle.pwrite(bytes(inode.durable), 0)
    return copy


def read_directory(files: SimulatedFiles) -> tuple[int, int, frozenset[str]]:
    """(log end, epoch in quorum-state, names of the topics in the log) of a replica's directory."""
    from metadata_log.batch import batch_values  # noqa: PLC0415
    from metadata_log.directory import read_quorum_state  # noqa: PLC0415
    from metadata_log.records import TopicRecord, decode_record  # noqa: PLC0415

    directory = f"{DATA}/{METADATA_DIRECTORY}"
    state = read_quorum_state(files, directory)
    log, _ = open_log(files, directory, config=LogConfig(), recover=False)
    names = set()
    for header, batch in log.iter_from(log.start_offset):
        if not header.is_control:
            for value in batch_values(batch, header):
                record = decode_record(value)
                if isinstance(record, TopicRecord):
                    names.add(record.name)
    return log.log_end_offset, -1 if state is None else state.leader_epoch, frozenset(names)


class _Clock:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def now(self) -> Clock:
        return Clock(monotonic_ms=self._cluster.now_ms, wall_ms=_WALL_START_MS + self._cluster.now_ms)


class _Entropy:
    def __init__(self, node: Node) -> None:
        self._random = random.Random(node.cluster.random.getrandbits(64))

    def draw(self) -> int:
        return self._random.getrandbits(64)

    def new_id(self) -> bytes:
        return b"\x10" + self._random.randbytes(15)


class SimulatedDisk:
    """Takes jobs; makes all that wait durable together, a little later."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self._boot = node.boot
        self._disk = node.opened.disk
        self._jobs: list[DiskJob] = []
        self._is_busy = False

    def write(self, jobs: Sequence[DiskJob]) -> None:
        self.node.cluster.before_effect()
        self._jobs += jobs
        if not self._is_busy:
            self._is_busy = True
            self.node.cluster.later(self.node.disk_latency_ms, self._run)

    def execute(self, jobs: Sequence[DiskJob]) -> int:
        return self._disk.execute(jobs)

    def done(self, sequence: int) -> None:
        self.node.post(self._boot, 0, DiskDone(sequence=sequence))

    def _run(self) -> None:
        node = self.node
        if node.boot != self._boot or not node.is_up:
            return
        jobs, self._jobs, self._is_busy = self._jobs, [], False
        try:
            node.cluster.before_effect()
            sequence = self.execute(jobs)
            node.disk_changed()
            node.cluster.before_effect()
        except (Crashed, SimulatedCrash):
            node.crash()
        except MetadataLogError as error:
            node.post(self._boot, 0, DiskFailed(error=error))
        else:
            self.done(sequence)

    def read(self, read: LogRead) -> None:
        self.node.post(self._boot, 1, ReadDone(read_id=read.read_id, data=read.plan.run()))


class _Network:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._boot = node.boot

    def attach(self, replies: Replies) -> None:
        """Answers come as events."""

    def send(self, request: OutgoingRequest) -> None:
        node, cluster = self._node, self._node.cluster
        cluster.before_effect()
        cluster.promises.on_send(node, request)
        target = _target(cluster, request.destination)
        if (node.node_id, target.node_id) in cluster.cut:
            self._fail(request, request.timeout_ms, disconnected=False)
            return
        cluster.later(cluster.random.randint(1, 2), lambda: self._deliver(target, request))

    def _deliver(self, target: Node, request: OutgoingRequest) -> None:
        if not target.is_up:
            self._fail(request, 1, disconnected=True)
            return
        node, cluster = self._node, self._node.cluster
        call = PeerCall(request=request.request, cluster_id=request.cluster_id, topic_id=request.topic_id)
        answered: list[bool] = []

        def respond(response: PeerResponse) -> None:
            cluster.before_effect()
            cluster.promises.on_answer(target, call, response)
            answered.append(True)
            if (target.node_id, node.node_id) not in cluster.cut:
                event = PeerAnswered(
                    destination_id=request.destination.node_id, correlation=request.correlation, response=response
                )
                node.post(self._boot, cluster.random.randint(1, 2), event)

        def expire() -> None:
            if not answered:
                self._fail(request, 0, disconnected=False)

        cluster._sequence += 1
        cluster.later(request.timeout_ms, expire)
        target.in_flight.append((answered, lambda: self._fail(request, 1, disconnected=True)))
        target.turn([PeerRequested(request_id=cluster._sequence, call=call, respond=respond)])

    def _fail(self, request: OutgoingRequest, delay_ms: int, *, disconnected: bool) -> None:
        event = PeerFailed(
            destination_id=request.destination.node_id, correlation=request.correlation, disconnected=disconnected
        )
        self._node.post(self._boot, delay_ms, event)

    def send_to_controller(self, call: ControllerCall) -> None:
        node, cluster = self._node, self._node.cluster
        cluster.before_effect()
        target = _target(cluster, call.destination)

        def respond(answer: ClientAnswer) -> None:
            node.post(self._boot, 1, ControllerAnswered(correlation=call.correlation, answer=answer))

        def deliver() -> None:
            if target.is_up:
                target.call(call.request, respond)
            else:
                node.post(self._boot, 1, ControllerAnswered(correlation=call.correlation, answer=None))

        cluster.later(1, deliver)


def _target(cluster: Cluster, destination: Destination) -> Node:
    host = destination.endpoints[0].host
    return cluster.node(int(host[1:]))
