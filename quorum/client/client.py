"""The client: topics, and what brokers and controllers ask of the active controller.

Decides: what a caller gets for each answer. Must not know: where the active controller is, or how calls travel.

    async with Client(["c1:9094", "c2:9094"]) as client:
        created = await client.create_topic("events", num_partitions=3, replication_factor=1)
        print(id_text(created.topic_id))

Errors of one topic among many are values in its result; the methods for a single topic raise them.
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
from quorum.api.voter_messages import VoterRequest
from quorum.client.addresses import check_address
from quorum.client.arguments import in_ms, several
from quorum.client.ask_one import ask_one
from quorum.client.calls import Caller
from quorum.client.controllers import Controllers
from quorum.client.errors import refused
from quorum.client.quorum_status import QuorumStatus, describe_at, describe_best, describe_until
from quorum.client.transfer import Transferred, transfer_leadership
from quorum.client.voter_changes import ask_leader

DEFAULT_TIMEOUT_S: Final = 30.0
_UNKNOWN_TOPIC: Final = frozenset({Error.UNKNOWN_TOPIC_OR_PARTITION, Error.UNKNOWN_TOPIC_ID})

R = TypeVar("R", bound=Response)


class Client:
    """A client of one quorum; to be used in one event loop, by as many tasks as there are.

    Every method may raise UnavailableError, RefusedError, WrongListenerError and ClosedError; those that change
    something and cannot safely be asked twice also OutcomeUnknownError. `timeout_s` bounds each call as a whole.

    Raises:
        AddressError: `bootstrap` names none, or one is not `host:port`.
    """

    def __init__(self, bootstrap: str | Iterable[str], *, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        named = bootstrap.split(",") if isinstance(bootstrap, str) else bootstrap
        self._controllers = Controllers(text.strip() for text in named)
        self._caller = Caller(self._controllers)
        self._timeout_s = timeout_s

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection; calls that wait fail."""
        self._caller.close()
        await self._controllers.close()

    @property
    def seen_offset(self) -> Offset:
        """The end of the newest image that an answer told: reads at least this see all that this client wrote."""
        return self._caller.seen_offset

    # --- topics

    async def create_topics(
        self,
        topics: Iterable[CreatableTopic],
        *,
        validate_only: bool = False,
        if_not_exists: bool = False,
        timeout_s: float | None = None,
    ) -> tuple[CreatableTopicResult, ...]:
        """Create topics, each for itself; one result for each, in order.

        `if_not_exists`: a topic that is there already, whoever made it, is told as it is; its `error_message` says so,
        while its `error` is NONE. Then the request is safe to repeat, and is repeated where its outcome would be
        unknown: a topic that this very call made may come to be there already.
        """
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        request = CreateTopics(
            topics=several(topics, "topics"), timeout_ms=in_ms(timeout_s), validate_only=validate_only
        )
        response = await self._caller.ask(
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
        """Create one topic; numbers of -1 leave them to the controller.

        Raises:
            TopicExistsError, InvalidTopicError, InvalidReplicationFactorError, RefusedError: it was refused.
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
        """Delete topics by name or by id; one result for each, names first.

        `if_exists`: a topic that is not there is no error, and its `error_message` says so. Then the request is
        repeated where its outcome would be unknown. By name, that may delete a topic that was made meanwhile.

        Raises:
            TypeError: neither names nor ids are given, or one where a collection is meant.
        """
        wanted, ids = _wanted(names, topic_ids)
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        named = tuple(DeleteTopicState(name=name) for name in wanted)
        by_id = tuple(DeleteTopicState(topic_id=topic_id) for topic_id in ids)
        request = DeleteTopics(topics=named + by_id, timeout_ms=in_ms(timeout_s))
        response = await self._caller.ask(request, timeout_s=timeout_s, is_repeatable=if_exists or None)
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
            UnknownTopicError, RefusedError: it was refused.
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
        """Describe topics by name, by id, or all of them; unknown ones have their `error` set.

        Linearizable: what was committed when this was called is in the answer, whoever wrote it, at the cost of one
        round trip from the leader to a majority. With `at_least_offset` any controller answers whose image reaches that
        far; `seen_offset` reads this client's own writes, also while there is no leader.

        Raises:
            TypeError: neither names nor ids nor all are asked for, or one is given where a collection is meant.
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
        """The quorum as its leader sees it, or, where that cannot be reached, as another controller does.

        With `address`, as that controller sees it. With `until`, for as long as an election may take: until that holds.
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
        self, request: VoterRequest, *, cluster_id: str | None = None, timeout_s: float | None = None
    ) -> Offset:
        """Have the leader add or remove a voter, or raise kraft.version; the offset of the record, -1 where there is
        none, or where the voters alone tell that it was done.

        Asked again, for as long as the timeout allows, where nothing was done: no leader, another change under way, a
        new voter that is not caught up yet. Where the leader does not tell what was done, the voters are looked at.

        Raises:
            RefusedError: DUPLICATE_VOTER, VOTER_NOT_FOUND, UNSUPPORTED_VERSION, INVALID_REQUEST, ...
        """
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        return await ask_leader(lambda: self._controllers.addresses, request, cluster_id, timeout_s)

    async def transfer_leadership(self, to: int | None = None, *, timeout_s: float | None = None) -> Transferred:
        """Have the leader hand its leadership over to voter `to`, or to any other that has all of the log.

        No acknowledged write is lost by it, and none is left of unknown outcome. See `quorum.client.transfer` for what
        it may raise.
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

    # --- brokers and controllers: errors are values of the answer

    async def register_broker(
        self, request: RegisterBroker, *, timeout_s: float | None = None
    ) -> RegisterBrokerResponse:
        """Register a broker; a repeat by the same incarnation is answered as the first."""
        return await self._ask(request, timeout_s)

    async def broker_heartbeat(
        self, request: BrokerHeartbeat, *, timeout_s: float | None = None
    ) -> BrokerHeartbeatResponse:
        """Give a sign of life."""
        return await self._ask(request, timeout_s)

    async def alter_partition(
        self, request: AlterPartition, *, timeout_s: float | None = None
    ) -> AlterPartitionResponse:
        """Change in-sync replicas. Where the outcome is unknown, the metadata log will tell."""
        return await self._ask(request, timeout_s)

    async def register_controller(
        self, request: RegisterController, *, timeout_s: float | None = None
    ) -> RegisterControllerResponse:
        """Register a controller."""
        return await self._ask(request, timeout_s)

    # --- whatever else there is

    async def ask(
        self,
        request: Request[R],
        *,
        address: str | None = None,
        at_least_offset: Offset | None = None,
        timeout_s: float | None = None,
    ) -> R:
        """Return the response to any request of the controller's.

        Its error for the request as a whole is raised, those of its parts are values.

        With `address`, that controller is asked, whoever leads, and answers a read of the image that this client has
        seen, or of `at_least_offset`.
        """
        offset = NO_OFFSET if at_least_offset is None else at_least_offset
        if address is None:
            return _whole(await self._ask(request, timeout_s, offset))
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        offset = self.seen_offset if at_least_offset is None else at_least_offset
        return _whole(await ask_one(check_address(address), request, offset, timeout_s))

    async def _ask(self, request: Request[R], timeout_s: float | None, at_least_offset: Offset = NO_OFFSET) -> R:
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        return await self._caller.ask(request, timeout_s=timeout_s, at_least_offset=at_least_offset)

    async def _with_existing(
        self, results: tuple[CreatableTopicResult, ...], timeout_s: float
    ) -> tuple[CreatableTopicResult, ...]:
        """Those that were there already, told as they are."""
        names = [result.name for result in results if result.error is Error.TOPIC_ALREADY_EXISTS]
        if not names:
            return results
        found = {topic.name: topic for topic in await self.describe_topics(names, timeout_s=timeout_s)}
        return tuple(_as_it_is(result, found.get(result.name)) for result in results)


def _wanted(
    names: Iterable[str] | None, topic_ids: Iterable[TopicId] | None, *, or_else: str | None = ""
) -> tuple[tuple[str, ...], tuple[TopicId, ...]]:
    """Which topics are meant; `or_else`: what else could have been asked for, None where it was."""
    if names is None and topic_ids is None and or_else is not None:
        raise TypeError(f"say which topics: names, topic_ids=...{or_else}")
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
    """Return the response; its error for the request as a whole is raised."""
    if response.error is not Error.NONE:
        raise refused(response.error, response.error_message, type(response).__name__.removesuffix("Response"))
    return response
