"""Steps for an operator, and the commands that do them.

Decides: what a program may know about a command without its printed line. Must not know: which steps follow a repair.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from itertools import pairwise
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

VERIFY: Final = "verify"
_READING: Final = ("inspect", VERIFY)
"""The commands of `kraft recover` that change nothing."""


class RecoverCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command of `kraft recover`: its name, and the directories after `--dir`."""

    action: str
    log_dirs: tuple[str, ...] = ()

    @property
    def only_reads(self) -> bool:
        """Return True if it changes nothing."""
        return self.action in _READING


class Command(msgspec.Struct, frozen=True):
    """A line for a shell or a configuration. `recover`: the same as data if it is a command of `kraft recover`."""

    line: str
    recover: RecoverCommand | None = None

    def __str__(self) -> str:
        return self.line

    def and_words(self, *words: str) -> Command:
        """Return the same command with more words at its end, which name no directory."""
        return msgspec.structs.replace(self, line=f"{self.line} {shlex.join(words)}")


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A step for an operator: a sentence, and commands if some do it; `step_of` makes one that has commands.

    Attributes:
        commands: as they are printed. No program reads them.
        recover: those among them that are of `kraft recover`, as data. UNSET: an audit file without this field.
    """

    text: str
    commands: tuple[str, ...] = ()
    recover: tuple[RecoverCommand, ...] | UnsetType = UNSET

    @property
    def recovers(self) -> tuple[RecoverCommand, ...]:
        """The commands of `kraft recover`."""
        return () if self.recover is UNSET else self.recover

    @property
    def repairs(self) -> bool:
        """Return True if one of its commands is a repair."""
        return any(not one.only_reads for one in self.recovers)


def command(*words: object) -> Command:
    """Return a command, quoted for a shell."""
    said = [str(word) for word in words]
    return Command(shlex.join(said), recover_command(said))


def recover_command(words: list[str]) -> RecoverCommand | None:
    """Return the words of a command of `kraft recover` as data; None for any other command."""
    if words[:2] != ["kraft", "recover"] or len(words) < 3:
        return None
    named = tuple(word for option, word in pairwise(words) if option == "--dir")
    return RecoverCommand(action=words[2], log_dirs=named)


def step_of(*, text: str, commands: Iterable[Command]) -> Step:
    """Return a step with these commands, printed and as data."""
    done = tuple(commands)
    recover = tuple(one.recover for one in done if one.recover is not None)
    return Step(text=text, commands=tuple(map(str, done)), recover=recover)
