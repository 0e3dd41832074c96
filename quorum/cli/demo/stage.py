"""What the acts share: the cluster, a client of it, the story, and what has been promised so far.

Decides: nothing. Must not know: the order of the acts.
"""

from __future__ import annotations

import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Final, TypeVar

from metadata_log.ids import TopicId
from quorum.cli.demo.cluster import Cluster, Node, wait_until
from quorum.cli.demo.story import Story
from quorum.client.agent_status import AgentStatus, describe_agent
from quorum.client.client import Client
from quorum.client.errors import ClientError
from quorum.client.loop_thread import LoopThread
from quorum.client.quorum_status import QuorumStatus

T = TypeVar("T")

_ASK_TIMEOUT_S: Final = 5.0
"""For one question to one node."""
_CALL_TIMEOUT_S: Final = 60.0


class Stage:
    """One run of the demo in one directory. What was acknowledged is kept here, to be asked for at the end."""

    def __init__(self, directory: Path, story: Story, cluster: Cluster, loop: LoopThread) -> None:
        self.directory: Final = directory
        self.exports: Final = directory / "exports"
        self.story: Final = story
        self.cluster: Final = cluster
        self.loop: Final = loop
        """Where the client lives."""
        self.client: Final = loop.call(_client_of(cluster))
        self.acknowledged: Final[dict[str, TopicId]] = {}
        """Topics whose creation was acknowledged and whose deletion was not asked for, by name."""
        self.unanswered: Final[list[str]] = []
        """Names of topics whose creation was asked for and never answered."""
        self.killed: Node | None = None
        self.marks: Final[list[tuple[int, str]]] = []
        """What was done to the processes, each a time in ms and a text: the pages show them."""

    def ask(self, work: Coroutine[Any, Any, T]) -> T:
        """What a coroutine of the client returns."""
        return self.loop.call(work, _CALL_TIMEOUT_S)

    def mark(self, text: str) -> None:
        """Note what is done to a process now."""
        self.marks.append((time.time_ns() // 1_000_000, text))

    def close(self) -> None:
        """End everything: the client's connections, and all processes, by SIGKILL where they still run."""
        self.cluster.kill_all()
        self.loop.call(self.client.close(), _ASK_TIMEOUT_S)

    def quorum(self, at: Node | None = None) -> QuorumStatus:
        """The quorum as its leader sees it, or somebody who can be reached; with `at`, as that controller does."""
        address = None if at is None else at.grpc_address
        return self.ask(self.client.describe_quorum(address=address, timeout_s=_ASK_TIMEOUT_S))

    def agent(self, node: Node) -> AgentStatus:
        """What an agent tells of itself."""
        return self.ask(describe_agent(node.grpc_address, _ASK_TIMEOUT_S))

    def leader(self) -> Node:
        """The controller that leads, once it says so itself."""

        def leads() -> Node | None:
            try:
                status = self.quorum()
            except ClientError:
                return None
            return self.cluster.controllers.get(status.leader_id) if status.is_from_leader else None

        return wait_until("the controllers to elect a leader", leads)

    @property
    def killed_controller(self) -> Node:
        """The one that the failover act killed."""
        if self.killed is None:
            raise RuntimeError("no controller was killed yet")
        return self.killed


async def _client_of(cluster: Cluster) -> Client:
    return Client(cluster.bootstrap)
