"""Additional partitions for topics (KIP-195), in the terms of Kafka's Admin.

Must not know: which brokers get the new replicas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from quorum.api.partition_counts import CreatePartitions, GrowingTopic, GrownTopic
from quorum.client.admin_results import Results, outcomes_of
from quorum.client.arguments import in_ms
from quorum.client.client import DEFAULT_TIMEOUT_S, Client


@dataclass(frozen=True)
class NewPartitions:
    """The number of partitions that a topic is to have.

    Attributes:
        total_count: the number of partitions afterwards, existing ones included.
        new_assignments: the brokers of each new partition, the preferred leader first. None: the controller chooses.
    """

    total_count: int
    new_assignments: tuple[tuple[int, ...], ...] | None = None


class CreatePartitionsResult(Results[str, GrownTopic]):
    """The outcome of each topic, by name."""


async def create_partitions(
    client: Client, new_partitions: Mapping[str, NewPartitions], *, validate_only: bool, timeout_s: float | None
) -> CreatePartitionsResult:
    """See `Admin.create_partitions`."""
    topics = tuple(
        GrowingTopic(name=name, count=new.total_count, assignments=new.new_assignments)
        for name, new in new_partitions.items()
    )
    timeout_ms = in_ms(DEFAULT_TIMEOUT_S if timeout_s is None else timeout_s)
    request = CreatePartitions(topics=topics, timeout_ms=timeout_ms, validate_only=validate_only)
    response = await client.ask(request, timeout_s=timeout_s)
    told = zip(new_partitions, response.topics, strict=True)
    return CreatePartitionsResult(outcomes_of(told, lambda name: f"topic {name}"))
