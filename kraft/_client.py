"""`Client` and `Admin` as programs see them: those of `quorum.client`, with topic ids that print as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec

from kraft._ids import TopicId
from metadata_log.ids import id_text
from metadata_log.offsets import Offset
from quorum import client
from quorum.api.error_codes import Error
from quorum.api.topics import CreatableTopic, CreatableTopicResult, DeletableTopicResult, DescribedTopic
from quorum.client.client import DEFAULT_TIMEOUT_S
from quorum.client.errors import refused

T = TypeVar("T", CreatableTopicResult, DeletableTopicResult, DescribedTopic)


def _with_public_ids(results: Iterable[T]) -> tuple[T, ...]:
    """Return the results with topic ids that print as text."""
    return tuple(msgspec.structs.replace(result, topic_id=TopicId(result.topic_id)) for result in results)


class Client(client.Client):
    __doc__ = client.Client.__doc__

    async def create_topics(
        self,
        topics: Iterable[CreatableTopic],
        *,
        validate_only: bool = False,
        if_not_exists: bool = False,
        timeout_s: float | None = None,
    ) -> tuple[CreatableTopicResult, ...]:
        results = await super().create_topics(
            topics, validate_only=validate_only, if_not_exists=if_not_exists, timeout_s=timeout_s
        )
        return _with_public_ids(results)

    async def delete_topics(
        self,
        names: Iterable[str] | None = None,
        *,
        topic_ids: Iterable[TopicId] | None = None,
        if_exists: bool = False,
        timeout_s: float | None = None,
    ) -> tuple[DeletableTopicResult, ...]:
        results = await super().delete_topics(names, topic_ids=topic_ids, if_exists=if_exists, timeout_s=timeout_s)
        return _with_public_ids(results)

    async def describe_topics(
        self,
        names: Iterable[str] | None = None,
        *,
        topic_ids: Iterable[TopicId] | None = None,
        all_topics: bool = False,
        at_least_offset: Offset | None = None,
        timeout_s: float | None = None,
    ) -> tuple[DescribedTopic, ...]:
        results = await super().describe_topics(
            names, topic_ids=topic_ids, all_topics=all_topics, at_least_offset=at_least_offset, timeout_s=timeout_s
        )
        return _with_public_ids(results)

    async def list_topics(
        self,
        *,
        exclude_internal: bool = False,
        at_least_offset: Offset | None = None,
        timeout_s: float | None = None,
    ) -> dict[str, TopicId]:
        """Return the id of every topic, by name; as consistent as `describe_topics`.

        `exclude_internal`: without the topics that a cluster makes for itself, such as `__consumer_offsets`.

        Raises:
            RefusedError: the controller rejects the description of a topic.
        """
        topics = await self.describe_topics(all_topics=True, at_least_offset=at_least_offset, timeout_s=timeout_s)
        found: dict[str, TopicId] = {}
        for topic in topics:
            if topic.name is None or topic.error is not Error.NONE:
                raise refused(topic.error, topic.error_message, f"topic {topic.name or id_text(topic.topic_id)}")
            if not (exclude_internal and topic.is_internal):
                found[topic.name] = topic.topic_id
        return found

    async def describe_quorum(
        self,
        *,
        address: str | None = None,
        timeout_s: float | None = None,
        until: Callable[[client.QuorumStatus], bool] | None = None,
    ) -> client.QuorumStatus:
        status = await super().describe_quorum(address=address, timeout_s=timeout_s, until=until)
        return msgspec.structs.replace(status, topic_id=TopicId(status.topic_id))


class Admin(client.Admin):
    __doc__ = client.Admin.__doc__

    def __init__(self, bootstrap: str | Iterable[str] | client.Client, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        """Over controllers' GRPC addresses, or over a client that exists; it keeps its own timeout."""
        known = bootstrap if isinstance(bootstrap, client.Client) else Client(bootstrap, timeout_s=timeout_s)
        super().__init__(known)

    async def list_topics(
        self,
        *,
        exclude_internal: bool = False,
        at_least_offset: Offset | None = None,
        timeout_s: float | None = None,
    ) -> dict[str, TopicId]:
        """Return the id of every topic, by name; see `Client.list_topics`."""
        found = await self.cluster(at_least_offset=at_least_offset, timeout_s=timeout_s)
        topics = {name: found.topic(name) for name in sorted(found.topics())}
        return {
            name: topic.topic_id
            for name, topic in topics.items()
            if topic is not None and not (exclude_internal and topic.is_internal)
        }

    async def describe_quorum(
        self, *, address: str | None = None, timeout_s: float | None = None
    ) -> client.QuorumStatus:
        """Return leader, voters and observers, as the leader or the controller at `address` sees them."""
        return await self._client.describe_quorum(address=address, timeout_s=timeout_s)
