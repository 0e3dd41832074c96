"""A repair that is interrupted at any call: the directory is the old one or the new one, and the next run finishes.

Each of the repairs, at every call that changes something, and on a disk that is full at every write.
"""

from __future__ import annotations

import pytest

from tests.support.repair_cases import CASES, repaired, torn_survivor, undo
from tests.support.repairs import (
    Interruptible,
    check_every_crash,
    check_every_failure,
    check_every_full_disk,
    repair,
    tree,
)

pytestmark = [
    pytest.mark.timeout(300),  # 2 s of processor time; a loaded machine gives it late
]

MANY_CALLS = ("voters", "static-voters")
"""Over several directories, for several times as many calls."""
every_repair = pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=pytest.mark.campaign) if case.name in MANY_CALLS else case for case in CASES],
    ids=lambda case: case.name,
)


@every_repair
def test_a_crash_at_any_call_leaves_the_old_or_the_new_directory(case: Interruptible) -> None:
    assert check_every_crash(case) > 12


@every_repair
def test_any_failing_call_is_told_and_the_next_run_finishes(case: Interruptible) -> None:
    check_every_failure(case)


@every_repair
def test_a_disk_that_is_full_at_any_write_loses_nothing(case: Interruptible) -> None:
    assert check_every_full_disk(case) >= 3


def test_undo_gives_every_byte_back() -> None:
    files, old = repaired(), tree(torn_survivor(), "/data")
    assert tree(files, "/data") != old
    repair(files, undo, "/data")
    assert tree(files, "/data") == old
