"""A roll of three controllers and two agents from one release to another and back, one node at a time, under a writer.

Decides: which node is restarted, killed or made the leader, and when. Must not know: the conditions that hold after it.
"""

from __future__ import annotations

import enum
import random
import shutil
import signal
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from metadata_log.ids import METADATA_TOPIC_NAME, id_text
from metadata_log.offsets import Offset
from metadata_log.voters import GRPC_LISTENER
from quorum.api.topics import DescribedTopic, DescribeTopics
from quorum.cli.demo.cluster import Cluster, Node, wait_until
from quorum.client.agent_status import RUNNING, AgentStatus, HeldPartition, describe_agent
from quorum.client.client import Client
from quorum.client.errors import ClientError
from quorum.client.loop_thread import LoopThread
from quorum.client.quorum_status import QuorumStatus
from quorum.node.config.node_config import INTER_CONTROLLER
from tests.support.command_json import rows_of_either
from tests.support.releases import Release, imported_by
from tests.support.resolved_writer import TASKS, ResolvedWriter
from tests.support.roll_run import AGENTS, CONTROLLERS, Kill, Read, RollRun, Served, Start

T = TypeVar("T")

_PATIENCE_S: Final = 90.0
_LOOK_S: Final = 5.0
_SERVED_WRITES: Final = 10
"""A leader has served the others once it has acknowledged this many writes."""
_BYTES_BETWEEN_SNAPSHOTS: Final = "20000"
"""A few seconds of writes, so that most starts load a checkpoint that the other release wrote."""


def run_roll(root: Path, seed: int, first: Release, second: Release, *, cycles: int, listener: str) -> RollRun:
    """Roll from `first` to `second` and back, `cycles` times, then stop all nodes.

    Controllers send their requests to the `listener` of the others: GRPC, or CONTROLLER for Kafka's protocol.
    """
    rng = random.Random(seed)
    cluster = Cluster(
        root,
        controllers=CONTROLLERS,
        agents=AGENTS,
        properties={
            "metadata.log.max.record.bytes.between.snapshots": _BYTES_BETWEEN_SNAPSHOTS,
            INTER_CONTROLLER: listener,
        },
        agent_properties={INTER_CONTROLLER: GRPC_LISTENER},
    )
    with cluster, LoopThread(close_timeout_s=10.0) as loop:
        writer = ResolvedWriter(cluster.bootstrap, seed)
        roll = _Roll(RollRun(cluster=cluster, writer=writer), loop, rng)
        roll.start(first)
        for _ in range(cycles):
            roll.to(first, second)
            roll.to(second, first, keep=root / "kept")
        roll.finish()
    return roll.run


class _Waiting(enum.Enum):
    """The state of a leader whose followers are paused: its requests are stuck, or it no longer leads."""

    STUCK = "stuck"
    DEPOSED = "deposed"


class _Roll:
    """The steps of a roll, and the release of each node."""

    def __init__(self, run: RollRun, loop: LoopThread, rng: random.Random) -> None:
        self.run = run
        self._cluster = run.cluster
        self._loop = loop
        self._rng = rng
        self._client = loop.call(_client_of(run.cluster))
        self._releases: dict[int, Release] = {}
        self._direction = "at first"
        self._writing: Future[None] = Future()
        self._killed: Node | None = None

    def start(self, release: Release) -> None:
        """Format and start all nodes with `release`, then the writer."""
        self._cluster.kraft = release.kraft
        self._cluster.format()
        for node in self._cluster.nodes:
            self._launch(node, release)
        for node in self._cluster.nodes:
            self._await_caught_up(node)
        self._writing = self._loop.start(self.run.writer.run())

    def finish(self) -> None:
        """Stop the writer, look at each node, and stop all."""
        self.run.writer.stop()
        self._writing.result(_PATIENCE_S)
        self._look()
        self.run.statuses += self._cluster.stop().items()
        self._call(self._client.close())

    def to(self, old: Release, new: Release, *, keep: Path | None = None) -> None:
        """Restart each node with `new`; kill a leader of either release while both are in the quorum.

        With `keep`, copy each directory that `old` left there.
        """
        self._direction = f"{old} to {new}"
        first, second, third = self._shuffled(self._cluster.controllers)
        one, other = self._shuffled(self._cluster.agents)
        self._restart(first, new, keep)
        self._serve(new)
        self._restart(one, new, keep)
        self._kill_leader(old)
        self._restart(second, new, keep)
        self._serve(old)
        self._kill_leader(new)
        self._restart(other, new, keep)
        self._restart(third, new, keep)
        self._await_writes(_SERVED_WRITES)
        self._read_by(old)

    def _read_by(self, release: Release) -> None:
        before = self.run.writer.present
        command = ("topics", "describe", "--bootstrap-controller", ",".join(self._cluster.bootstrap), "-o", "json")
        done = release.run(*command)
        assert done.returncode == 0, done.stdout + done.stderr
        topics = {topic["topic"]: topic["topic_id"] for topic in rows_of_either(done.stdout, "topics")}
        kept = before.items() & self.run.writer.present.items()
        expected = {name: id_text(topic_id) for name, topic_id in kept}
        self.run.reads.append(Read(direction=self._direction, topics=topics, expected=expected))

    def _look(self) -> None:
        """Note the topics that each controller describes, and the partitions that each agent holds, once settled."""
        described = self._await("every replica to be in sync", self._in_sync)
        for node_id, node in self._cluster.controllers.items():
            request = self._client.ask(DescribeTopics(all_topics=True), address=node.grpc_address)
            self.run.topics[node_id] = {topic.name or "": topic.topic_id for topic in self._call(request).topics}
        for node_id, node in self._cluster.agents.items():
            self.run.held[node_id] = self._await(
                f"{node.name} to hold its partitions", partial(self._held, node, described)
            )

    def _in_sync(self) -> list[DescribedTopic]:
        """Return all topics if each partition has a leader and all replicas in sync; otherwise nothing."""
        topics = self._call(self._client.describe_topics(all_topics=True))
        found = [topic for topic in topics if topic.name != METADATA_TOPIC_NAME]
        partitions = [partition for topic in found for partition in topic.partitions]
        is_settled = all(each.leader_id >= 0 and {*each.isr} == {*each.replicas} for each in partitions)
        return found if is_settled else []

    def _held(self, node: Node, topics: list[DescribedTopic]) -> list[HeldPartition]:
        """Return the partitions that an agent holds if these are all replicas placed on it; otherwise nothing."""
        expected = {
            (topic.name, partition.partition_index, topic.topic_id)
            for topic in topics
            for partition in topic.partitions
            if node.node_id in partition.replicas
        }
        held = self._agent(node).partitions
        return [*held] if {(each.topic, each.partition, each.topic_id) for each in held} == expected else []

    def _shuffled(self, nodes: Mapping[int, Node]) -> list[Node]:
        return self._rng.sample([*nodes.values()], len(nodes))

    # --- one node

    def _launch(self, node: Node, release: Release) -> None:
        node.launcher = release.launcher
        node.start()
        node.wait_listening(_PATIENCE_S)
        self._releases[node.node_id] = release
        self.run.starts.append(Start(node_id=node.node_id, release=release, packages=imported_by(node)))

    def _restart(self, node: Node, release: Release, keep: Path | None) -> None:
        self.run.statuses.append((node.name, node.stop()))
        if keep is not None:
            kept = keep / node.root.name
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(node.log_dir, kept / node.log_dir.name)
            self.run.kept[node.node_id] = kept
        self._launch(node, release)
        self._await_caught_up(node)

    def _await_caught_up(self, node: Node) -> None:
        goal = self._await("a leader", self._leading).high_watermark
        is_caught_up = self._has_controller if node.role == "controller" else self._has_agent
        self._await(f"{node.name} to have caught up with offset {goal}", lambda: is_caught_up(node, goal))

    def _has_controller(self, node: Node, goal: Offset) -> bool:
        """Return True if both `node` and the leader report that `node` has all of the log below `goal`."""
        own = self._call(self._client.describe_quorum(address=node.grpc_address, timeout_s=_LOOK_S))
        status = self._leading()
        if status is None or (own.leader_id, own.leader_epoch) != (status.leader_id, status.leader_epoch):
            return False
        return own.high_watermark >= goal and _end_offsets(status).get(node.node_id, -1) >= goal

    def _has_agent(self, node: Node, goal: Offset) -> bool:
        agent = self._agent(node)
        return agent.phase == RUNNING and not agent.is_fenced and agent.image.offset >= goal

    # --- the leader

    def _lead(self, release: Release) -> QuorumStatus | None:
        """Return the status if a node of `release` leads; otherwise transfer the leadership, and return None."""
        status = self._leading()
        if status is None or self._releases[status.leader_id] is release:
            return status
        candidates = [node_id for node_id in CONTROLLERS if self._releases[node_id] is release]
        self._call(self._client.transfer_leadership(self._rng.choice(candidates), timeout_s=_LOOK_S))
        return None

    def _serve(self, release: Release) -> None:
        """Wait until one leader of `release` has written, in one epoch, records that every other replica fetched."""
        begun: list[tuple[QuorumStatus, int]] = []

        def done() -> QuorumStatus | None:
            status = self._lead(release)
            if status is None:
                return None
            if not begun or begun[-1][0].leader_epoch != status.leader_epoch:
                begun.append((status, self.run.writer.acknowledged))
            at_first, acknowledged = begun[-1]
            goal = _end_offsets(at_first)[at_first.leader_id] + _SERVED_WRITES
            ends = _end_offsets(status)
            is_served = ends.keys() >= self._releases.keys() and min(ends.values()) >= goal
            return status if is_served and self.run.writer.acknowledged >= acknowledged + _SERVED_WRITES else None

        leader = self._await(f"a leader of {release} to serve all replicas", done).leader_id
        for node in self._cluster.nodes:
            if node.node_id != leader:
                self.run.served.add(
                    Served(
                        direction=self._direction,
                        leader=str(release),
                        role=node.role,
                        replica=str(self._releases[node.node_id]),
                    )
                )

    def _kill_leader(self, release: Release) -> None:
        """Kill a leader of `release`; start it again once the others have elected a leader that acknowledges writes.

        The client knows the leader before, so that its requests go there and not to a follower that is paused.
        """
        self._serve(release)
        before = self._await(f"a leader of {release} to be killed", lambda: self._try_to_kill(release))
        node = self._cluster.controllers[before.leader_id]
        others = frozenset(str(self._releases[each]) for each in CONTROLLERS if each != node.node_id)
        self.run.kills.append(Kill(direction=self._direction, leader=str(release), others=others))
        self._await("the next leader", lambda: self._leading(above=before.leader_epoch))
        self._await_writes(_SERVED_WRITES)
        self._launch(node, release)
        self._killed = None
        self._await_caught_up(node)

    def _try_to_kill(self, release: Release) -> QuorumStatus | None:
        """Kill a leader while its followers are paused, so that it has written requests that it cannot commit.

        Returns:
            The status before, or None if no node of `release` leads, or its leadership has ended meanwhile.
        """
        status = self._lead(release)
        if status is None:
            return None
        node = self._cluster.controllers[status.leader_id]
        followers = [each for each in self._cluster.controllers.values() if each is not node]
        for follower in followers:
            follower.signal(signal.SIGSTOP)
        try:
            is_waiting = partial(self._is_waiting, node, status.leader_epoch, self.run.writer.acknowledged)
            if self._await("requests that wait for a commit", is_waiting) is _Waiting.DEPOSED:
                return None
            self._killed = node
            node.kill()
        finally:
            for follower in followers:
                follower.signal(signal.SIGCONT)
        return status

    def _is_waiting(self, leader: Node, epoch: int, acknowledged: int) -> _Waiting | None:
        """Look at a leader whose followers are paused.

        All tasks of the writer wait in the end, unless the leader acknowledges writes that no follower has.
        """
        own = self._call(self._client.describe_quorum(address=leader.grpc_address, timeout_s=_LOOK_S))
        if not own.is_from_leader or own.leader_epoch != epoch:
            return _Waiting.DEPOSED
        writer = self.run.writer
        is_stuck = writer.under_way == TASKS or writer.acknowledged >= acknowledged + _SERVED_WRITES
        return _Waiting.STUCK if is_stuck and _end_offsets(own)[leader.node_id] > own.high_watermark else None

    def _leading(self, above: int = -1) -> QuorumStatus | None:
        status = self._call(self._client.describe_quorum(timeout_s=_LOOK_S))
        return status if status.is_from_leader and status.leader_epoch > above else None

    # --- waiting

    def _await_writes(self, more: int) -> None:
        writer = self.run.writer
        goal = writer.acknowledged + more
        self._await(f"{more} more acknowledgements", lambda: writer.acknowledged >= goal)

    def _await(self, what: str, condition: Callable[[], T | None]) -> T:
        def without_error() -> T | None:
            for node in self._cluster.nodes:
                if node is not self._killed:
                    node.check_running()
            if self._writing.done():
                self._writing.result()
            try:
                return condition()
            except ClientError:
                return None

        return wait_until(f"{what} ({self._direction})", without_error, timeout_s=_PATIENCE_S, every_s=0.05)

    def _agent(self, node: Node) -> AgentStatus:
        return self._call(describe_agent(node.grpc_address, _LOOK_S))

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.call(work, _PATIENCE_S)


async def _client_of(cluster: Cluster) -> Client:
    return Client(cluster.bootstrap)


def _end_offsets(status: QuorumStatus) -> dict[int, Offset]:
    """Return the log end offset of each voter and observer that the leader knows."""
    return {each.replica.node_id: each.log_end_offset for each in (*status.voters, *status.observers)}
