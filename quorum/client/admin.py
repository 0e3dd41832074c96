"""Topics by name or by id, in the words of Kafka's Admin (KIP-516).

Decides: what is asked for a collection of topics, and which answer belongs to which of them. Must not know: where the
active controller is.

    async with Admin("c1:9094,c2:9094") as admin:
        created = await admin.create_topics([CreatableTopic(name="orders", num_partitions=3, replication_factor=1)])
        ids = TopicCollection.of_topic_ids([created.topic_id("orders")])
        await admin.delete_topics(ids)

One `await` is one request to the active controller; what concerns the request as a whole (nobody answers, its outcome
is unknown) is raised there. What concerns one topic is in the result, and is raised by who asks the result for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from metadata_log.ids import ZERO_TOPIC_ID, TopicId, id_text
from metadata_log.offsets import Offset
from quorum.client.admin_results import CreateTopicsResult, DeleteTopicsResult, DescribeTopicsResult, Outcome
from quorum.client.client import DEFAULT_TIMEOUT_S, Client
from quorum.client.cluster import Cluster
from quorum.client.errors import refused
from quorum.client.requests import CreatableTopic, CreatableTopicResult, DeletableTopicResult, DescribedTopic
from quorum.client.topic_collection import TopicCollection, TopicIdCollection, TopicNameCollection
from quorum.errors import Error

T = TypeVar("T", CreatableTopicResult, DeletableTopicResult, DescribedTopic)


class Admin:
    """Create, delete and describe topics of one quorum; to be used in one event loop, by as many tasks as there are.

    Every method raises what `Client` raises for a request as a whole: UnavailableError, RefusedError, ClosedError and,
    of those that change something, OutcomeUnknownError. `timeout_s` bounds each call.

    Raises:
        AddressError: `bootstrap` names none, or one is not `host:port`.
    """

    def __init__(self, bootstrap: str | Iterable[str] | Client, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        """Over controllers' GRPC addresses, or over a client that is there; that one keeps its own timeout."""
        self._client = bootstrap if isinstance(bootstrap, Client) else Client(bootstrap, timeout_s=timeout_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()

    async def create_topics(
        self, topics: Iterable[CreatableTopic], *, validate_only: bool = False, timeout_s: float | None = None
    ) -> CreateTopicsResult:
        """Create topics, each for itself; the result tells the id of each.

        Raises:
            ValueError: two of them have the same name.
        """
        by_name: dict[str, CreatableTopic] = {}
        for topic in topics:
            if by_name.setdefault(topic.name, topic) is not topic:
                raise ValueError(f"topic {topic.name!r} is there twice")

        async def ask(names: Sequence[str], _ids: Sequence[TopicId]) -> Sequence[CreatableTopicResult]:
            asked = (by_name[name] for name in names)
            return await self._client.create_topics(asked, validate_only=validate_only, timeout_s=timeout_s)

        collection = TopicCollection.of_topic_names(by_name)
        return CreateTopicsResult(collection, await _outcomes(collection, ask))

    async def delete_topics(self, topics: TopicCollection, *, timeout_s: float | None = None) -> DeleteTopicsResult:
        """Delete topics: gone with the commit, whether or not brokers answer.

        By id it is certain which topic is meant: another one of the same name may have taken its place.
        """

        async def ask(names: Sequence[str], ids: Sequence[TopicId]) -> Sequence[DeletableTopicResult]:
            return await self._client.delete_topics(names, topic_ids=ids, timeout_s=timeout_s)

        return DeleteTopicsResult(topics, await _outcomes(topics, ask))

    async def describe_topics(
        self, topics: TopicCollection, *, at_least_offset: Offset | None = None, timeout_s: float | None = None
    ) -> DescribeTopicsResult:
        """Describe topics, as consistently as `Client.describe_topics` does."""

        async def ask(names: Sequence[str], ids: Sequence[TopicId]) -> Sequence[DescribedTopic]:
            return await self._client.describe_topics(
                names, topic_ids=ids, at_least_offset=at_least_offset, timeout_s=timeout_s
            )

        return DescribeTopicsResult(topics, await _outcomes(topics, ask))

    async def cluster(self, *, at_least_offset: Offset | None = None, timeout_s: float | None = None) -> Cluster:
        """All topics with their ids, as they are now."""
        found = await self._client.describe_topics(
            all_topics=True, at_least_offset=at_least_offset, timeout_s=timeout_s
        )
        return Cluster(found)


async def _outcomes(
    topics: TopicCollection, ask: Callable[[Sequence[str], Sequence[TopicId]], Awaitable[Sequence[T]]]
) -> list[Outcome[T]]:
    """One for each of the topics, in order. What stands for "no name" or "no id" in a request is refused here."""
    names, ids = _keys(topics)
    sent_names = [name for name in names if name]
    sent_ids = [topic_id for topic_id in ids if topic_id != ZERO_TOPIC_ID]
    told = iter(await ask(sent_names, sent_ids) if sent_names or sent_ids else ())
    outcomes: list[Outcome[T]] = []
    for name in names:
        outcomes.append(_outcome(next(told), f"topic {name}") if name else _unspeakable("name", "''"))
    for topic_id in ids:
        text, is_null = id_text(topic_id), topic_id == ZERO_TOPIC_ID
        outcomes.append(_unspeakable("id", text) if is_null else _outcome(next(told), f"topic id {text}"))
    return outcomes


def _keys(topics: TopicCollection) -> tuple[Sequence[str], Sequence[TopicId]]:
    if isinstance(topics, TopicIdCollection):
        return (), topics.topic_ids
    if isinstance(topics, TopicNameCollection):
        return topics.topic_names, ()
    raise TypeError(f"{topics!r} is no TopicCollection: make one by of_topic_ids or of_topic_names")


def _outcome(told: T, what: str) -> Outcome[T]:
    if told.error is Error.NONE:
        return Outcome(value=told)
    return Outcome(error=refused(told.error, told.error_message, what))


def _unspeakable(kind: str, text: str) -> Outcome[Any]:
    why = "it stands for none in a request, so it was not asked for"
    return Outcome(error=refused(Error.INVALID_TOPIC_EXCEPTION, why, f"topic {kind} {text}"))
