"""No program decides by a sentence, or edits one: it reads fields."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.architecture.sentences import places, places_below

_ROOT: Final = Path(__file__).resolve().parents[2]
_ALLOWED: Final[frozenset[str]] = frozenset()
"""Functions that still do, as `file:function`. It stays empty."""


def test_no_program_reads_a_sentence() -> None:
    assert {place.rpartition(":")[0] for place in places_below(_ROOT)} <= _ALLOWED


@pytest.mark.parametrize(
    "line",
    [
        "if 'destroyed' in found.meaning: pass",
        "if found.meaning.startswith('of the quorum'): pass",
        "if found.advice == UNPROVEN: pass",
        "if found.meaning in (A, B): pass",
        "return error.what.removesuffix(ADVICE)",
        "return f'{error.what}.'.replace(A, B)",
        "return done.may_lose.replace(A, B)",
        "return meaning.rpartition(';')[0]",
        "return PATTERN.search(found.meaning)",
        "return re.sub(A, B, found.advice)",
        "return BY_ADVICE[found.advice]",
        "return BY_ADVICE.get(found.advice)",
        "return found.meaning[:20]",
        "says = found.meaning\n    return says.endswith('lost')",
        "if (says := found.meaning).endswith('lost'): pass",
        "said = [one.meaning for one in each]\n    return [one for one in said if A in one]",
        "for why in sorted(one.meaning for one in each):\n        why.split(';')",
        "return next(text for text in TEXTS if text in found.advice)",
        "return str(found.advice).lower().count('audit')",
    ],
)
def test_the_walk_sees(line: str) -> None:
    assert places(f"class Judge:\n  def judge(self, found):\n    {line}\n", "judge.py")


@pytest.mark.parametrize(
    "line",
    [
        "return f'{error.what}; {left}' if error.what is not None else ''",
        "if found.advice: print(found.meaning)",
        "if moment.what is Change.BEGINS: pass",
        "return found.kind in KINDS and found.kind == 'log_cut'",
        "return text.replace(A, B)",
    ],
)
def test_the_walk_lets_pass(line: str) -> None:
    assert not places(f"def judge(found):\n    {line}\n", "judge.py")
