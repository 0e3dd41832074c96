"""The reports of `kraft topics describe`, and its lines in Kafka's own format.

Decides: which partitions each report of kafka-topics includes, and how kafka-topics prints them. Source: TopicCommand
of Kafka 4.4.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from metadata_log.ids import id_text
from quorum.cli.errors import CliError, wrong_use
from quorum.cli.output import as_asked

if TYPE_CHECKING:
    from quorum.api.described_configs import DescribedConfig
    from quorum.api.topics import DescribedPartition, DescribedTopic

_MIN_ISR: Final = "min.insync.replicas"
_DEFAULT: Final = "DEFAULT_CONFIG"
_TAB: Final = "\t"

Entries = Mapping[str, "tuple[DescribedConfig, ...] | None"]
"""All configs of each topic, by the topic's name; None if they are unknown."""


class DescribeFormat(enum.StrEnum):
    """The values of `-o`."""

    TABLE = "table"
    JSON = "json"
    KAFKA = "kafka"


DescribeOutput = Annotated[
    DescribeFormat,
    typer.Option(
        "-o",
        "--output",
        help="table for people, json for programs, kafka for the lines of kafka-topics.",
        case_sensitive=False,
        callback=as_asked,
    ),
]


class Report(enum.StrEnum):
    """A report, by the option that asks for it."""

    UNDER_REPLICATED = "--under-replicated-partitions"
    UNAVAILABLE = "--unavailable-partitions"
    UNDER_MIN_ISR = "--under-min-isr-partitions"
    AT_MIN_ISR = "--at-min-isr-partitions"
    OVERRIDES = "--topics-with-overrides"


NONE_FOUND: Final = {
    Report.UNDER_REPLICATED: "No partition is under-replicated.",
    Report.UNAVAILABLE: "Every partition has a leader that is alive.",
    Report.UNDER_MIN_ISR: "No partition has fewer replicas in sync than its min.insync.replicas.",
    Report.AT_MIN_ISR: "No partition has exactly its min.insync.replicas in sync.",
    Report.OVERRIDES: "No topic has a config that is not a default.",
}

UnderReplicated = Annotated[
    bool, typer.Option(Report.UNDER_REPLICATED.value, help="Only partitions with a replica that is not in sync.")
]
Unavailable = Annotated[
    bool, typer.Option(Report.UNAVAILABLE.value, help="Only partitions whose leader is gone, or that have none.")
]
UnderMinIsr = Annotated[
    bool,
    typer.Option(
        Report.UNDER_MIN_ISR.value, help="Only partitions with fewer replicas in sync than min.insync.replicas."
    ),
]
AtMinIsr = Annotated[
    bool,
    typer.Option(Report.AT_MIN_ISR.value, help="Only partitions with exactly min.insync.replicas in sync."),
]
WithOverrides = Annotated[
    bool,
    typer.Option(
        Report.OVERRIDES.value,
        help="Only topics with a config that is not a default: set for the topic, for brokers, or in a file.",
    ),
]


def report_of(*asked: bool) -> Report | None:
    """Return the requested report, or None. There is one flag for each `Report`, in order.

    Raises:
        CliError: more than one is requested.
    """
    reports = [report for report, is_asked in zip(Report, asked, strict=True) if is_asked]
    if len(reports) > 1:
        raise wrong_use(f"{reports[0]} and {reports[1]} are two reports: ask for one at a time")
    return reports[0] if reports else None


def reported(topics: Iterable[DescribedTopic], report: Report | None, entries: Entries) -> list[DescribedTopic]:
    """Return the topics that a report includes, each with the partitions that it includes.

    Raises:
        CliError: the report needs a topic's configs, which are unknown.
    """
    if report is None:
        return list(topics)
    if report is Report.OVERRIDES:
        return [topic for topic in topics if overrides(_known(topic, entries))]
    found = []
    for topic in topics:
        meant = tuple(each for each in topic.partitions if _is_meant(each, topic, report, entries))
        if meant:
            found.append(msgspec.structs.replace(topic, partitions=meant))
    return found


def _is_meant(partition: DescribedPartition, topic: DescribedTopic, report: Report, entries: Entries) -> bool:
    if report is Report.UNDER_REPLICATED:
        return replication_factor(partition) > len(partition.isr)
    has_leader = partition.leader_id >= 0
    if report is Report.UNAVAILABLE:
        return not has_leader or partition.leader_id in partition.offline_replicas
    least = _min_isr(_known(topic, entries))
    if report is Report.UNDER_MIN_ISR:
        return not has_leader or len(partition.isr) < least
    return len(partition.isr) == least


def replication_factor(partition: DescribedPartition) -> int:
    """Return the number of replicas without those that a reassignment adds."""
    return len(partition.replicas) - len(partition.adding_replicas)


def overrides(entries: Iterable[DescribedConfig]) -> dict[str, str | None]:
    """Return the configs that are not defaults, by name, from every source."""
    return {config.name: config.value for config in entries if config.source.name != _DEFAULT}


def _min_isr(entries: Iterable[DescribedConfig]) -> int:
    return next(int(config.value) for config in entries if config.name == _MIN_ISR and config.value is not None)


def _known(topic: DescribedTopic, entries: Entries) -> tuple[DescribedConfig, ...]:
    found = entries.get(topic.name or "")
    if found is None:
        raise CliError(
            f"the configs of topic {topic.name} are not known: it is gone, or you lack the right to see them"
        )
    return found


def kafka_lines(topic: DescribedTopic, report: Report | None, entries: Entries) -> Iterator[str]:
    """Yield the lines of a topic and its partitions as kafka-topics prints them; configs are sorted by name.

    A report of partitions has no line of the topic, and the report of topics has none of partitions.

    Raises:
        CliError: the topic's configs are unknown.
    """
    if report in (None, Report.OVERRIDES):
        configs = ",".join(f"{name}={value}" for name, value in sorted(overrides(_known(topic, entries)).items()))
        factor = replication_factor(topic.partitions[0]) if topic.partitions else 0
        fields = {
            "Topic": topic.name,
            "TopicId": id_text(topic.topic_id),
            "PartitionCount": len(topic.partitions),
            "ReplicationFactor": factor,
            "Configs": configs,
        }
        yield _TAB.join(f"{name}: {value}" for name, value in fields.items())
    if report is not Report.OVERRIDES:
        for partition in topic.partitions:
            yield _TAB + _TAB.join(f"{name}: {value}" for name, value in _partition_fields(topic, partition).items())


def _partition_fields(topic: DescribedTopic, partition: DescribedPartition) -> dict[str, object]:
    adding, removing = partition.adding_replicas, partition.removing_replicas
    moves = {"Adding Replicas": _ids(adding), "Removing Replicas": _ids(removing)} if adding or removing else {}
    return {
        "Topic": topic.name,
        "Partition": partition.partition_index,
        "Leader": partition.leader_id if partition.leader_id >= 0 else "none",
        "Replicas": _ids(partition.replicas),
        "Isr": _ids(partition.isr),
        **moves,
        "Elr": _ids(partition.eligible_leader_replicas),
        "LastKnownElr": _ids(partition.last_known_elr),
    }


def _ids(brokers: Iterable[int]) -> str:
    return ",".join(map(str, brokers))
