"""Answers that are too large for one message, in parts.

Decides: what is too large, by a weight that is cheap to find. Only DescribeTopics is ever answered with more than its
request held; everything else is as large as its request was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from quorum.controller.requests import DescribedTopic, DescribeTopicsResponse
from quorum.node.ports import ClientAnswer

PART_WEIGHT: Final = 10_000
"""Topics and partitions in one message: some hundred bytes each, so that they stay far below the limit of 9 MiB."""
SINGLE_CALL_WEIGHT: Final = 4 * PART_WEIGHT
"""The most that the answer to a single call holds."""


def weight_of(response: object) -> int:
    """How large the answer is, by the number of its topics and partitions."""
    if type(response) is DescribeTopicsResponse:
        return 1 + sum(_weight_of(topic) for topic in response.topics)
    return 1 + len(getattr(response, "topics", ()))


def _weight_of(topic: DescribedTopic) -> int:
    return 1 + len(topic.partitions)


def parts_of(answer: ClientAnswer) -> Iterator[tuple[ClientAnswer, bool]]:
    """The parts in order, each with whether another follows. What cannot be divided is one part."""
    response = answer.response
    if type(response) is not DescribeTopicsResponse:
        yield answer, False
        return
    part: list[DescribedTopic] = []
    weight = 0
    for topic in response.topics:
        if part and weight + _weight_of(topic) > PART_WEIGHT:
            yield _with_topics(answer, response, part), True
            part, weight = [], 0
        part.append(topic)
        weight += _weight_of(topic)
    yield _with_topics(answer, response, part), False


def _with_topics(answer: ClientAnswer, response: DescribeTopicsResponse, topics: list[DescribedTopic]) -> ClientAnswer:
    return msgspec.structs.replace(answer, response=msgspec.structs.replace(response, topics=tuple(topics)))


def joined(parts: list[ClientAnswer]) -> ClientAnswer:
    """One answer of its parts, which are in order."""
    last = parts[-1]
    if not isinstance(last.response, DescribeTopicsResponse):
        return last
    described = [part.response for part in parts if isinstance(part.response, DescribeTopicsResponse)]
    topics = [topic for response in described for topic in response.topics]
    return _with_topics(last, last.response, topics)
