"""The tests that are run together in one worker exist, so that a file that is renamed is not torn from its company."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.sharing import ONE_BY_ONE, TOGETHER, scope_of

_ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("start", TOGETHER)
def test_what_is_run_together_exists(start: str) -> None:
    folder, _, name = start.rpartition("/")
    assert list((_ROOT / folder).glob(f"{name}*"))


def test_a_files_tests_stay_together_but_for_planted_bugs() -> None:
    assert scope_of("tests/unit/raft/test_a.py::test_b[c::d]") == scope_of("tests/unit/raft/test_a.py::test_e")
    assert scope_of("tests/interop/test_recover_a.py::test_b") == scope_of("tests/interop/test_recover_c.py::test_d")
    (planted,) = ONE_BY_ONE
    assert scope_of(f"{planted}one]") != scope_of(f"{planted}other]")
    file, _, name = planted.rstrip("[").partition("::")
    assert f"def {name}(" in (_ROOT / file).read_text()
