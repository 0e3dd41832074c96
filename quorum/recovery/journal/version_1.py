"""Facts of audit files and journals of version 1, which earlier releases wrote, as `RepairFacts`.

Must not know: the paths of the files. No repair begins in this version; a journal of version 1 is finished in it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import UNSET

from quorum.recovery.journal.next_steps import Step, recover_command
from quorum.recovery.journal.repair_facts import (
    HELD_NOWHERE,
    HELD_NOWHERE_THEN,
    LostRecords,
    MayLose,
    RepairFacts,
)

FORMAT_VERSION: Final = 1
_IN_ANOTHER_FORM: Final = ("offsets_lost", "may_lose", "copies")


class _Lost(msgspec.Struct, frozen=True, kw_only=True):
    """Records that were lost. The oldest files lack the fields that have defaults here."""

    label: str
    start: int
    end: int
    committed: str
    node_id: int | None = None
    records: dict[str, int] = {}
    topics: tuple[str, ...] = ()
    proof: str | None = None
    epoch: int | None = None
    is_uncompared: bool = False


class _CopyThen(msgspec.Struct, frozen=True, kw_only=True):
    node_id: int | None
    end_offset: int
    epoch: int
    path: str = ""
    greatest_epoch: int = -1


class _Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts whose form differs from version 2."""

    offsets_lost: tuple[_Lost, ...] = ()
    copies: tuple[_CopyThen, ...] = ()
    may_lose: str | None = None


def facts_of(written: dict[str, object]) -> RepairFacts:
    """Return the facts of a file of version 1.

    Raises:
        msgspec.ValidationError: a fact has another form.
    """
    then = msgspec.convert(written, _Facts)
    kept = {name: value for name, value in written.items() if name not in _IN_ANOTHER_FORM}
    facts = msgspec.convert({**kept, "copies": msgspec.to_builtins(then.copies)}, RepairFacts)
    return msgspec.structs.replace(
        facts,
        steps=with_commands(facts.steps),
        offsets_lost=tuple(_lost_records(then, lost) for lost in then.offsets_lost),
        may_lose=None if then.may_lose is None else MayLose(in_words=_as_read_later(then.may_lose)),
    )


def with_commands(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps with their commands as data, which earlier releases kept as printed lines alone.

    Raises:
        msgspec.ValidationError: a line cannot be split into words.
    """
    return tuple(map(_with_commands, steps))


def _with_commands(step: Step) -> Step:
    if step.recover is not UNSET or not step.commands:
        return step
    try:
        found = [recover_command(shlex.split(line)) for line in step.commands]
    except ValueError as error:
        raise msgspec.ValidationError(f"a command of its steps cannot be split into words: {error}") from error
    return msgspec.structs.replace(step, recover=tuple(one for one in found if one is not None))


def _lost_records(then: _Facts, lost: _Lost) -> LostRecords:
    fields = {**msgspec.structs.asdict(lost), "epoch": _epoch_of(then, lost)}
    return msgspec.convert(fields, LostRecords)


def _epoch_of(then: _Facts, lost: _Lost) -> int | None:
    """Return the epoch of the last record. In the oldest files only the copy that ended with that record has it."""
    if lost.epoch is not None or lost.proof is not None:
        return lost.epoch
    ends = [copy for copy in then.copies if copy.node_id == lost.node_id and copy.end_offset == lost.end]
    return ends[0].epoch if ends else None


def _as_read_later(sentence: str) -> str:
    return sentence.replace(HELD_NOWHERE, HELD_NOWHERE_THEN)
