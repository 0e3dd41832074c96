"""The syntax of assignments, configs and patterns of topics."""

from __future__ import annotations

import pytest

from metadata_log.ids import ZERO_TOPIC_ID
from quorum.api.error_codes import Error
from quorum.api.topics import CreatableTopicResult
from quorum.cli.errors import WRONG_USE, CliError
from quorum.cli.topic_options import existing_text, parse_assignments, parse_configs, topic_pattern


def test_assignments_stand_in_the_order_of_partitions() -> None:
    found = parse_assignments("11:12, 12:11 ,13")
    assert [(each.partition_index, each.broker_ids) for each in found] == [(0, (11, 12)), (1, (12, 11)), (2, (13,))]
    assert parse_assignments(None) == ()


@pytest.mark.parametrize("text", ["", ",", "1:", "a", "1;2", "-1", "1:2,"])
def test_what_is_no_assignment_is_refused(text: str) -> None:
    with pytest.raises(CliError, match="write 11:12,12:11") as refused:
        parse_assignments(text)
    assert refused.value.exit_code == WRONG_USE


def test_a_config_may_hold_equals_signs() -> None:
    assert parse_configs(["a=1", " b = x=y "]) == (("a", "1"), ("b", "x=y"))


@pytest.mark.parametrize("texts", [["a"], ["=1"], ["a=1", "a=2"]])
def test_what_is_no_config_is_refused(texts: list[str]) -> None:
    with pytest.raises(CliError, match="--config"):
        parse_configs(texts)


@pytest.mark.parametrize(
    ("partitions", "replicas", "said"),
    [
        (None, None, "."),
        (3, 2, "."),
        (1, None, ": it has 3 partitions where 1 was asked for."),
        (4, 3, ": it has 3 partitions where 4 were asked for and 2 replicas where 3 were asked for."),
    ],
)
def test_a_topic_that_is_there_is_said_to_be(partitions: int | None, replicas: int | None, said: str) -> None:
    found = CreatableTopicResult(
        name="audit", error=Error.NONE, topic_id=ZERO_TOPIC_ID, num_partitions=3, replication_factor=2
    )
    asked = {"partition": partitions, "replica": replicas}
    assert existing_text(found, asked) == f"Topic audit exists already, and stays as it is{said}"


def test_what_is_no_regular_expression_is_told_by_the_place_in_it() -> None:
    with pytest.raises(CliError, match=r"^--topic \[ is not a regular expression: .* at position 0$"):
        topic_pattern("orders,[")


def test_a_pattern_meets_whole_names() -> None:
    pattern = topic_pattern("orders.*, audit")
    assert [name for name in ("orders", "orders-2", "audit", "audits", "my-orders") if pattern.fullmatch(name)] == [
        "orders",
        "orders-2",
        "audit",
    ]
