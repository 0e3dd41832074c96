"""The partitions that each report of `kraft topics describe` means; and the lines in Kafka's format."""

from __future__ import annotations

from typing import Any

import pytest

from metadata_log.ids import TopicId, id_text
from quorum.api.described_configs import DescribedConfig
from quorum.api.error_codes import Error
from quorum.api.topics import ConfigSource, DescribedPartition, DescribedTopic
from quorum.cli.errors import CliError
from quorum.cli.topic_reports import Entries, Report, kafka_lines, report_of, reported

ID = TopicId(b"orders".ljust(16))


def partition(index: int, leader: int, isr: tuple[int, ...], **more: tuple[int, ...]) -> DescribedPartition:
    fields: dict[str, Any] = {
        "replicas": (11, 12, 13),
        "eligible_leader_replicas": (),
        "last_known_elr": (),
        "offline_replicas": (),
        **more,
    }
    return DescribedPartition(
        partition_index=index, leader_id=leader, leader_epoch=0, partition_epoch=0, isr=isr, **fields
    )


ORDERS = DescribedTopic(
    error=Error.NONE,
    name="orders",
    topic_id=ID,
    partitions=(
        partition(0, 11, (11, 12, 13)),
        partition(1, 12, (12, 11)),
        partition(2, 13, (13,), eligible_leader_replicas=(12,), offline_replicas=(11, 12)),
        partition(3, -1, (), eligible_leader_replicas=(12,), last_known_elr=(11,), offline_replicas=(11, 12, 13)),
        partition(4, 11, (11, 12), adding_replicas=(13,), offline_replicas=(11,)),
        partition(5, 11, (11, 12), adding_replicas=(13,), removing_replicas=(12,)),
    ),
)


def config(name: str, value: str, source: ConfigSource) -> DescribedConfig:
    return DescribedConfig(name=name, value=value, source=source, kind=2)


CONFIGS: Entries = {
    "orders": (
        config("retention.ms", "7", ConfigSource.DYNAMIC_TOPIC_CONFIG),
        config("min.insync.replicas", "2", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        config("flush.ms", "9", ConfigSource.DEFAULT_CONFIG),
    ),
    "plain": (config("min.insync.replicas", "1", ConfigSource.DEFAULT_CONFIG),),
}


@pytest.mark.parametrize(
    ("report", "indexes"),
    [
        (Report.UNDER_REPLICATED, [1, 2, 3]),
        (Report.UNAVAILABLE, [3, 4]),
        (Report.UNDER_MIN_ISR, [2, 3]),
        (Report.AT_MIN_ISR, [1, 4, 5]),
    ],
)
def test_partitions_that_a_report_means(report: Report, indexes: list[int]) -> None:
    (topic,) = reported([ORDERS], report, CONFIGS)
    assert [each.partition_index for each in topic.partitions] == indexes


def test_a_topic_without_such_partitions_is_left_out() -> None:
    healthy = DescribedTopic(error=Error.NONE, name="plain", topic_id=ID, partitions=(partition(0, 11, (11, 12, 13)),))
    assert [reported([healthy], report, CONFIGS) for report in Report] == [[]] * len(Report)
    assert reported([healthy, ORDERS], None, {}) == [healthy, ORDERS]


def test_overrides_are_of_the_topic_and_of_brokers() -> None:
    plain = DescribedTopic(error=Error.NONE, name="plain", topic_id=ID)
    assert reported([ORDERS, plain], Report.OVERRIDES, CONFIGS) == [ORDERS]


def test_configs_that_are_not_known() -> None:
    for report in (Report.UNDER_MIN_ISR, Report.AT_MIN_ISR, Report.OVERRIDES):
        with pytest.raises(CliError, match="the configs of topic orders are not known"):
            reported([ORDERS], report, {"orders": None})
    assert reported([ORDERS], Report.UNAVAILABLE, {"orders": None})


def test_one_report_at_a_time() -> None:
    assert report_of(False, False, False, False, False) is None
    assert [report_of(*(each is one for each in Report)) for one in Report] == list(Report)
    with pytest.raises(CliError, match="--unavailable-partitions and --at-min-isr-partitions are two reports"):
        report_of(False, True, False, True, False)


def test_lines_are_those_of_kafka_topics() -> None:
    lines = list(kafka_lines(ORDERS, None, CONFIGS))
    assert lines[0] == (
        f"Topic: orders\tTopicId: {id_text(ID)}\tPartitionCount: 6\tReplicationFactor: 3\t"
        "Configs: min.insync.replicas=2,retention.ms=7"
    )
    assert lines[3] == (
        "\tTopic: orders\tPartition: 2\tLeader: 13\tReplicas: 11,12,13\tIsr: 13\tElr: 12\tLastKnownElr: "
    )
    assert lines[4] == (
        "\tTopic: orders\tPartition: 3\tLeader: none\tReplicas: 11,12,13\tIsr: \tElr: 12\tLastKnownElr: 11"
    )
    assert lines[6] == (
        "\tTopic: orders\tPartition: 5\tLeader: 11\tReplicas: 11,12,13\tIsr: 11,12\tAdding Replicas: 13\t"
        "Removing Replicas: 12\tElr: \tLastKnownElr: "
    )
    assert list(kafka_lines(ORDERS, Report.OVERRIDES, CONFIGS)) == lines[:1]
    assert list(kafka_lines(ORDERS, Report.UNAVAILABLE, CONFIGS)) == lines[1:]
