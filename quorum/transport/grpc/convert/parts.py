"""Answers that are too large for one message, in parts.

Decides: what is too large, by a weight that is cheap to find, and which list an answer is divided by. Descriptions, and
what filters remove, may be longer than their requests; everything else is as large as its request was.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec

from quorum.api.acls import AclDeletionResult, DeleteAclsResponse, DescribeAclsResponse
from quorum.api.calls import ClientAnswer
from quorum.api.cluster import DescribeClusterResponse, DescribedBroker
from quorum.api.described_configs import DescribeConfigsResponse, DescribedResource
from quorum.api.quotas import DescribeClientQuotasResponse, DescribedQuota
from quorum.api.request import Response
from quorum.api.scram import DescribeUserScramCredentialsResponse
from quorum.api.topics import DescribedTopic, DescribeTopicsResponse

R = TypeVar("R", bound=Response)

PART_WEIGHT: Final = 10_000
"""Topics and partitions, or what is as large, in one message: some hundred bytes each, so that they stay far below the
limit of 9 MiB."""
_BYTES_OF_ONE: Final = 500
"""A config may have a value of 32 KiB, and each of what it falls back to as well."""
SINGLE_CALL_WEIGHT: Final = 4 * PART_WEIGHT
"""The most that the answer to a single call holds."""


class _Divided(msgspec.Struct, frozen=True):
    """The list that an answer is divided by, and how large one element of it is.

    `pieces_of` divides an element that is too large by itself, `piece_joined` puts a piece behind the one before it, or
    is None where it is none of it.
    """

    name: str
    weight_of: Callable[[Any], int]
    pieces_of: Callable[[Any], Iterable[Any]] = lambda element: (element,)
    piece_joined: Callable[[Any, Any], Any | None] = lambda before, piece: None


def _weight_of_topic(topic: DescribedTopic) -> int:
    return 1 + len(topic.partitions)


def _pieces_of_topic(topic: DescribedTopic) -> Iterator[DescribedTopic]:
    """Topics of the same name and id, each with the next of its partitions."""
    if len(topic.partitions) < PART_WEIGHT:
        yield topic
        return
    for at in range(0, len(topic.partitions), PART_WEIGHT - 1):
        yield msgspec.structs.replace(topic, partitions=topic.partitions[at : at + PART_WEIGHT - 1])


def _topic_joined(before: DescribedTopic, piece: DescribedTopic) -> DescribedTopic | None:
    """A topic that was asked for twice begins again with its first partition; a piece goes on behind the last."""
    is_one = before.topic_id == piece.topic_id and before.name == piece.name
    if not is_one or not before.partitions or not piece.partitions:
        return None
    if piece.partitions[0].partition_index <= before.partitions[-1].partition_index:
        return None
    return msgspec.structs.replace(before, partitions=before.partitions + piece.partitions)


def _weight_of_resource(resource: DescribedResource) -> int:
    return 1 + sum(
        1 + len(each.synonyms) + len(each.value or "") * (1 + len(each.synonyms)) // _BYTES_OF_ONE
        for each in resource.configs
    )


def _weight_of_deletion(result: AclDeletionResult) -> int:
    return 1 + len(result.matching)


def _weight_of_quota(quota: DescribedQuota) -> int:
    return 1 + len(quota.values)


def _weight_of_broker(broker: DescribedBroker) -> int:
    return 1 + len(broker.listeners) + len(broker.features) + len(broker.log_dirs)


def _one(_: object) -> int:
    return 1


_DIVIDED: Final[Mapping[type, _Divided]] = {
    DescribeTopicsResponse: _Divided("topics", _weight_of_topic, _pieces_of_topic, _topic_joined),
    DescribeConfigsResponse: _Divided("resources", _weight_of_resource),
    DescribeAclsResponse: _Divided("entries", _one),
    DescribeClientQuotasResponse: _Divided("entries", _weight_of_quota),
    DescribeClusterResponse: _Divided("brokers", _weight_of_broker),
    DescribeUserScramCredentialsResponse: _Divided("results", _one),
    DeleteAclsResponse: _Divided("results", _weight_of_deletion),
}

ANSWERED_LONG: Final = frozenset(kind.__name__.removesuffix("Response") for kind in _DIVIDED)
"""The names of the requests whose answers may be far longer than they are."""


def weight_of(response: Response | None) -> int:
    """How large the answer is, by the number of what stands in it."""
    divided = _DIVIDED.get(type(response))
    if divided is None:
        return 1 + len(getattr(response, "topics", ()))
    return 1 + sum(map(divided.weight_of, getattr(response, divided.name)))


def parts_of(answer: ClientAnswer[R]) -> Iterator[tuple[ClientAnswer[R], bool]]:
    """The parts in order, each with whether another follows. What cannot be divided is one part."""
    divided = _DIVIDED.get(type(answer.response))
    if divided is None:
        yield answer, False
        return
    part: list[Any] = []
    weight = 0
    for element in itertools.chain.from_iterable(map(divided.pieces_of, getattr(answer.response, divided.name))):
        adds = divided.weight_of(element)
        if part and weight + adds > PART_WEIGHT:
            yield _with(answer, divided.name, part), True
            part, weight = [], 0
        part.append(element)
        weight += adds
    yield _with(answer, divided.name, part), False


def _with(answer: ClientAnswer[R], name: str, elements: list[Any]) -> ClientAnswer[R]:
    response: Any = msgspec.structs.replace(answer.response, **{name: tuple(elements)})  # type: ignore[type-var]
    return msgspec.structs.replace(answer, response=response)


def joined(parts: list[ClientAnswer[R]]) -> ClientAnswer[R]:
    """One answer of its parts, which are in order."""
    last = parts[-1]
    divided = _DIVIDED.get(type(last.response))
    if divided is None:
        return last
    elements: list[Any] = []
    for part in parts:
        if type(part.response) is type(last.response):
            _join(divided, elements, getattr(part.response, divided.name))
    return _with(last, divided.name, elements)


def _join(divided: _Divided, elements: list[Any], more: tuple[Any, ...]) -> None:
    """Put the elements of the next part behind those so far: only its first can go on with what was divided."""
    whole = divided.piece_joined(elements[-1], more[0]) if elements and more else None
    if whole is not None:
        elements[-1] = whole
        more = more[1:]
    elements += more
