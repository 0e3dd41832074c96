"""What `Admin` answers: an outcome for each of what was asked about, topics by the id or the name asked for (KIP-516).

Decides: when an error of one of them is raised. Of topics, every accessor that belongs to the other way of asking is
None: asked by names there is nothing by id, and the other way round.
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
    """What became of one topic, or whatever was asked about; read as a finished `asyncio.Future` is: `result()` or
    `exception()`.

    Attributes:
        value: the controller's answer about it; None where it was refused.
        error: why it was refused; None where it was not.
    """

    value: V | None = None
    error: RefusedError | None = None

    def result(self) -> V:
        """The answer about it.

        Raises:
            RefusedError: it was refused; TopicExistsError, UnknownTopicError, ... where there is such a class.
        """
        if self.value is None:
            raise _of(self.error)
        return self.value

    def exception(self) -> RefusedError | None:
        """Why it was refused; None where it was not."""
        return self.error


def outcome_of(value: V, error: Error, message: str | None, what: str) -> Outcome[V]:
    """The outcome of an answer; `what` was asked about, in words."""
    return Outcome(value=value) if error is Error.NONE else Outcome(error=refused(error, message, what))


class Told(Protocol):
    """An answer about one of what was asked about."""

    @property
    def error(self) -> Error:
        """NONE, or why it was refused."""

    @property
    def error_message(self) -> str | None:
        """The same in words."""


A = TypeVar("A", bound=Told)


def outcomes_of(told: Iterable[tuple[K, A]], text: Callable[[K], str]) -> dict[K, Outcome[A]]:
    """The outcomes of these answers, by what was asked about; `text` says it in words."""
    return {key: outcome_of(answer, answer.error, answer.error_message, text(key)) for key, answer in told}


class Results(Generic[K, V]):
    """Outcomes by what was asked about."""

    def __init__(self, outcomes: Mapping[K, Outcome[V]]) -> None:
        self._outcomes = outcomes

    def values(self) -> Mapping[K, Outcome[V]]:
        """The outcome of each, in the order in which they were asked about."""
        return self._outcomes

    def all(self) -> dict[K, V]:
        """The answer about each.

        Raises:
            RefusedError: of the first that was refused.
        """
        return _all(self._outcomes)


class _Results(Generic[T]):
    """Outcomes by name or by id: exactly one of the two is there."""

    def __init__(self, topics: TopicCollection, outcomes: Iterable[Outcome[T]]) -> None:
        """`outcomes`: one for each of the topics, in their order."""
        self._names: dict[str, Outcome[T]] | None = None
        self._ids: dict[TopicId, Outcome[T]] | None = None
        if isinstance(topics, TopicNameCollection):
            self._names = dict(zip(topics.topic_names, outcomes, strict=True))
        elif isinstance(topics, TopicIdCollection):
            self._ids = dict(zip(topics.topic_ids, outcomes, strict=True))

    def topic_id_values(self) -> Mapping[TopicId, Outcome[T]] | None:
        """The outcome of each id that was asked for, in order; None where names were."""
        return self._ids

    def topic_name_values(self) -> Mapping[str, Outcome[T]] | None:
        """The outcome of each name that was asked for, in order; None where ids were."""
        return self._names

    def all_topic_ids(self) -> dict[TopicId, T] | None:
        """The answer about each id; None where names were asked for.

        Raises:
            RefusedError: of the first that was refused.
        """
        return None if self._ids is None else _all(self._ids)

    def all_topic_names(self) -> dict[str, T] | None:
        """The answer about each name; None where ids were asked for.

        Raises:
            RefusedError: of the first that was refused.
        """
        return None if self._names is None else _all(self._names)

    def all(self) -> None:
        """Nothing, if none was refused.

        Raises:
            RefusedError: of the first that was refused.
        """
        self.all_topic_ids()
        self.all_topic_names()

    def topic_id(self, name: str) -> TopicId | None:
        """The id of the topic of that name; None where ids were asked for.

        Raises:
            RefusedError: it was refused.
            KeyError: no topic of that name was asked for.
        """
        return None if self._names is None else self._named(name).topic_id

    def _named(self, name: str) -> T:
        names = self._names or {}
        if name not in names:
            raise KeyError(f"no topic {name!r} was asked for, but {', '.join(names) or 'none'}")
        return names[name].result()


class CreateTopicsResult(_Results[CreatableTopicResult]):
    """What became of new topics, which have names only. Each accessor raises as `topic_id` does."""

    def topic_id(self, name: str) -> TopicId:
        """The id that the topic was given; zero after `validate_only`."""
        return self._named(name).topic_id

    def num_partitions(self, name: str) -> int:
        """How many partitions the topic was given."""
        return self._named(name).num_partitions

    def replication_factor(self, name: str) -> int:
        """How many replicas each partition was given."""
        return self._named(name).replication_factor


class DeleteTopicsResult(_Results[DeletableTopicResult]):
    """What became of topics to delete; the answer about each has its name and its id, whichever was asked for."""


class DescribeTopicsResult(_Results[DescribedTopic]):
    """Descriptions; each has the topic's name and its id, whichever was asked for."""


def _of(error: RefusedError | None) -> RefusedError:
    if error is None:
        raise ValueError("an outcome has a value or an error")
    return error


def _all(outcomes: Mapping[K, Outcome[V]]) -> dict[K, V]:
    return {key: outcome.result() for key, outcome in outcomes.items()}


class Cluster:
    """Immutable: what comes later is in the next one. `__cluster_metadata` is never among its topics."""

    def __init__(self, topics: Iterable[DescribedTopic]) -> None:
        self._by_name = {topic.name: topic for topic in topics if topic.name is not None}
        self._names = {topic.topic_id: name for name, topic in self._by_name.items()}

    def topics(self) -> frozenset[str]:
        """Every topic's name."""
        return frozenset(self._by_name)

    def topic_ids(self) -> frozenset[TopicId]:
        """Every topic's id."""
        return frozenset(self._names)

    def topic_id(self, name: str) -> TopicId:
        """The id of the topic of that name; the zero id where there is none."""
        topic = self._by_name.get(name)
        return ZERO_TOPIC_ID if topic is None else topic.topic_id

    def topic_name(self, topic_id: TopicId) -> str | None:
        """The name of the topic of that id; None where there is none."""
        return self._names.get(topic_id)

    def topic(self, name: str) -> DescribedTopic | None:
        """The description of the topic of that name; None where there is none."""
        return self._by_name.get(name)
