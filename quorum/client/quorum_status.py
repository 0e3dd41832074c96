"""The state of the quorum (DescribeQuorum): from its leader if that can be reached, otherwise from any controller.

Decides: which controller's response counts. Must not know: Sessions. A unary call also works without a leader.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import msgspec

from kraft.v1 import quorum_pb2, quorum_pb2_grpc
from metadata_log.ids import NodeId, ReplicaKey, TopicId
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Endpoint
from quorum.api.error_codes import Error
from quorum.client.addresses import check_resolvable
from quorum.client.ask_one import not_a_controller
from quorum.client.errors import ClientError, UnavailableError, WrongListenerError, refused, who_leads
from quorum.client.one_node import channel_to
from quorum.plain_text import plain
from quorum.transport.channel import grpc_address
from quorum.transport.grpc.convert.common import directory_id_from, endpoints_from, error_from, topic_id_from
from quorum.transport.grpc.convert.partitions import only_partition

_LOOK_S: Final = 1.0
_LEADER_GRACE_S: Final = 0.2
"""The time left to the other controllers once a leader has responded: a frozen one must not delay the result."""
_ELECTION_S: Final = 3.0
"""Longer than an election takes, including the timeout after which voters notice the loss of the old leader."""
_PAUSE_S: Final = 0.2
_HEARD_MS: Final = 2_000
"""The leader and each voter exchange messages at least twice a second. A longer silence means a loss."""


class ReplicaStatus(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One replica as the leader sees it; an unknown number is -1. Times are in ms since 1970."""

    replica: ReplicaKey
    log_end_offset: Offset
    last_fetch_timestamp_ms: int
    last_caught_up_timestamp_ms: int


class NodeListeners(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A voter and its listeners."""

    node_id: int
    listeners: tuple[Endpoint, ...]


class Unreached(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A peer to which the last request of the responding node failed.

    Attributes:
        node_id: negative for a bootstrap server.
        address: the `host:port` of the attempt, or empty.
        reason: the kind of failure, such as `connection-refused`.
        what: the failure as a sentence.
    """

    node_id: int
    address: str
    reason: str
    what: str


class QuorumStatus(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The quorum as `answered_by` sees it. Only the leader knows the progress of the replicas."""

    cluster_id: str
    topic_id: TopicId
    """The metadata topic's own id, or the sentinel id until it has its own."""
    address: str
    """The address of the node that responded."""
    answered_by: int
    leader_id: int
    """-1 if `answered_by` knows no leader."""
    leader_epoch: Epoch
    high_watermark: Offset
    voters: tuple[ReplicaStatus, ...]
    observers: tuple[ReplicaStatus, ...]
    nodes: tuple[NodeListeners, ...]
    unreached: tuple[Unreached, ...] = ()
    """The peers that do not respond to `answered_by`."""
    heard_age_ms: int | None = None
    """Ms since `answered_by` heard from its leader or, if it leads, from a majority of the voters. None: unknown."""

    @property
    def is_led(self) -> bool:
        """Return True if, as far as `answered_by` knows, a leader with a majority exists."""
        if self.leader_id < 0:
            return False
        if self.heard_age_ms is None:
            return self.is_from_leader
        return self.heard_age_ms <= _HEARD_MS

    @property
    def is_from_leader(self) -> bool:
        """Return True if the leader itself responded; then the progress of the replicas is known."""
        return self.answered_by == self.leader_id

    @property
    def leader(self) -> ReplicaStatus | None:
        """The leader among the voters, or None if no leader is known or the leader is no longer a voter."""
        return next((each for each in self.voters if each.replica.node_id == self.leader_id), None)

    @property
    def leader_address(self) -> str | None:
        """The leader's address: the one at which it responded, or the one that `answered_by` reports. None: unknown.

        A reported address may be a CONTROLLER listener's: static voters (kraft.version 0) have no listener names.
        """
        return self.address if self.is_from_leader else address_of_node(self, self.leader_id)


async def describe_at(address: str, timeout_s: float) -> QuorumStatus:
    """Return the quorum as the controller at `address` sees it.

    Raises:
        UnavailableError: the controller does not respond; UnresolvableError: the host does not exist.
        WrongListenerError: the address is a CONTROLLER listener's.
        NotAControllerError: the address is an agent's, or another process's.
        RefusedError: the controller rejects the request.
    """
    await check_resolvable(address)
    async with channel_to(address, not_a_controller) as channel:
        stub: quorum_pb2_grpc.QuorumAsyncStub = quorum_pb2_grpc.QuorumStub(channel)
        return _status_from(address, await stub.DescribeQuorum(quorum_pb2.DescribeQuorumRequest(), timeout=timeout_s))


async def describe_best(addresses: Iterable[str], timeout_s: float) -> QuorumStatus:
    """Return the leader's view if any of `addresses` leads to it, otherwise the view of the highest epoch.

    Raises:
        UnavailableError: no controller responds.
        WrongListenerError: no controller responds, and an address is a CONTROLLER listener's.
        NotAControllerError: no controller responds, and an address is an agent's or another process's.
    """
    asked = tuple(addresses)
    answers = await _ask_all(asked, timeout_s)
    found = [answer for answer in answers if isinstance(answer, QuorumStatus)]
    if not found:
        raise _why_none(answers)
    best = max(found, key=lambda status: (status.leader_epoch, status.is_from_leader))
    silent = {*asked} - {status.address for status in found}
    return await _follow_to_leader(best, silent, timeout_s)


async def _follow_to_leader(best: QuorumStatus, silent: set[str], timeout_s: float) -> QuorumStatus:
    """Follow the leader that `best` names, and the leader of a higher epoch that it names in turn.

    An election may have ended without the other controllers' knowledge. The search ends when the epoch no longer
    rises. It never asks the `silent` addresses, which have just failed to respond.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    is_newer = True
    while is_newer and not best.is_from_leader and (left_s := deadline - loop.time()) > 0:
        leader = best.leader_address
        if leader is None or leader in silent:
            break
        try:
            status = await _describe_leader(leader, left_s)
        except ClientError:
            break
        is_newer = status.leader_epoch > best.leader_epoch
        if status.leader_epoch >= best.leader_epoch:
            best = status
    return best


async def describe_until(
    look: Callable[[], Awaitable[QuorumStatus]], is_enough: Callable[[QuorumStatus], bool], timeout_s: float
) -> QuorumStatus:
    """Repeat `look` until its result is enough. Return the last result once an election would be over."""
    loop = asyncio.get_running_loop()
    patient_until = loop.time() + min(_ELECTION_S, timeout_s)
    status = await look()
    while not is_enough(status) and loop.time() + _PAUSE_S < patient_until:
        await asyncio.sleep(_PAUSE_S)
        with contextlib.suppress(ClientError):  # an earlier response is at hand, and better than an error
            status = await look()
    return status


async def _describe_leader(address: str, timeout_s: float) -> QuorumStatus:
    """Describe the quorum at an address that a node reported.

    With static voters it may be a CONTROLLER listener's. That listener names the node's GRPC listener.
    """
    try:
        return await describe_at(address, timeout_s)
    except WrongListenerError as wrong:
        return await describe_at(wrong.right_address, timeout_s)


async def who_answers(addresses: Iterable[str]) -> str:
    """Return a sentence for a request that found no leader: each controller's leader, or why it does not respond."""

    async def one(address: str) -> str:
        try:
            status = await describe_at(address, _LOOK_S)
        except ClientError as error:
            return str(error) if address in str(error) else f"{address}: {error}"
        return f"{address}: node {status.answered_by} {who_leads(status.leader_id)}"

    said = await asyncio.gather(*map(one, dict.fromkeys(addresses)))
    return "; ".join(said) + ". See kraft quorum describe"


async def _ask_all(addresses: Iterable[str], timeout_s: float) -> list[QuorumStatus | BaseException]:
    """Return the response or the error of each address.

    Once a leader has responded, the others get little time. They could only name a leader of a higher epoch.
    """
    waiting = {asyncio.ensure_future(describe_at(address, timeout_s)) for address in addresses}
    answers: list[QuorumStatus | BaseException] = []
    grace_s: float | None = None
    try:
        while waiting:
            done, waiting = await asyncio.wait(waiting, timeout=grace_s, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                break
            answers += [task.exception() or task.result() for task in done]
            if any(isinstance(answer, QuorumStatus) and answer.is_from_leader for answer in answers):
                grace_s = _LEADER_GRACE_S
        return answers
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


def _why_none(answers: list[QuorumStatus | BaseException]) -> BaseException:
    failures = [answer for answer in answers if isinstance(answer, BaseException)]
    for failure in failures:
        if not isinstance(failure, UnavailableError):
            return failure
    return UnavailableError("no controller answers: " + "; ".join(str(failure) for failure in failures))


def address_of_node(status: QuorumStatus, node_id: int) -> str | None:
    """Return the GRPC address of that voter, or None if it is unknown."""
    for node in status.nodes:
        if node.node_id == node_id:
            return grpc_address(node.listeners)
    return None


def _status_from(address: str, message: quorum_pb2.DescribeQuorumResponse) -> QuorumStatus:
    if message.error_code:
        raise refused(error_from(message.error_code), message.error_message or None, "DescribeQuorum")
    _, partition = only_partition(message.topics)
    error = error_from(partition.error_code)
    if error not in (Error.NONE, Error.NOT_LEADER_OR_FOLLOWER):
        raise refused(error, None, "DescribeQuorum")
    return QuorumStatus(
        cluster_id=message.cluster_id,
        topic_id=topic_id_from(message.topics[0].topic_id),
        address=address,
        answered_by=message.node_id,
        leader_id=partition.leader_id,
        leader_epoch=Epoch(partition.leader_epoch),
        high_watermark=Offset(partition.high_watermark),
        voters=tuple(_replica_from(replica) for replica in partition.current_voters),
        observers=tuple(_replica_from(replica) for replica in partition.observers),
        nodes=tuple(
            NodeListeners(node_id=node.node_id, listeners=endpoints_from(node.listeners)) for node in message.nodes
        ),
        unreached=tuple(
            Unreached(node_id=peer.node_id, address=peer.address, reason=peer.reason, what=plain(peer.what))
            for peer in message.unreached
        ),
        heard_age_ms=message.heard_age_ms if message.HasField("heard_age_ms") else None,
    )


def _replica_from(message: quorum_pb2.DescribeQuorumResponse.Replica) -> ReplicaStatus:
    return ReplicaStatus(
        replica=ReplicaKey(
            node_id=NodeId(message.replica_id), directory_id=directory_id_from(message.replica_directory_id)
        ),
        log_end_offset=Offset(message.log_end_offset),
        last_fetch_timestamp_ms=message.last_fetch_timestamp_ms,
        last_caught_up_timestamp_ms=message.last_caught_up_timestamp_ms,
    )
