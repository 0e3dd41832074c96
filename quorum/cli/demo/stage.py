"""The state that the acts share: the cluster, a client of it, the story, and the acknowledged topics.

Must not know: the order of the acts.
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
"""The timeout of a request to one node."""
_CALL_TIMEOUT_S: Final = 60.0


class Stage:
    """One run of the demo in one directory. Acknowledged topics are kept here for the check at the end."""

    def __init__(self, directory: Path, story: Story, cluster: Cluster, loop: LoopThread) -> None:
        self.directory: Final = directory
        self.exports: Final = directory / "exports"
        self.story: Final = story
        self.cluster: Final = cluster
        self.loop: Final = loop
        """The thread in which the client runs."""
        self.client: Final = loop.call(_client_of(cluster))
        self.acknowledged: Final[dict[str, TopicId]] = {}
        """Topics, by name, whose creation was acknowledged and whose deletion was not requested."""
        self.unanswered: Final[list[str]] = []
        """Names of topics whose creation was requested and never answered."""
        self.killed: Node | None = None
        self.marks: Final[list[tuple[int, str]]] = []
        """The signals sent to processes, each a time in ms and a text, for the page with the plots."""

    def ask(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of the client, and return its result."""
        return self.loop.call(work, _CALL_TIMEOUT_S)

    def mark(self, text: str) -> None:
        """Note that a process gets a signal now."""
        self.marks.append((time.time_ns() // 1_000_000, text))

    def close(self) -> None:
        """Close the client's connections, and kill all processes that still run."""
        self.cluster.kill_all()
        self.loop.call(self.client.close(), _ASK_TIMEOUT_S)

    def quorum(self, at: Node | None = None) -> QuorumStatus:
        """Return the quorum as its leader or any controller sees it; with `at`, as that controller does."""
        address = None if at is None else at.grpc_address
        return self.ask(self.client.describe_quorum(address=address, timeout_s=_ASK_TIMEOUT_S))

    def agent(self, node: Node) -> AgentStatus:
        """Return the state of an agent."""
        return self.ask(describe_agent(node.grpc_address, _ASK_TIMEOUT_S))

    def leader(self) -> Node:
        """Return the leading controller, once it reports that itself."""

        def leads() -> Node | None:
            try:
                status = self.quorum()
            except ClientError:
                return None
            return self.cluster.controllers.get(status.leader_id) if status.is_from_leader else None

        return wait_until("the controllers to elect a leader", leads)

    @property
    def killed_controller(self) -> Node:
        """The controller that the failover act killed."""
        if self.killed is None:
            raise RuntimeError("no controller was killed yet")
        return self.killed


async def _client_of(cluster: Cluster) -> Client:
    return Client(cluster.bootstrap)
