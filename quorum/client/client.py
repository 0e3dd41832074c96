"""The client: topics, the quorum, and the requests of brokers and controllers to the active controller.

Decides: which errors are raised, and which are values. Must not know: where the active controller is, or the transport.

    async with Client(["c1:9094", "c2:9094"]) as client:
        created = await client.create_topic("events", num_partitions=3, replication_factor=1)
        print(id_text(created.topic_id))

A method for several topics returns the error of each in its result; a method for a single topic raises the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Final, Self, TypeVar

import msgspec

from metadata_log.ids import TopicId, id_text
from metadata_log.offsets import Offset
from quorum.api.brokers import BrokerHeartbeat, BrokerHeartbeatResponse, RegisterBroker, RegisterBrokerResponse
from quorum.api.calls import NO_OFFSET
from quorum.api.controllers import (
    RegisterController,
    RegisterControllerResponse,
    UnregisterController,
)
from quorum.api.error_codes import Error
from quorum.api.partitions import AlterPartition, AlterPartitionResponse
from quorum.api.request import Request, Response
from quorum.api.topics import (
    CreatableConfig,
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicResult,
    CreateTopics,
    DeletableTopicResult,
    DeleteTopics,
    DeleteTopicState,
    DescribedTopic,
    DescribeTopics,
)
from quorum.api.voter_messages import VoterChange
from quorum.client.addresses import check_address
from quorum.client.arguments import in_ms, several
from quorum.client.ask_one import ask_one
from quorum.client.calls import RetryingSender
from quorum.client.controllers import Controllers
from quorum.client.errors import refused
from quorum.client.quorum_status import QuorumStatus, describe_at, describe_best, describe_until
from quorum.client.transfer import Transferred, transfer_leadership
from quorum.client.voter_changes import ask_leader

DEFAULT_TIMEOUT_S: Final = 30.0
_UNKNOWN_TOPIC: Final = frozenset({Error.UNKNOWN_TOPIC_OR_PARTITION, Error.UNKNOWN_TOPIC_ID})

R = TypeVar("R", bound=Response)


class Client:
    """A client of one quorum. Any number of tasks may share a client, all in one event loop.

    Every method may raise UnavailableError, RefusedError, WrongListenerError and ClosedError. A method whose request
    is not idempotent may also raise OutcomeUnknownError. `timeout_s` bounds each call with all its retries.

    Raises:
        AddressError: `bootstrap` is empty, or an address in it is not `host:port`.
    """

    def __init__(self, bootstrap: str | Iterable[str], *, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        named = bootstrap.split(",") if isinstance(bootstrap, str) else bootstrap
        self._controllers = Controllers(text.strip() for text in named)
        self._sender = RetryingSender(self._controllers)
        self._timeout_s = timeout_s

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection. Pending calls fail."""
        self._sender.close()
        await self._controllers.close()

    @property
    def seen_offset(self) -> Offset:
        """The highest image offset in a response. A read of at least this offset sees every write of this client."""
        return self._sender.seen_offset

    # --- topics

    async def create_topics(
        self,
        topics: Iterable[CreatableTopic],
        *,
        validate_only: bool = False,
        if_not_exists: bool = False,
        timeout_s: float | None = None,
    ) -> tuple[CreatableTopicResult, ...]:
        """Create topics, each independently of the others. Return one result for each, in order.

        `if_not_exists`: a topic that exists already is described, without an error; `error_message` says that it
        exists. This makes the request idempotent, so it is retried even if its outcome is unknown. A topic that this
        call itself created may therefore be reported as existing.
        """
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        request = CreateTopics(
            topics=several(topics, "topics"), timeout_ms=in_ms(timeout_s), validate_only=validate_only
        )
        response = await self._sender.ask(
            request, timeout_s=timeout_s, is_repeatable=if_not_exists or validate_only or None
        )
        results = _whole(response).topics
        return await self._with_existing(results, timeout_s) if if_not_exists else results

    async def create_topic(
        self,
        name: str,
        *,
        num_partitions: int = -1,
        replication_factor: int = -1,
        assignments: Sequence[CreatableReplicaAssignment] = (),
        configs: Iterable[tuple[str, str]] = (),
        validate_only: bool = False,
        if_not_exists: bool = False,
        timeout_s: float | None = None,
    ) -> CreatableTopicResult:
        """Create one topic. The controller chooses a number that is -1.

        Raises:
            TopicExistsError, InvalidTopicError, InvalidReplicationFactorError, RefusedError: the topic was rejected.
        """
        topic = CreatableTopic(
            name=name,
            num_partitions=num_partitions,
            replication_factor=replication_factor,
            assignments=tuple(assignments),
            configs=tuple(CreatableConfig(name=key, value=value) for key, value in configs),
        )
        (result,) = await self.create_topics(
            (topic,), validate_only=validate_only, if_not_exists=if_not_exists, timeout_s=timeout_s
        )
        if result.error is not Error.NONE:
            raise refused(result.error, result.error_message, f"topic {name}")
        return result

    async def delete_topics(
        self,
        names: Iterable[str] | None = None,
        *,
        topic_ids: Iterable[TopicId] | None = None,
        if_exists: bool = False,
        timeout_s: float | None = None,
    ) -> tuple[DeletableTopicResult, ...]:
        """Delete topics by name or by id. Return one result for each, names first.

        `if_exists`: a topic that does not exist is no error; `error_message` says so. The request is then retried even
        if its outcome is unknown. By name, a retry may delete a topic that was created in between.

        Raises:
            TypeError: neither names nor ids are given, or a bare name or id instead of a collection.
        """
        wanted, ids = _wanted(names, topic_ids)
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        named = tuple(DeleteTopicState(name=name) for name in wanted)
        by_id = tuple(DeleteTopicState(topic_id=topic_id) for topic_id in ids)
        request = DeleteTopics(topics=named + by_id, timeout_ms=in_ms(timeout_s))
        response = await self._sender.ask(request, timeout_s=timeout_s, is_repeatable=if_exists or None)
        results = _whole(response).topics
        if not if_exists:
            return results
        return tuple(
            msgspec.structs.replace(result, error=Error.NONE, error_message=result.error_message or "it is not there")
            if result.error in _UNKNOWN_TOPIC
            else result
            for result in results
        )

    async def delete_topic(
        self, name_or_id: str | TopicId, *, if_exists: bool = False, timeout_s: float | None = None
    ) -> DeletableTopicResult:
        """Delete one topic, by name (a str) or by id (bytes).

        Raises:
            UnknownTopicError, RefusedError: the topic was rejected.
        """
        if isinstance(name_or_id, str):
            what = f"topic {name_or_id}"
            results = await self.delete_topics((name_or_id,), if_exists=if_exists, timeout_s=timeout_s)
        else:
            what = f"topic id {id_text(name_or_id)}"
            results = await self.delete_topics(topic_ids=(name_or_id,), if_exists=if_exists, timeout_s=timeout_s)
        (result,) = results
        if result.error is not Error.NONE:
            raise refused(result.error, result.error_message, what)
        return result

    async def describe_topics(
        self,
        names: Iterable[str] | None = None,
        *,
        topic_ids: Iterable[TopicId] | None = None,
        all_topics: bool = False,
        at_least_offset: Offset | None = None,
        timeout_s: float | None = None,
    ) -> tuple[DescribedTopic, ...]:
        """Describe topics by name, by id, or all of them. An unknown topic has its `error` set.

        The read is linearizable: it sees every record that was committed before the call. That costs one round trip
        from the leader to a majority. With `at_least_offset`, any controller responds whose image reaches that offset.
        `seen_offset` as that offset reads this client's own writes, even without a leader.

        Raises:
            TypeError: neither names nor ids nor `all_topics` are given, or a bare name or id instead of a collection.
        """
        wanted, ids = _wanted(names, topic_ids, or_else=", or all_topics=True" if not all_topics else None)
        request = DescribeTopics(names=wanted, topic_ids=ids, all_topics=all_topics)
        offset = NO_OFFSET if at_least_offset is None else at_least_offset
        return _whole(await self._ask(request, timeout_s, offset)).topics

    # --- the quorum

    async def describe_quorum(
        self,
        *,
        address: str | None = None,
        timeout_s: float | None = None,
        until: Callable[[QuorumStatus], bool] | None = None,
    ) -> QuorumStatus:
        """Return the quorum as its leader sees it, or as another controller does if no leader responds.

        With `address`, that controller describes it. With `until`, the request is repeated until the condition holds,
        at most for the time of an election.
        """
        timeout_s = self._timeout_s if timeout_s is None else timeout_s

        async def look() -> QuorumStatus:
            if address is not None:
                return await describe_at(check_address(address), timeout_s)
            status = await describe_best(self._controllers.addresses, timeout_s)
            for node in status.nodes:
                self._controllers.learn(node.listeners)
            return status

        return await look() if until is None else await describe_until(look, until, timeout_s)

    async def change_voters(
        self, request: VoterChange, *, cluster_id: str | None = None, timeout_s: float | None = None
    ) -> Offset:
        """Have the leader add or remove a voter, or raise kraft.version. Return the offset of the record.

        The offset is -1 if no record was needed, or if only the voter set shows that the change was made.

        The request is retried within the timeout while it has no effect: no leader, another change under way,
        a new voter that lags. If the leader's response is lost, the client watches the voter set.

        Raises:
            RefusedError: DUPLICATE_VOTER, VOTER_NOT_FOUND, UNSUPPORTED_VERSION, INVALID_REQUEST, ...
        """
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        return await ask_leader(lambda: self._controllers.addresses, request, cluster_id, timeout_s)

    async def transfer_leadership(self, to: int | None = None, *, timeout_s: float | None = None) -> Transferred:
        """Transfer leadership to voter `to`, or to any other voter that has the whole log.

        A transfer loses no acknowledged write, and leaves no write with an unknown outcome. See
        `quorum.client.transfer` for the errors.
        """
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        return await transfer_leadership(self._controllers.addresses, to, timeout_s)

    async def unregister_controller(self, controller_id: int, *, timeout_s: float | None = None) -> None:
        """Remove the registration of a controller that is gone for good; a running one registers again.

        Raises:
            RefusedError: CONTROLLER_ID_NOT_REGISTERED; INVALID_REQUEST: it leads; UNSUPPORTED_VERSION: below 4.4-IV2.
        """
        request = UnregisterController(controller_id=controller_id)
        await self.ask(request, timeout_s=timeout_s)

    # --- brokers and controllers: errors are values in the response

    async def register_broker(
        self, request: RegisterBroker, *, timeout_s: float | None = None
    ) -> RegisterBrokerResponse:
        """Register a broker. A retry by the same incarnation gets the first response again."""
        return await self._ask(request, timeout_s)

    async def broker_heartbeat(
        self, request: BrokerHeartbeat, *, timeout_s: float | None = None
    ) -> BrokerHeartbeatResponse:
        """Send a broker's heartbeat."""
        return await self._ask(request, timeout_s)

    async def alter_partition(
        self, request: AlterPartition, *, timeout_s: float | None = None
    ) -> AlterPartitionResponse:
        """Change in-sync replicas. If the outcome is unknown, the metadata log shows it later."""
        return await self._ask(request, timeout_s)

    async def register_controller(
        self, request: RegisterController, *, timeout_s: float | None = None
    ) -> RegisterControllerResponse:
        """Register a controller."""
        return await self._ask(request, timeout_s)

    # --- any other request

    async def ask(
        self,
        request: Request[R],
        *,
        address: str | None = None,
        at_least_offset: Offset | None = None,
        timeout_s: float | None = None,
    ) -> R:
        """Return the response to any request to a controller.

        An error of the whole request is raised; errors of its items are values in the response.

        With `address`, the request goes to that controller, active or standby. It is a read, from an image of at least
        `at_least_offset`; by default, of at least `seen_offset`.
        """
        offset = NO_OFFSET if at_least_offset is None else at_least_offset
        if address is None:
            return _whole(await self._ask(request, timeout_s, offset))
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        offset = self.seen_offset if at_least_offset is None else at_least_offset
        return _whole(await ask_one(check_address(address), request, offset, timeout_s))

    async def _ask(self, request: Request[R], timeout_s: float | None, at_least_offset: Offset = NO_OFFSET) -> R:
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        return await self._sender.ask(request, timeout_s=timeout_s, at_least_offset=at_least_offset)

    async def _with_existing(
        self, results: tuple[CreatableTopicResult, ...], timeout_s: float
    ) -> tuple[CreatableTopicResult, ...]:
        """Return the results, with existing topics described instead of rejected."""
        names = [result.name for result in results if result.error is Error.TOPIC_ALREADY_EXISTS]
        if not names:
            return results
        found = {topic.name: topic for topic in await self.describe_topics(names, timeout_s=timeout_s)}
        return tuple(_as_it_is(result, found.get(result.name)) for result in results)


def _wanted(
    names: Iterable[str] | None, topic_ids: Iterable[TopicId] | None, *, or_else: str | None = ""
) -> tuple[tuple[str, ...], tuple[TopicId, ...]]:
    """Return the names and the ids as tuples.

    `or_else`: the rest of the error message, which names a third alternative; None if the caller has given that.
    """
    if names is None and topic_ids is None and or_else is not None:
        raise TypeError(f"no topics are given: pass names, topic_ids=...{or_else}")
    found = () if names is None else several(names, "names")
    return found, () if topic_ids is None else several(topic_ids, "topic ids")


def _as_it_is(result: CreatableTopicResult, topic: DescribedTopic | None) -> CreatableTopicResult:
    if result.error is not Error.TOPIC_ALREADY_EXISTS or topic is None or topic.error is not Error.NONE:
        return result
    return CreatableTopicResult(
        name=result.name,
        error=Error.NONE,
        error_message=result.error_message or f"Topic {result.name!r} already exists.",
        topic_id=topic.topic_id,
        num_partitions=len(topic.partitions),
        replication_factor=len(topic.partitions[0].replicas) if topic.partitions else 0,
    )


def _whole(response: R) -> R:
    """Return the response, or raise its error for the request as a whole."""
    if response.error is not Error.NONE:
        raise refused(response.error, response.error_message, type(response).__name__.removesuffix("Response"))
    return response
