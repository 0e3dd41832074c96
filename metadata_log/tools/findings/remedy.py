"""The form of advice: text, command, and what follows from it for the node.

Must not know: the texts (`advice`), and which kind of finding has which (`kinds`).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

DIRS: Final = "DIR..."
"""The placeholder in a command for all log directories of a broker."""


class Advice(msgspec.Struct, frozen=True):
    """Advice: a text, a command, the text after it, and `otherwise`, the advice if that does not help.

    Attributes:
        bars_start: the node must not start from the directory as it is.
        until_compared: that holds only until the other replicas are compared: they may show that nothing is lost.
        doubts_vote: nothing that the directory shows of its node's votes and elections is certain.
    """

    text: str
    command: tuple[str, ...] = ()
    after: str = ""
    otherwise: Advice | None = None
    bars_start: bool = False
    until_compared: bool = False
    doubts_vote: bool = False

    def __str__(self) -> str:
        """Return the whole advice as one text."""
        return f"{self.text}{shlex.join(self.command)}{self.after}{self.otherwise or ''}"

    def in_directories(self, paths: Sequence[str]) -> Advice:
        """Return the advice with these log directories in its command, in place of `DIRS`."""
        words = [each for word in self.command for each in (paths if word == DIRS else (word,))]
        return msgspec.structs.replace(self, command=tuple(words))

    def with_other(self, others: Mapping[Advice, Advice]) -> Advice:
        """Return the replacement that `others` has for this advice, or this advice with `otherwise` replaced."""
        if self in others or self.otherwise is None:
            return others.get(self, self)
        return msgspec.structs.replace(self, otherwise=self.otherwise.with_other(others))


def as_advice(said: Advice | str) -> Advice:
    """Return a text as advice without a command; return an Advice unchanged."""
    return Advice(said) if isinstance(said, str) else said


def no_start(
    text: str,
    command: tuple[str, ...] = (),
    after: str = "",
    *,
    until_compared: bool = False,
    doubts_vote: bool = False,
) -> Advice:
    """Return advice not to start the node, which programs see, too."""
    return Advice(text, command, after, bars_start=True, until_compared=until_compared, doubts_vote=doubts_vote)
