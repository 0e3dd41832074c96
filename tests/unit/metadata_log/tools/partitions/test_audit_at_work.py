"""The audit of a broker at work: topics come and go while its directories and its log are read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from metadata_log.reconcile import Kind, Verdict, facts_of
from metadata_log.tools.partitions.audit import Audit, Audited, settled

DISK = Path("data")
KEPT = "orders-0"


def _audit(*wrong: str, unjudged: Iterable[str] = ()) -> Audit:
    verdicts = {KEPT: (Kind.KEEP, True)}
    verdicts |= dict.fromkeys(wrong, (Kind.MISSING_METADATA, True))
    verdicts |= dict.fromkeys(unjudged, (Kind.UNKNOWN, False))
    found = [
        Audited(log_dir=DISK, facts=facts_of(name, None), verdict=Verdict(kind=kind, why="it is"), is_judged=is_judged)
        for name, (kind, is_judged) in verdicts.items()
    ]
    return Audit(broker_id=11, image_from=DISK, image_end=1, image_epoch=1, certain_end=1, directories=tuple(found))


def _settled(*looks: tuple[Audit, bool]) -> tuple[list[str], int]:
    """The names that are left, and how often it was looked."""
    given = iter(looks)
    found = settled(lambda: next(given))
    return [one.facts.name for one in found.directories], len(looks) - len(list(given))


def test_where_nothing_is_wrong_one_look_is_enough() -> None:
    assert _settled((_audit(), True)) == ([KEPT], 1)


def test_where_nothing_goes_on_one_look_is_enough() -> None:
    assert _settled((_audit("new-0"), False)) == ([KEPT, "new-0"], 1)


@pytest.mark.parametrize("first", [_audit("new-0"), _audit(unjudged=["new-0"])])
def test_what_was_just_made_is_not_wrong(first: Audit) -> None:
    assert _settled((first, True), (_audit(), True)) == ([KEPT], 2)


def test_what_is_wrong_twice_is_wrong() -> None:
    assert _settled((_audit("new-0", "bad-0"), True), (_audit("bad-0"), True)) == ([KEPT, "bad-0"], 2)


def test_of_a_broker_that_never_rests_what_is_new_is_left_out() -> None:
    looks = [(_audit(f"new-{number}", "bad-0"), True) for number in range(5)]

    assert _settled(*looks) == ([KEPT, "bad-0"], 5)
