"""The tests that are run together in one worker exist, so that a file that is renamed is not torn from its company."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.sharing import LONGEST, ONE_BY_ONE, TOGETHER, place_of, scope_of

_ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("start", TOGETHER)
def test_what_is_run_together_exists(start: str) -> None:
    folder, _, name = start.rpartition("/")
    assert list((_ROOT / folder).glob(f"{name}*"))


@pytest.mark.parametrize("scope", LONGEST)
def test_what_begins_first_exists(scope: str) -> None:
    assert scope in TOGETHER.values() or (_ROOT / scope).is_file()
    assert scope_of(f"{scope}::test_a") == scope


def test_planted_bugs_fill_up_the_end() -> None:
    (planted,) = ONE_BY_ONE
    scopes = [f"{planted}one]", "tests/unit/raft/test_a.py", *reversed(LONGEST)]
    assert sorted(scopes, key=place_of) == [*LONGEST, "tests/unit/raft/test_a.py", f"{planted}one]"]


def test_a_files_tests_stay_together_but_for_planted_bugs() -> None:
    assert scope_of("tests/unit/raft/test_a.py::test_b[c::d]") == scope_of("tests/unit/raft/test_a.py::test_e")
    assert scope_of("tests/interop/test_recover_a.py::test_b") == scope_of("tests/interop/test_recover_c.py::test_d")
    (planted,) = ONE_BY_ONE
    assert scope_of(f"{planted}one]") != scope_of(f"{planted}other]")
    file, _, name = planted.rstrip("[").partition("::")
    assert f"def {name}(" in (_ROOT / file).read_text()
