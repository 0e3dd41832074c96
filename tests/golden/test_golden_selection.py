"""Single goldens: `python -m tests.golden --case COMMAND/NAME`."""

from __future__ import annotations

from tests.golden.__main__ import Selection, commands_of, is_known


def test_a_pattern_selects_cases_by_command_and_name() -> None:
    selected = Selection(["check", "log-diff"], ["check/basic-4.4/all.*"])

    assert selected.has("check", "basic-4.4/all.json")
    assert not selected.has("check", "basic-4.4/brokers.json")
    assert not selected.has("log-diff", "basic-4.4/all.json")


def test_without_a_pattern_all_cases_of_the_commands_are_selected() -> None:
    selected = Selection(["check"], [])

    assert selected.has("check", "basic-4.4/all.json")
    assert not selected.has("log-diff", "basic-4.4/all.json")


def test_a_run_of_one_case_keeps_the_other_goldens() -> None:
    goldens = {"one": "old", "other": "kept"}

    assert Selection(["check"], ["check/one"]).put("check", {"one": "new"}, goldens) == {"one": "new", "other": "kept"}
    assert Selection(["check"], ["check/one"]).put("check", {}, goldens) == {"other": "kept"}
    assert Selection(["check"], []).put("check", {"one": "new"}, goldens) == {"one": "new"}


def test_a_name_that_no_case_has_is_refused() -> None:
    assert is_known("check/basic-4.4/all.*", {"check": {}})
    assert not is_known("check/basic-4.4/al", {"check": {}})


def test_a_pattern_may_mean_several_archives() -> None:
    known = ["check", "log-diff", "log-verify"]

    assert commands_of(["log-*/damage/cut.*"], known) == {"log-diff", "log-verify"}
    assert commands_of(["*/damage/cut.*"], known) == set(known)
    assert commands_of(["chek/damage/cut.*"], known) == {"chek"}
    assert commands_of([], known) == set()
