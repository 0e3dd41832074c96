"""The table of planted bugs in docs/simulation.md: its rows, and how they are read and written.

Must not know: how a cell is determined (`mutant_run`, `mutant_proof`).
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Final

import msgspec

from tests.simulation.mutants import MUTANTS
from tests.simulation.planting import Mutant

ROOT: Final = Path(__file__).resolve().parents[2]
DOCUMENT: Final = ROOT / "docs" / "simulation.md"
PASS: Final = "pass"
_BEGIN: Final = "<!-- table of planted bugs: written by `mutant_run` and `mutant_proof` -->\n"
_END: Final = "<!-- end of the table -->\n"
HEAD: Final = "| planted bug | in | lines | mypy | unit tests of its module | first caught by | at seed |"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """The results for one bug: `PASS`, mypy's error or the failing unit test, and the checker. Empty: not tried."""

    types: str = ""
    unit_tests: str = ""
    checker: str = ""
    seed: str = ""

    @property
    def passes(self) -> bool:
        """Return True if mypy and the unit tests of its module do not notice it."""
        return self.types == self.unit_tests == PASS


def lines_changed(mutant: Mutant) -> int:
    """Return the number of source lines that are added, removed or changed."""
    changes = [
        line[0] for line in difflib.ndiff(mutant.was.splitlines(), mutant.becomes.splitlines()) if line[0] in "+-"
    ]
    return max(changes.count("+"), changes.count("-"))


def read_table() -> dict[str, Row]:
    """Return the rows in the document, by the bug's name, if the bug is still in that module."""
    modules = {mutant.name: mutant.module for mutant in MUTANTS}
    rows = {}
    for line in _parts()[1].splitlines():
        cells = [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]
        if len(cells) == HEAD.count("|") - 1 and modules.get(cells[0]) == cells[1].strip("`"):
            name, _, _, types, unit_tests, checker, seed = cells
            rows[name] = Row(types=types, unit_tests=unit_tests, checker=checker, seed=seed)
    return rows


def write_table(rows: dict[str, Row]) -> None:
    """Write these rows in the order of `MUTANTS`; a missing row keeps its present text."""
    known = {**read_table(), **rows}
    lines = [_line(mutant, known[mutant.name]) for mutant in MUTANTS if mutant.name in known]
    head, _, tail = _parts()
    rule = "|---" * (HEAD.count("|") - 1) + "|"
    DOCUMENT.write_text("\n".join([f"{head}{_BEGIN}", HEAD, rule, *lines, f"\n{_END}{tail}"]), encoding="utf-8")


def _line(mutant: Mutant, row: Row) -> str:
    cells = (
        mutant.name, f"`{mutant.module}`", str(lines_changed(mutant)),
        row.types, row.unit_tests, row.checker, row.seed,
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _parts() -> tuple[str, str, str]:
    """Return the text before the table, the table, and the text after it."""
    head, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(_BEGIN)
    table, _, tail = rest.partition(_END)
    return head, table, tail
