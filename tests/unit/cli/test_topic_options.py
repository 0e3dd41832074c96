"""How assignments, configs and patterns of topics are written."""

from __future__ import annotations

import pytest

from quorum.cli.errors import WRONG_USE, CliError
from quorum.cli.topic_options import parse_assignments, parse_configs, topic_pattern


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


def test_a_pattern_meets_whole_names() -> None:
    pattern = topic_pattern("orders.*, audit")
    assert [name for name in ("orders", "orders-2", "audit", "audits", "my-orders") if pattern.fullmatch(name)] == [
        "orders",
        "orders-2",
        "audit",
    ]
