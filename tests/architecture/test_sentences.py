"""No program decides by a sentence or by a printed command, or edits one: it reads fields."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.architecture.sentences import (
    command_places,
    command_places_below,
    places,
    places_below,
    steps_by_hand,
    steps_by_hand_below,
)

_ROOT: Final = Path(__file__).resolve().parents[2]
_ALLOWED: Final[frozenset[str]] = frozenset()
"""Functions that still do, as `file:function`. It stays empty."""
_LINES_AS_KEPT: Final = frozenset(
    {
        "quorum/recovery/journal/repair_record.py:_typed",
        "quorum/recovery/repairs/resume.py:_deciding",
        "quorum/recovery/repairs/undo.py:_was_taken_back",
        "quorum/recovery/journal/version_1.py:_with_commands",
    }
)
"""Functions that read a line from an audit file: the first three, the command that an operator typed for a repair.

The last one turns the printed commands in files of earlier releases into data.
"""


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


def test_no_program_reads_a_printed_command() -> None:
    assert {place.rpartition(":")[0] for place in command_places_below(_ROOT)} <= _LINES_AS_KEPT


def test_every_command_of_a_step_is_data_too() -> None:
    assert not steps_by_hand_below(_ROOT)
    assert steps_by_hand("Step(text=A, commands=(line,))", "plan.py")
    assert not steps_by_hand("Step(text=A)", "plan.py")


@pytest.mark.parametrize(
    "line",
    [
        "return [step for step in steps if not any(' recover ' in line for line in step.commands)]",
        "words = [one.split()[:3] for one in step.commands]",
        "return shlex.split(line)[:3] == VERIFY",
        "return command.startswith('kraft recover')",
        "return 'kraft recover verify /n1' in step.commands",
        "return [one for one in steps if one.commands == two.commands]",
        "said = str(line)\n    return said.removesuffix(' --apply')",
    ],
)
def test_the_walk_sees_a_printed_command(line: str) -> None:
    assert command_places(f"def judge(step, line, command):\n    {line}\n", "judge.py")


@pytest.mark.parametrize(
    "line",
    [
        "for one in step.commands: print(one)",
        "return '; '.join(map(str, step.commands)) if step.commands else ''",
        "return any(one.action == 'verify' for one in step.recovers)",
        "return command('kraft', 'recover', 'verify', *paths)",
    ],
)
def test_the_walk_lets_a_printed_command_pass(line: str) -> None:
    assert not command_places(f"def judge(step, paths):\n    {line}\n", "judge.py")
