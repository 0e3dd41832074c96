"""Verdicts on partition directories: each kind, and the directories of a real broker that came back too late."""

from __future__ import annotations

import json

import pytest

from metadata_log.ids import (
    LOST_DIRECTORY_ID,
    METADATA_TOPIC_ID,
    UNASSIGNED_DIRECTORY_ID,
    ZERO_TOPIC_ID,
    NodeId,
    TopicId,
    id_text,
    parse_topic_id,
)
from metadata_log.reconcile import DirectoryFacts, Kind, facts_of, judge
from tests.support.image_logs import FIXTURES, final_image
from tests.support.image_records import directory, image_of, partition, topic, topic_id

IMAGE = image_of(topic(1, "orders"), partition(1), partition(1, 1), topic(2, "a-b-3"), partition(2))
HEX = "0123456789abcdef0123456789abcdef"


def _judge(name: str, of: TopicId | None, broker_id: int = 1, disk: int | None = 1) -> tuple[Kind, str]:
    verdict = judge(facts_of(name, of), IMAGE, NodeId(broker_id), None if disk is None else directory(disk))
    return verdict.kind, verdict.why


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("orders-0", ("orders", 0)),
        ("a-b-3-12", ("a-b-3", 12)),
        ("__cluster_metadata-0", ("__cluster_metadata", 0)),
        ("orders", None),
        ("orders-", None),
        ("orders-x", None),
        ("orders-01", None),
        ("-1", None),
        ("or ders-1", None),
        ("x" * 250 + "-0", None),
        ("orders-0.index", None),
        ("deleting", None),
    ],
)
def test_names_are_read(name: str, expected: tuple[str, int] | None) -> None:
    topic_name, partition_id = expected or (None, None)
    assert facts_of(name, None) == DirectoryFacts(
        name=name, topic_name=topic_name, partition=partition_id, topic_id=None
    )


@pytest.mark.parametrize("mark", ["future", "delete", "stray"])
def test_marks_behind_a_name_are_read(mark: str) -> None:
    facts = facts_of(f"a-b-3-12.{HEX}-{mark}", None)
    assert (facts.topic_name, facts.partition) == ("a-b-3", 12)
    assert (facts.is_future, facts.is_deleted, facts.is_stray) == (
        mark == "future",
        mark == "delete",
        mark == "stray",
    )


def test_a_replica_is_kept() -> None:
    for name in ("orders-0", "orders-1"):
        assert _judge(name, topic_id(1)) == (Kind.KEEP, "it is a replica of this broker's")
    assert _judge("a-b-3-0", topic_id(2), broker_id=3, disk=None)[0] is Kind.KEEP


def test_a_replica_on_another_disk_than_assigned_is_kept_and_said() -> None:
    kind, why = _judge("orders-0", topic_id(1), disk=9)
    assert kind is Kind.KEEP
    assert f"assigned to its log directory {id_text(directory(1))}" in why


@pytest.mark.parametrize("assigned", [UNASSIGNED_DIRECTORY_ID, LOST_DIRECTORY_ID])
def test_a_replica_without_a_known_disk_is_kept(assigned: object) -> None:
    image = image_of(topic(1, "orders"), partition(1, directories=(assigned, directory(2), directory(3))))
    verdict = judge(facts_of("orders-0", topic_id(1)), image, NodeId(1), directory(9))
    assert (verdict.kind, verdict.why) == (Kind.KEEP, "it is a replica of this broker's")


def test_the_copy_of_a_moving_replica_is_kept_while_the_replica_is() -> None:
    assert _judge(f"orders-0.{HEX}-future", topic_id(1), disk=9)[0] is Kind.KEEP
    assert _judge(f"orders-0.{HEX}-future", topic_id(7))[0] is Kind.STALE
    assert _judge(f"orders-0.{HEX}-future", topic_id(1), broker_id=9)[0] is Kind.NOT_A_REPLICA


def test_what_no_longer_exists_is_stale() -> None:
    assert _judge("gone-0", topic_id(7)) == (
        Kind.STALE,
        f"no topic has its id {id_text(topic_id(7))}: 'gone' is deleted, or was never of this cluster",
    )
    kind, why = _judge("orders-0", topic_id(7))
    assert kind is Kind.STALE
    assert f"'orders' is now {id_text(topic_id(1))}" in why
    assert _judge(f"orders-0.{HEX}-delete", topic_id(1))[0] is Kind.STALE


@pytest.mark.parametrize(
    ("name", "of", "has"),
    [
        ("orders-2", 1, "topic 'orders' has 2 partitions, and not this one: "),
        (f"orders-77.{HEX}-future", 1, "topic 'orders' has 2 partitions, and not this one: "),
        ("a-b-3-1", 2, "topic 'a-b-3' has 1 partition, and not this one: "),
    ],
)
def test_a_partition_that_its_topic_has_not_is_beyond_it_and_not_stale(name: str, of: int, has: str) -> None:
    kind, why = _judge(name, topic_id(of))
    assert kind is Kind.BEYOND
    assert why.startswith(has + "partitions never become fewer")


def test_a_partition_of_other_brokers_is_not_a_replica() -> None:
    assert _judge("orders-1", topic_id(1), broker_id=4) == (
        Kind.NOT_A_REPLICA,
        "orders-1 is on brokers 1, 2, 3, not on 4",
    )


def test_a_living_id_under_another_name_is_wrong() -> None:
    assert _judge("orders-0", topic_id(2)) == (
        Kind.WRONG_ID,
        f"its id {id_text(topic_id(2))} is that of topic 'a-b-3'",
    )
    for reserved in (ZERO_TOPIC_ID, METADATA_TOPIC_ID):
        assert _judge("orders-0", reserved)[0] is Kind.WRONG_ID


def test_without_an_id_nothing_is_known() -> None:
    assert _judge("orders-0", None)[0] is Kind.MISSING_METADATA
    assert _judge("gone-0", None)[0] is Kind.MISSING_METADATA


def test_what_is_no_partition_is_unknown() -> None:
    assert _judge("lost+found", None)[0] is Kind.UNKNOWN
    assert _judge("lost+found", topic_id(1))[0] is Kind.UNKNOWN
    assert _judge(f"orders-0.{HEX}-stray", topic_id(1))[0] is Kind.UNKNOWN


def test_the_metadata_log_itself_is_kept() -> None:
    assert _judge("__cluster_metadata-0", METADATA_TOPIC_ID)[0] is Kind.KEEP
    assert _judge("__cluster_metadata-0", None)[0] is Kind.KEEP


def test_what_a_real_broker_set_aside_is_what_we_do_not_keep() -> None:
    facts = json.loads((FIXTURES / "stray" / "scenario.json").read_text())["facts"]["what_became_of_broker_13"]
    image = final_image(FIXTURES / "stray" / "node-1" / "data" / "__cluster_metadata-0")
    verdicts = {
        name: judge(facts_of(name, parse_topic_id(text) if text else None), image, NodeId(13)).kind
        for name, text in facts["directories_before"].items()
    }
    set_aside = {name.partition(".")[0] for name in facts["directories_after"] if name.endswith("-stray")}
    assert {name for name, kind in verdicts.items() if kind is not Kind.KEEP} == set_aside
    assert {kind for name, kind in verdicts.items() if name.startswith(facts["moved_away"])} == {Kind.NOT_A_REPLICA}
    for gone in ("recreated_topic", "deleted_topic", "recreated_with_fewer_partitions"):
        names = [name for name in verdicts if name.rpartition("-")[0] == facts[gone]["name"]]
        assert names
        assert {verdicts[name] for name in names} == {Kind.STALE}
    assert verdicts[facts["without_partition_metadata"]] is Kind.MISSING_METADATA
    after = {
        name: judge(facts_of(name, parse_topic_id(text) if text else None), image, NodeId(13)).kind
        for name, text in facts["directories_after"].items()
    }
    assert {kind for name, kind in after.items() if not name.endswith("-stray")} == {Kind.KEEP}
    assert {kind for name, kind in after.items() if name.endswith("-stray")} == {Kind.UNKNOWN}
