"""Whole controllers in one process over simulated files, network and time, for the node's own tests.

Every effect of a replica on the world is counted before it happens, so that a test can crash a replica between any
two. Effects are a job handed to the disk, a group made durable, a message or response sent. `Promises` watches what is
sent, and knows the durable bytes that each promise needs.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from typing import Any

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.files.port import read_file, replace_file
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.storage.file_log import LogConfig
from metadata_log.storage.formatter import LogDirectory, format_directory
from metadata_log.voters import Endpoint, Voter
from quorum.api.calls import ClientAnswer
from quorum.node.core.executor import Executor
from quorum.node.core.retention import SnapshotConfig
from tests.support.node_ports import Crashed, SimulatedDisk
from tests.support.node_promises import Promises
from tests.support.node_requests import BROKER, CLUSTER_ID, DATA, LEVEL, REGISTER_BROKER, WALL_START_MS, create_request
from tests.support.simulated_node import Node, Observer


class Cluster:
    """Controllers 1..count in virtual time; everything follows from the seed."""

    def __init__(
        self,
        count: int = 3,
        *,
        seed: int = 0,
        executor: type[Executor] = Executor,
        disk: type[SimulatedDisk] | None = None,
        log: LogConfig | None = None,
        snapshots: SnapshotConfig | None = None,
        level: int = LEVEL,
    ) -> None:
        self.now_ms = 0
        self.level = level
        self.random = random.Random(seed)
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._sequence = 0
        self.executor_type = executor
        self.disk_type = disk or SimulatedDisk
        self.log_config = log or LogConfig()
        self.snapshots = snapshots or SnapshotConfig()
        self.restart_after_ms: int | None = None
        """The delay after which a crashed replica starts again, or None."""
        self.cut: set[tuple[int, int]] = set()
        """(from, to) pairs that are cut; the sender sees a timeout."""
        self.session_timeout_ms = 1 << 30
        self.max_records_per_sweep = 500
        self.max_idle_interval_ms: int | None = None
        """None: only the test appends, so that it knows each byte and effect."""
        self.effects = 0
        self.crash_at: int | None = None
        self.promises = Promises(self)
        self.nodes = [Node(self, _voter(n)) for n in range(1, count + 1)]
        for node in self.nodes:
            self.format(node)

    def format(self, node: Node) -> None:
        """Format an empty disk; after a loss, in the same way as at first."""
        node.files = SimulatedFiles()
        node.files.mkdirs(DATA)
        format_directory(
            node.files,
            [LogDirectory(path=DATA, directory_id=node.voter.key.directory_id)],
            DATA,
            cluster_id=CLUSTER_ID,
            node_id=node.voter.key.node_id,
            level=self.level,
            now_ms=WALL_START_MS,
            initial_voters=[each.voter for each in self.nodes if each.is_voter] if node.is_voter else None,
        )

    def add_observer(self) -> Observer:
        """Return a formatted observer with the next id, not started."""
        observer = Observer(self, _voter(len(self.nodes) + 1))
        self.nodes.append(observer)
        self.format(observer)
        return observer

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
        """Let the earliest event or deadline happen; return False if nothing is due before `end_ms`."""
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
        """Count an effect; called before each."""
        self.effects += 1
        if self.effects == self.crash_at:
            raise Crashed(f"before effect {self.effects}")

    @property
    def leader(self) -> Node | None:
        """Return the active controller of the highest epoch, or None."""
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

    @property
    def controllers(self) -> list[Node]:
        """Return the nodes that vote."""
        return [node for node in self.nodes if node.is_voter]

    def create_each(self, *names: str) -> None:
        """Create these topics one after the other through the active controller."""
        for name in names:
            answers = self.create(self.elect(), name)
            self.run_until(lambda answers=answers: bool(answers))  # type: ignore[misc]

    def create(self, node: Node, name: str) -> list[ClientAnswer]:
        """Request a topic from `node`; its response is appended to the returned list."""
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


def _voter(node_id: int) -> Voter:
    return Voter(
        key=ReplicaKey(node_id=NodeId(node_id), directory_id=DirectoryId(bytes(15) + bytes([200 + node_id]))),
        endpoints=(
            Endpoint(name="CONTROLLER", host=f"c{node_id}", port=9093),
            Endpoint(name="GRPC", host=f"c{node_id}", port=9094),
        ),
    )


def copied_disk(files: SimulatedFiles) -> SimulatedFiles:
    """Return a backup of a node's whole disk, durable."""
    copy = SimulatedFiles()
    for directory in (DATA, f"{DATA}/{METADATA_DIRECTORY}"):
        copy.mkdirs(directory)
        for name in files.listdir(directory):
            if not files.is_dir(f"{directory}/{name}"):
                replace_file(copy, f"{directory}/{name}", read_file(files, f"{directory}/{name}"))
    return copy
