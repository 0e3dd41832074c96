"""The plan for an agent's directories: KIP-516's rules, one by one."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from broker_agent.changes import TopicChanges
from broker_agent.journal import JOURNAL_FILE, Journal
from broker_agent.partitions import Partitions
from broker_agent.reconciler import Make, plan
from broker_agent.storage import PartitionDirectory, create, scan, staged_names
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.ids import (
    METADATA_TOPIC_ID,
    METADATA_TOPIC_NAME,
    UNASSIGNED_DIRECTORY_ID,
    NodeId,
    TopicId,
    id_text,
)
from metadata_log.offsets import Offset
from metadata_log.records import RemoveTopicRecord
from tests.support.image_records import directory, image_of, nodes, partition, topic, topic_id

BROKER = NodeId(1)
DIRS = {directory(1): "/data"}
OWN = topic(900, METADATA_TOPIC_NAME)
"""The metadata topic's own id: without one nothing is proven."""


def _held(topic_id: TopicId, partition: int) -> bool:
    return True


def _changed(*numbers: int, removed: tuple[int, ...] = ()) -> TopicChanges:
    gone = frozenset(map(topic_id, removed))
    return TopicChanges(changed=frozenset(map(topic_id, numbers)) | gone, removed=gone)


def _lies(name: str, index: int, number: int | TopicId | None, log_dir: str = "/data") -> PartitionDirectory:
    held = topic_id(number) if isinstance(number, int) else number
    return PartitionDirectory(log_dir=log_dir, topic=name, partition=index, topic_id=held)


def test_a_replica_without_a_directory_gets_one() -> None:
    second = partition(1, 1, replicas=nodes(2, 3, 1), directories=(directory(2), directory(3), directory(1)))
    image = image_of(topic(1, "orders"), partition(1, 0), second)
    made = plan(image, BROKER, DIRS, (), image.topics.by_id, _held).make
    assert made == (
        Make(log_dir="/data", topic="orders", partition=0, topic_id=topic_id(1)),
        Make(log_dir="/data", topic="orders", partition=1, topic_id=topic_id(1)),
    )


def test_a_replica_that_is_there_stays() -> None:
    image = image_of(topic(1, "orders"), partition(1))
    assert not plan(image, BROKER, DIRS, [_lies("orders", 0, 1)], image.topics.by_id, _held)


def test_a_deleted_topics_directory_is_staged() -> None:
    image = image_of(topic(1, "orders"), partition(1), RemoveTopicRecord(topic_id=topic_id(1)))
    todo = plan(image, BROKER, DIRS, [_lies("orders", 0, 1)], image.topics.by_id, _held)
    assert [stage.directory.name for stage in todo.stage] == ["orders-0"]
    assert not todo.make


def test_a_recreated_topics_old_directory_is_staged_before_the_new_one_is_made() -> None:
    image = image_of(
        topic(1, "orders"), partition(1), RemoveTopicRecord(topic_id=topic_id(1)), topic(2, "orders"), partition(2)
    )
    todo = plan(image, BROKER, DIRS, [_lies("orders", 0, 1)], image.topics.by_id, _held)
    assert [stage.directory.topic_id for stage in todo.stage] == [topic_id(1)]
    assert [make.topic_id for make in todo.make] == [topic_id(2)]


def test_a_replica_that_moved_away_is_staged() -> None:
    image = image_of(topic(1, "orders"), partition(1, replicas=nodes(2, 3), directories=(directory(2), directory(3))))
    todo = plan(image, BROKER, DIRS, [_lies("orders", 0, 1)], image.topics.by_id, _held)
    assert len(todo.stage) == 1
    assert not todo.make


@pytest.mark.parametrize("held", [None, METADATA_TOPIC_ID])
def test_what_cannot_be_understood_is_set_aside_and_never_staged(held: TopicId | None) -> None:
    image = image_of(topic(1, "orders"), partition(1))
    todo = plan(image, BROKER, DIRS, [_lies("orders", 0, held)], image.topics.by_id, _held)
    assert len(todo.set_aside) == 1
    assert not todo.stage
    assert len(todo.make) == 1


def test_a_partition_that_its_topic_has_not_is_set_aside_with_a_warning_and_never_staged() -> None:
    files = SimulatedFiles()
    files.mkdirs("/data")
    create(files, "/data", "orders", 77, topic_id(1))
    partitions = _partitions(files, [0])
    with capture_logs() as said:
        partitions.reconcile(image_of(topic(1, "orders"), partition(1)), _changed())
    assert not partitions.staged
    assert partitions.quarantined("/data") == [f"orders-77.{'0' * 32}-stray"]
    [told] = [line for line in said if line["event"] == "partition directory set aside, not deleted"]
    assert told["log_level"] == "warning"
    assert "topic 'orders' has 1 partition, and not this one" in told["why"]


def test_the_second_copy_of_a_replica_is_set_aside() -> None:
    image = image_of(topic(1, "orders"), partition(1))
    both = [_lies("orders", 0, 1), _lies("orders", 0, 1, "/data1")]
    todo = plan(image, BROKER, {**DIRS, directory(9): "/data1"}, both, image.topics.by_id, _held)
    assert [aside.directory.log_dir for aside in todo.set_aside] == ["/data1"]


def test_a_replica_lies_where_the_image_assigns_it_else_in_the_emptiest_directory() -> None:
    one = (UNASSIGNED_DIRECTORY_ID, directory(2), directory(3))
    image = image_of(
        topic(1, "a"),
        partition(1),
        topic(2, "b"),
        partition(2, directories=one),
        topic(3, "c"),
        partition(3, directories=one),
    )
    made = plan(image, BROKER, {**DIRS, directory(9): "/data1"}, (), image.topics.by_id, _held).make
    assert [(make.topic, make.log_dir) for make in made] == [("a", "/data"), ("b", "/data1"), ("c", "/data")]


def test_a_replica_of_a_directory_that_failed_waits() -> None:
    image = image_of(topic(1, "a"), partition(1))
    assert not plan(image, BROKER, {directory(9): "/data1"}, (), image.topics.by_id, _held)


def _partitions(files: SimulatedFiles, now: list[int], delay_ms: int = 1_000) -> Partitions:
    made = Partitions(
        files,
        BROKER,
        DIRS,
        Journal.open(files, "/data", BROKER, log_end=Offset(9), committed_end=Offset(9)),
        delete_delay_ms=delay_ms,
        wall_ms=lambda: now[0],
        monotonic_ms=lambda: now[0],
        new_token=lambda: bytes(16),
    )
    made.open()
    return made


def _judged_once(files: SimulatedFiles, now: list[int]) -> None:
    """An agent has run whose image assigned `orders-0`, of topic 1, to it."""
    files.mkdirs("/data")
    create(files, "/data", "orders", 0, topic_id(1))
    _partitions(files, now).reconcile(image_of(OWN, topic(1, "orders"), partition(1)), _changed())


def test_a_topic_deleted_and_made_again_while_the_agent_was_away() -> None:
    files, now = SimulatedFiles(), [10_000]
    _judged_once(files, now)
    partitions = _partitions(files, now)
    image = image_of(OWN, topic(2, "orders"), partition(2))
    partitions.reconcile(image, _changed())
    assert [(each.name, each.topic_id) for each in scan(files, "/data")[0]] == [("orders-0", topic_id(2))]
    assert [(each.name, each.remove_at_ms) for each in partitions.staged] == [(f"{id_text(topic_id(1))}_0", 11_000)]
    assert partitions.remove_due() == 1_000
    now[0] = 11_000
    assert partitions.remove_due() is None
    assert files.listdir("/data") == [JOURNAL_FILE, "orders-0"]


def test_what_is_staged_is_told_at_warning_with_the_time_of_its_removal_again_at_a_restart() -> None:
    files, now = SimulatedFiles(), [1_700_000_000_000]
    _judged_once(files, now)
    with capture_logs() as said:
        _partitions(files, now, delay_ms=14_400_000).reconcile(image_of(OWN), _changed())
        _partitions(files, now)
    told = [(line["log_level"], line["event"], line["remove_at"]) for line in said if "remove_at" in line]
    assert told == [
        ("warning", "stale partition staged for deletion", "2023-11-15T02:13:20.000Z"),
        ("warning", "stale partition waits for removal", "2023-11-15T02:13:20.000Z"),
    ]
    assert said[0]["partition"] == "orders-0"


def test_later_only_changed_topics_are_judged() -> None:
    files, now = SimulatedFiles(), [0]
    files.mkdirs("/data")
    partitions = _partitions(files, now)
    first = image_of(OWN, topic(1, "a"), partition(1), topic(2, "b"), partition(2))
    assert len(partitions.reconcile(first, _changed()).make) == 2
    second = image_of(RemoveTopicRecord(topic_id=topic_id(1)), base=first)
    todo = partitions.reconcile(second, _changed(1))
    assert [stage.directory.name for stage in todo.stage] == ["a-0"]
    assert [each.name for each in partitions.in_use] == ["b-0"]


def test_the_announced_time_outlives_a_restart() -> None:
    files, now = SimulatedFiles(), [1_000]
    _judged_once(files, now)
    _partitions(files, now).reconcile(image_of(OWN), _changed())
    now[0] = 1_500
    assert [each.remove_at_ms for each in _partitions(files, now, delay_ms=99_000).staged] == [2_000]
    assert len(staged_names(files, "/data")) == 1


def test_a_replica_that_another_broker_or_cluster_made_is_set_aside_and_never_staged() -> None:
    image = image_of(
        OWN, topic(1, "orders"), partition(1, replicas=nodes(2, 3), directories=(directory(2), directory(3)))
    )
    lies = [_lies("orders", 0, 1), _lies("foreign", 0, 77)]
    todo = plan(image, BROKER, DIRS, lies, image.topics.by_id, lambda topic_id, partition: False)
    assert not todo.stage
    assert [aside.directory.name for aside in todo.set_aside] == ["orders-0", "foreign-0"]
    assert all("nothing proves that this metadata log ever assigned it" in aside.why for aside in todo.set_aside)
