"""The first records of an active controller, on an empty log and on one with other controllers' records."""

from __future__ import annotations

import pytest

from metadata_log.errors import InvariantViolation
from metadata_log.ids import METADATA_TOPIC_ID, TopicId
from metadata_log.image import MetadataImage
from metadata_log.offsets import Epoch
from metadata_log.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    MetadataRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from quorum.controller.config import ControllerConfig
from quorum.controller.machine import ControllerMachine
from tests.support.controller import CLUSTER_ID, ControlledCluster, Time, bootstrap, uuid

ID = TopicId(uuid(77))
BEGIN = BeginTransactionRecord(name="Bootstrap records")
END = EndTransactionRecord()
ABORT = AbortTransactionRecord(reason="Controller failover")
OWN_ID = TopicRecord(name="__cluster_metadata", topic_id=ID)
MINIMUM = ConfigRecord(resource_type=4, resource_name="", name="min.insync.replicas", value="1")


def activate(
    image: MetadataImage,
    values: tuple[MetadataRecord, ...] = (),
    *,
    open_transaction: bool = False,
    topic_id: TopicId = ID,
) -> tuple[MetadataRecord, ...]:
    machine = ControllerMachine(ControllerConfig(node_id=1, cluster_id=CLUSTER_ID))
    result = machine.activate(
        image,
        Time(),
        epoch=Epoch(3),
        bootstrap_values=values,
        open_transaction=open_transaction,
        metadata_topic_id=topic_id,
    )
    assert (machine.is_active, machine.epoch) == (True, 3)
    return result.records


def test_an_empty_log_begins_in_one_transaction_with_the_metadata_topics_own_id() -> None:
    values = bootstrap()
    assert activate(MetadataImage.empty(), values) == (BEGIN, *values, MINIMUM, OWN_ID, END)


def test_without_elr_no_cluster_wide_minimum_is_written() -> None:
    values = bootstrap(elr=False)
    assert activate(MetadataImage.empty(), values) == (BEGIN, *values, OWN_ID, END)


def test_a_minimum_among_the_bootstrap_records_stands() -> None:
    values = (*bootstrap(), ConfigRecord(resource_type=4, resource_name="", name="min.insync.replicas", value="2"))
    assert activate(MetadataImage.empty(), values) == (BEGIN, *values, OWN_ID, END)


def test_before_3_6_there_are_no_transactions() -> None:
    values = bootstrap(12, elr=False)
    assert activate(MetadataImage.empty(), values) == (*values, OWN_ID)


def test_a_bootstrap_that_was_cut_off_is_aborted_and_made_again() -> None:
    values = bootstrap()
    records = activate(MetadataImage.empty(), values, open_transaction=True)
    assert records == (ABORT, BEGIN, *values, MINIMUM, OWN_ID, END)


def test_a_log_that_has_everything_needs_nothing() -> None:
    cluster = ControlledCluster()
    assert activate(cluster.image) == ()


def test_an_open_transaction_is_aborted_first() -> None:
    cluster = ControlledCluster()
    assert activate(cluster.image, open_transaction=True) == (ABORT,)


def test_a_log_whose_metadata_topic_has_no_id_gets_one() -> None:
    cluster = ControlledCluster()
    own_id = cluster.image.topics.by_name["__cluster_metadata"]
    cluster.append((RemoveTopicRecord(topic_id=own_id),))
    assert activate(cluster.image) == (OWN_ID,)
    assert activate(cluster.image, open_transaction=True) == (ABORT, OWN_ID)


def test_the_own_id_may_not_be_the_sentinel_nor_another_topics() -> None:
    with pytest.raises(InvariantViolation, match="reserved"):
        activate(MetadataImage.empty(), bootstrap(), topic_id=METADATA_TOPIC_ID)
    cluster = ControlledCluster()
    cluster.start(11)
    other = cluster.create("other")
    cluster.append((RemoveTopicRecord(topic_id=cluster.image.topics.by_name["__cluster_metadata"]),))
    with pytest.raises(InvariantViolation, match="another"):
        activate(cluster.image, topic_id=other)


def test_an_empty_log_cannot_begin_without_a_metadata_version() -> None:
    with pytest.raises(InvariantViolation, match=r"metadata\.version"):
        activate(MetadataImage.empty(), ())
