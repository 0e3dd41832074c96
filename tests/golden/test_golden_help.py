"""Every help text is as it was; every case has a golden, and every golden a case."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.golden.archive import archived_commands, difference, read_archive
from tests.golden.cases import Scene
from tests.golden.command import is_of_bug, run_command
from tests.golden.comparing import compare
from tests.golden.helping import subcommands
from tests.golden.scenes import all_cases, damage_groups, scenes_of
from tests.support.all_damage import DAMAGE

_APPLIED = "applied"
"""The beginning of the names of archives whose cases are elsewhere: directories after a repair."""


@pytest.mark.parametrize("scene", scenes_of("help"), ids=lambda scene: scene.name)
def test_every_help_is_as_it_was(scene: Scene, clusters: Path) -> None:
    compare(scene, clusters)


def test_every_command_has_its_help(tmp_path: Path) -> None:
    known = subcommands()

    assert _listed([], tmp_path) == set(known)
    for name, names in known.items():
        assert _listed([name], tmp_path) == set(names), name


def _listed(words: list[str], place: Path) -> set[str]:
    """Return the commands that a help text lists; a description goes on with more spaces before it."""
    listed = run_command([*words, "--help"], place).partition("\nCommands:\n")[2].partition("\n\n")[0]
    return {line.split()[0] for line in listed.splitlines() if line.startswith("  ") and not line.startswith("   ")}


def test_every_golden_has_a_case_and_every_case_a_golden() -> None:
    names: dict[str, set[str]] = {}
    for case in all_cases():
        names.setdefault(case.command, set()).add(case.name)
    commands = {*names, *(command for command in archived_commands() if not command.startswith(_APPLIED))}

    wrong = [
        difference(command, name, "" if name in golden else None, "" if name in cases else None)
        for command in sorted(commands)
        for golden, cases in [(read_archive(command), names.get(command, set()))]
        for name in sorted({*golden, *cases})
    ]
    assert [one for one in wrong if one is not None] == []


def test_every_case_has_a_name_of_its_own() -> None:
    keys = Counter(case.key for case in all_cases())

    assert [key for key, count in keys.items() if count > 1] == []


def test_every_kind_of_damage_is_in_some_part() -> None:
    assert sorted(damage_groups()) == sorted(DAMAGE)


def test_no_golden_is_a_bug() -> None:
    bugs = {
        f"{command}/{name.rpartition('.')[0]}"
        for command in {case.command for case in all_cases()}
        for name, text in read_archive(command).items()
        if is_of_bug(text)
    }
    assert not bugs


def test_the_share_is_a_fair_one() -> None:
    """It has some of every command, and no more than `make test` has time for."""
    cases = list(all_cases())
    share = [case for case in cases if case.is_shared]

    assert {case.command for case in share} == {case.command for case in cases}
    assert len(cases) / 30 < len(share) < len(cases) / 14
