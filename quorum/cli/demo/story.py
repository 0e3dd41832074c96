"""The output of the demo: numbered acts, short lines, the step under way, the proven claims.

Decides: the look, with colours and a spinner on a terminal, plain lines in a pipe. Must not know: the acts.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from quorum.cli.output import plain_lines, terminal_console
from quorum.cli.tables import table_lines

_INDENT: Final = 2


class CheckFailedError(Exception):
    """A claim of the demo is false; the message says which."""


class Story:
    """The output of one run, written line by line. `acts`: the number of acts."""

    def __init__(self, acts: int, console: Console | None = None) -> None:
        self.console: Final = console or terminal_console(highlight=False, emoji=False, markup=False)
        self._acts = acts
        self._act = 0
        self._started = time.monotonic()
        self._is_terminal = self.console.is_terminal
        self._mark = "✓" if self.console.encoding.lower().startswith("utf") else "ok:"

    @property
    def seconds(self) -> float:
        """The seconds since the start of the run."""
        return time.monotonic() - self._started

    def title(self, text: str) -> None:
        """Print the first line."""
        self._line(text, "bold", indent=0)

    def act(self, heading: str) -> None:
        """Print the heading of the next act."""
        self._act += 1
        self._write("")
        clock = f"   ({self.seconds:.0f} s)" if self._act > 1 else ""
        self._line(f"[{self._act}/{self._acts}] {heading}{clock}", "bold cyan", indent=0)

    def say(self, text: str) -> None:
        """Print a line."""
        self._line(text, "")

    def quote(self, text: str) -> None:
        """Print a line of a node's log or a file."""
        self._line(f"| {text}", "dim")

    def proved(self, text: str) -> None:
        """Print a claim that was checked and is true."""
        self._line(f"{self._mark} {text}", "green")

    def table(self, columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> None:
        """Print rows under their columns."""
        width = self.console.width - _INDENT if self._is_terminal else None
        for line in table_lines(columns, rows, width=width):
            self._line(line, "", wrap=False)

    def show(self, what: RenderableType) -> None:
        """Print an object of rich's."""
        if self._is_terminal:
            self.console.print(Padding(what, (0, 0, 0, _INDENT), expand=False))
            return
        for line in plain_lines(what):
            self._line(line, "", wrap=False)

    @contextlib.contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Show on a terminal that something is under way, until the block is left."""
        if not self._is_terminal:
            yield
            return
        with self.console.status(f"{what} ...", spinner="line"):
            yield

    def _line(self, text: str, style: str, *, indent: int = _INDENT, wrap: bool = True) -> None:
        styled = Text(text, style=style)
        if self._is_terminal and wrap:
            self._write(Padding(styled, (0, 0, 0, indent), expand=False))
        else:
            self._write(Text(" " * indent) + styled)

    def _write(self, what: str | Text | Padding) -> None:
        # In a pipe nothing is wrapped: a line stays whole for a search.
        self.console.print(what, soft_wrap=not isinstance(what, Padding))


def check(holds: bool, otherwise: str) -> None:
    """Raise `CheckFailedError` with `otherwise` unless `holds`."""
    if not holds:
        raise CheckFailedError(otherwise)
