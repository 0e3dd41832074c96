"""The results of `Admin`: one outcome for each item of a request, topics by their id or their name (KIP-516).

Decides: when the error of one item is raised. If a request names topics, the accessors by id return None; if it gives
ids, those by name do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from metadata_log.ids import ZERO_TOPIC_ID, TopicId
from quorum.api.error_codes import Error
from quorum.api.topics import CreatableTopicResult, DeletableTopicResult, DescribedTopic
from quorum.client.errors import RefusedError, refused
from quorum.client.topic_collection import TopicCollection, TopicIdCollection, TopicNameCollection

T = TypeVar("T", CreatableTopicResult, DeletableTopicResult, DescribedTopic)
K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class Outcome(Generic[V]):
    """The outcome of one item of a request, such as a topic. Read it like a finished `asyncio.Future`.

    Attributes:
        value: the controller's result; None if the item was rejected.
        error: the reason of the rejection, or None.
    """

    value: V | None = None
    error: RefusedError | None = None

    def result(self) -> V:
        """Return the controller's result.

        Raises:
            RefusedError: the item was rejected. TopicExistsError, UnknownTopicError and other subclasses say why.
        """
        if self.value is None:
            raise _of(self.error)
        return self.value

    def exception(self) -> RefusedError | None:
        """Return the reason of the rejection, or None."""
        return self.error


def outcome_of(value: V, error: Error, message: str | None, what: str) -> Outcome[V]:
    """Return the outcome of one item; `what` names the item in messages."""
    return Outcome(value=value) if error is Error.NONE else Outcome(error=refused(error, message, what))


class ItemResult(Protocol):
    """An answer about one of what was asked about."""

    @property
    def error(self) -> Error:
        """NONE, or why it was refused."""

    @property
    def error_message(self) -> str | None:
        """The same in words."""


A = TypeVar("A", bound=ItemResult)


def outcomes_of(told: Iterable[tuple[K, A]], text: Callable[[K], str]) -> dict[K, Outcome[A]]:
    """Return the outcome of each item by its key; `text` names a key in messages."""
    return {key: outcome_of(answer, answer.error, answer.error_message, text(key)) for key, answer in told}


class Results(Generic[K, V]):
    """The outcomes of a request by the item's key."""

    def __init__(self, outcomes: Mapping[K, Outcome[V]]) -> None:
        self._outcomes = outcomes

    def values(self) -> Mapping[K, Outcome[V]]:
        """Return the outcomes in the order of the request."""
        return self._outcomes

    def all(self) -> dict[K, V]:
        """Return the value of every item.

        Raises:
            RefusedError: the error of the first item that was rejected.
        """
        return _all(self._outcomes)


class _Results(Generic[T]):
    """The outcomes of topics, either by name or by id: exactly one of the two mappings exists."""

    def __init__(self, topics: TopicCollection, outcomes: Iterable[Outcome[T]]) -> None:
        """Take one outcome for each topic, in the order of `topics`."""
        self._names: dict[str, Outcome[T]] | None = None
        self._ids: dict[TopicId, Outcome[T]] | None = None
        if isinstance(topics, TopicNameCollection):
            self._names = dict(zip(topics.topic_names, outcomes, strict=True))
        elif isinstance(topics, TopicIdCollection):
            self._ids = dict(zip(topics.topic_ids, outcomes, strict=True))

    def topic_id_values(self) -> Mapping[TopicId, Outcome[T]] | None:
        """Return the outcomes by id, in the order of the request, or None if it named topics."""
        return self._ids

    def topic_name_values(self) -> Mapping[str, Outcome[T]] | None:
        """Return the outcomes by name, in the order of the request, or None if it gave ids."""
        return self._names

    def all_topic_ids(self) -> dict[TopicId, T] | None:
        """Return the values by id, or None if the request named topics.

        Raises:
            RefusedError: the error of the first topic that was rejected.
        """
        return None if self._ids is None else _all(self._ids)

    def all_topic_names(self) -> dict[str, T] | None:
        """Return the values by name, or None if the request gave ids.

        Raises:
            RefusedError: the error of the first topic that was rejected.
        """
        return None if self._names is None else _all(self._names)

    def all(self) -> None:
        """Raise the error of the first topic that was rejected, if any was.

        Raises:
            RefusedError: a topic was rejected.
        """
        self.all_topic_ids()
        self.all_topic_names()

    def topic_id(self, name: str) -> TopicId | None:
        """Return the id of the topic of that name, or None if the request gave ids.

        Raises:
            RefusedError: the topic was rejected.
            KeyError: the request has no topic of that name.
        """
        return None if self._names is None else self._named(name).topic_id

    def _named(self, name: str) -> T:
        names = self._names or {}
        if name not in names:
            raise KeyError(f"topic {name!r} was not in the request, only {', '.join(names) or 'none'}")
        return names[name].result()


class CreateTopicsResult(_Results[CreatableTopicResult]):
    """The outcomes of new topics, which have names only. Each accessor raises the errors of `topic_id`."""

    def topic_id(self, name: str) -> TopicId:
        """Return the new topic's id; zero after `validate_only`."""
        return self._named(name).topic_id

    def num_partitions(self, name: str) -> int:
        """Return the new topic's number of partitions."""
        return self._named(name).num_partitions

    def replication_factor(self, name: str) -> int:
        """Return the number of replicas of each partition of the new topic."""
        return self._named(name).replication_factor


class DeleteTopicsResult(_Results[DeletableTopicResult]):
    """The outcomes of deletions. Each value has both the topic's name and its id."""


class DescribeTopicsResult(_Results[DescribedTopic]):
    """The descriptions of topics. Each has both the topic's name and its id."""


def _of(error: RefusedError | None) -> RefusedError:
    if error is None:
        raise ValueError("an outcome has a value or an error")
    return error


def _all(outcomes: Mapping[K, Outcome[V]]) -> dict[K, V]:
    return {key: outcome.result() for key, outcome in outcomes.items()}


class Cluster:
    """An immutable view of all topics at one moment, without `__cluster_metadata`."""

    def __init__(self, topics: Iterable[DescribedTopic]) -> None:
        self._by_name = {topic.name: topic for topic in topics if topic.name is not None}
        self._names = {topic.topic_id: name for name, topic in self._by_name.items()}

    def topics(self) -> frozenset[str]:
        """Return the names of all topics."""
        return frozenset(self._by_name)

    def topic_ids(self) -> frozenset[TopicId]:
        """Return the ids of all topics."""
        return frozenset(self._names)

    def topic_id(self, name: str) -> TopicId:
        """Return the id of the topic of that name, or the zero id if it does not exist."""
        topic = self._by_name.get(name)
        return ZERO_TOPIC_ID if topic is None else topic.topic_id

    def topic_name(self, topic_id: TopicId) -> str | None:
        """Return the name of the topic of that id, or None if it does not exist."""
        return self._names.get(topic_id)

    def topic(self, name: str) -> DescribedTopic | None:
        """Return the description of the topic of that name, or None if it does not exist."""
        return self._by_name.get(name)
