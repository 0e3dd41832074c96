"""Division of responses that are too large for one message.

Decides: what is too large, by a weight that is cheap to compute, and by which list a response is divided. Only
descriptions, and the results of filters, can be much longer than their requests.
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
"""The most topics and partitions, or elements of similar size, in one message. At some hundred bytes each, they stay
far below 9 MiB."""
_BYTES_OF_ONE: Final = 500
"""The bytes that count as one element. A config's value may have 32 KiB, and so may each of its synonyms."""
SINGLE_CALL_WEIGHT: Final = 4 * PART_WEIGHT
"""The largest weight of the response to a single call."""


class _Divided(msgspec.Struct, frozen=True):
    """The list by which a response is divided, and the weight of its elements.

    `pieces_of` divides an element that is too large. `piece_joined` appends a piece to the one before it, or returns
    None if the piece begins another element.
    """

    name: str
    weight_of: Callable[[Any], int]
    pieces_of: Callable[[Any], Iterable[Any]] = lambda element: (element,)
    piece_joined: Callable[[Any, Any], Any | None] = lambda before, piece: None


def _weight_of_topic(topic: DescribedTopic) -> int:
    return 1 + len(topic.partitions)


def _pieces_of_topic(topic: DescribedTopic) -> Iterator[DescribedTopic]:
    """Yield topics of the same name and id, each with the next range of partitions."""
    if len(topic.partitions) < PART_WEIGHT:
        yield topic
        return
    for at in range(0, len(topic.partitions), PART_WEIGHT - 1):
        yield msgspec.structs.replace(topic, partitions=topic.partitions[at : at + PART_WEIGHT - 1])


def _topic_joined(before: DescribedTopic, piece: DescribedTopic) -> DescribedTopic | None:
    """Return the joined topic, or None if `piece` begins a topic. A topic that was requested twice restarts at its
    first partition."""
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
"""The names of the requests whose responses may be far longer than the requests."""


def weight_of(response: Response | None) -> int:
    """Return the weight of the response: the number of its elements."""
    divided = _DIVIDED.get(type(response))
    if divided is None:
        return 1 + len(getattr(response, "topics", ()))
    return 1 + sum(map(divided.weight_of, getattr(response, divided.name)))


def parts_of(answer: ClientAnswer[R]) -> Iterator[tuple[ClientAnswer[R], bool]]:
    """Yield the parts in order, each with True if another follows. A response that cannot be divided is one part."""
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
    """Return the whole answer, given its parts in order."""
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
    """Append the elements of the next part. Only its first element can continue a divided one."""
    whole = divided.piece_joined(elements[-1], more[0]) if elements and more else None
    if whole is not None:
        elements[-1] = whole
        more = more[1:]
    elements += more
