"""The table of planted bugs in docs/simulation.md: what is in a row, and how rows are read and written.

Decides: what the table looks like. Must not know: how a cell is found out (`mutant_run`, `mutant_proof`).
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
    """What is known of one: `PASS`, or what mypy, or which unit test, has against it; who caught it. Empty: untried."""

    types: str = ""
    unit_tests: str = ""
    checker: str = ""
    seed: str = ""

    @property
    def passes(self) -> bool:
        """Whether mypy and the unit tests of its module see nothing."""
        return self.types == self.unit_tests == PASS


def lines_changed(mutant: Mutant) -> int:
    """Of the source: a line that is added, goes, or is another."""
    changes = [
        line[0] for line in difflib.ndiff(mutant.was.splitlines(), mutant.becomes.splitlines()) if line[0] in "+-"
    ]
    return max(changes.count("+"), changes.count("-"))


def read_table() -> dict[str, Row]:
    """The rows that stand in the document, by the bug's name, as long as it is in that module."""
    modules = {mutant.name: mutant.module for mutant in MUTANTS}
    rows = {}
    for line in _parts()[1].splitlines():
        cells = [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]
        if len(cells) == HEAD.count("|") - 1 and modules.get(cells[0]) == cells[1].strip("`"):
            name, _, _, types, unit_tests, checker, seed = cells
            rows[name] = Row(types=types, unit_tests=unit_tests, checker=checker, seed=seed)
    return rows


def write_table(rows: dict[str, Row]) -> None:
    """Put these into the document in the order of `MUTANTS`; one that is missing stays as it stands there."""
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
    """What stands before the table, the table, what stands behind it."""
    head, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(_BEGIN)
    table, _, tail = rest.partition(_END)
    return head, table, tail
