"""Clients: each sends one request at a time, and records the request, its times and its response.

Decides: the requests, and what a client concludes from a response or from none. Must not know: whether a response was
right (`checkers.history` checks that).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from metadata_log.ids import TopicId
from quorum.api.calls import ClientAnswer
from quorum.api.error_codes import Error
from quorum.api.topics import CreatableTopic, CreateTopics, DeleteTopics, DeleteTopicState, DescribeTopics
from tests.simulation.world import US_PER_MS

if TYPE_CHECKING:
    from tests.simulation.cluster import Cluster
    from tests.simulation.node import Node

_NOTHING_DONE: Final = (Error.NOT_CONTROLLER, Error.THROTTLING_QUOTA_EXCEEDED)
_RETRY_MS: Final = 15
_GIVE_UP_AFTER: Final = 400
_ANYTHING: Final = ("create", "create", "create", "delete", "describe", "read")
_READS: Final = ("describe", "probe")
"""Reads that need the leader. A probe asks whether a topic could be created, and creates none.

Without "read", which any controller may serve, so that a client stays with one, such as a deposed leader.
"""
_ANSWERED_BY_READING: Final = ("describe", "read", "probe")
_READ_EVERY_MS: Final = 20
UNKNOWN: Final = "unknown"
"""The outcome of a request that may have been done, or may yet be."""


class Operation(msgspec.Struct, kw_only=True):
    """One request. Times are true ones, in microseconds; `outcome` is an Error's name, or UNKNOWN."""

    client: int
    kind: str
    topic: str
    invoked_us: int
    returned_us: int | None = None
    outcome: str = ""
    topic_id: TopicId | None = None
    image_offset: int = -1
    at_least_offset: int = -1


class Client:
    """One client. `busy` is the open operation; a `pinned` client sends to that node only."""

    def __init__(self, cluster: Cluster, client_id: int, *, only_reads: bool = False, is_private: bool = False) -> None:
        self.only_reads = only_reads
        self.pinned: Node | None = None
        self._is_private = is_private
        self._kinds = _READS if only_reads else _ANYTHING
        self._think_ms = max(cluster.setup.think_ms, _READ_EVERY_MS) if only_reads else cluster.setup.think_ms
        self._cluster = cluster
        self._world = cluster.world
        self.client_id = client_id
        self.busy: Operation | None = None
        self.is_stopping = False
        self._guess = 0
        self._attempts = 0
        self._seen_offset = -1

    def start(self) -> None:
        """Begin to send requests."""
        self._think()

    def _think(self) -> None:
        if not self.is_stopping:
            self._world.after(1 + self._world.up_to(2 * self._think_ms * US_PER_MS), self._ask_anything)

    def _ask_anything(self) -> None:
        if self.is_stopping or self.busy is not None:
            return
        world = self._world
        kind = self._kinds[world.up_to(len(self._kinds))]
        self.ask(kind, self._any_topic())

    def _any_topic(self) -> str:
        """Draw a shared topic, or one of a private client's own; a reading client draws any of them."""
        setup, world = self._cluster.setup, self._world
        owner = self.client_id if self._is_private else 0
        if self.only_reads and setup.private_clients and world.up_to(2):
            owner = self._cluster.clients[1].client_id
        return f"own{owner}-{world.up_to(min(2, setup.topics))}" if owner else f"t{world.up_to(setup.topics)}"

    def ask(self, kind: str, topic: str) -> None:
        """Begin an operation."""
        self.busy = Operation(
            client=self.client_id,
            kind=kind,
            topic=topic,
            invoked_us=self._world.now_us,
            at_least_offset=max(self._seen_offset, 0) if kind == "read" else -1,
        )
        self._attempts = 0
        self._cluster.checkers.history.operations.append(self.busy)
        self._send(self.busy)

    def _send(self, operation: Operation) -> None:
        voters = self._cluster.voters
        if operation.kind == "read" or self._attempts % 3 == 2:
            self._guess = self._world.up_to(len(voters))
        self._attempts += 1
        self._cluster.network.call(
            self.client_id,
            voters[self._guess] if self.pinned is None else self.pinned,
            _request(operation, self._world.up_to(1 << 20), self._cluster.broker_count),
            lambda answer: self._take(operation, answer),
            at_least_offset=operation.at_least_offset,
            timeout_ms=self._cluster.setup.patience_ms,
        )

    def _take(self, operation: Operation, answer: ClientAnswer | None) -> None:
        is_read = operation.kind in _ANSWERED_BY_READING
        if answer is not None and (answer.error in _NOTHING_DONE or (is_read and answer.error is not Error.NONE)):
            hint = answer.leader_id
            if 1 <= hint <= len(self._cluster.voters):
                self._guess = hint - 1
            else:
                self._guess = (self._guess + 1) % len(self._cluster.voters)
            self._again(operation)
        elif answer is None and self.pinned is not None:
            self._done(operation, UNKNOWN)
        elif answer is None and is_read:
            self._guess = (self._guess + 1) % len(self._cluster.voters)
            self._again(operation)
        elif answer is None or answer.error is not Error.NONE:
            self._guess = (self._guess + 1) % len(self._cluster.voters)
            self._done(operation, UNKNOWN)
        else:
            self._seen_offset = max(self._seen_offset, answer.image_offset)
            operation.image_offset = answer.image_offset
            response: Any = answer.response
            result = response.topics[0] if response.topics else response
            if result.error is Error.NONE and operation.kind != "probe":
                operation.topic_id = result.topic_id
            self._done(operation, result.error.name)

    def _again(self, operation: Operation) -> None:
        if self._attempts >= _GIVE_UP_AFTER and not self.is_stopping:
            self._done(operation, UNKNOWN)
        else:
            self._world.after(1 + self._world.up_to(2 * _RETRY_MS * US_PER_MS), self._send, operation)

    def _done(self, operation: Operation, outcome: str) -> None:
        operation.outcome = outcome
        operation.returned_us = self._world.now_us
        self.busy = None
        self._world.tell(-1, f"c{self.client_id - 1000} {operation.kind} {operation.topic}: {outcome}")
        self._cluster.checkers.on_outcome(operation)
        self._think()


def _request(operation: Operation, draw: int, brokers: int) -> object:
    name = operation.topic
    if operation.kind in ("create", "probe"):
        topic = CreatableTopic(name=name, num_partitions=1 + draw % 3, replication_factor=1 + (draw >> 4) % brokers)
        return CreateTopics(topics=(topic,), validate_only=operation.kind == "probe")
    if operation.kind == "delete":
        return DeleteTopics(topics=(DeleteTopicState(name=name),))
    return DescribeTopics(names=(name,))
