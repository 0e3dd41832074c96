"""Lines, a table and a JSON file of what the gate has measured."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.gate.pairs import BASE, Ratios, Round, ratios
from benchmarks.gate.rows import Row

FAILED = "FAILED"


class RowResult(msgspec.Struct, frozen=True, kw_only=True):
    """Everything of one row.

    Attributes:
        judged: ratios by the measure that decides; beside: by the one that is shown beside it.
        took_s: of the whole row, its preparation included.
    """

    judged: Ratios
    beside: Ratios
    took_s: float
    rounds: list[Round]

    @property
    def verdict(self) -> str:
        """`ok` or `FAILED`, and a remark if the other measure alone would have failed."""
        if self.judged.failed:
            return FAILED
        return "ok, slower beside" if self.beside.failed else "ok"


class Results(msgspec.Struct, kw_only=True):
    """Everything of one run of the gate.

    Attributes:
        packages: those that only one of tree and base has.
        missing: rows that could not be measured, and why.
    """

    machine: str
    file_system: str
    began: str
    load_before: float
    records: int
    packages: list[str]
    rows: dict[str, RowResult] = {}
    missing: dict[str, str] = {}

    @property
    def failed(self) -> list[str]:
        """The names of rows that failed."""
        return [name for name, row in self.rows.items() if row.judged.failed]

    @property
    def status(self) -> int:
        """The exit status: 1 if a row failed, 2 if one could not be measured, otherwise 0."""
        if self.failed:
            return 1
        return 2 if self.missing else 0


def result(rounds: list[Round], took_s: float) -> RowResult:
    """Return the result of a row's rounds."""
    return RowResult(
        judged=ratios(rounds, lambda load: load.judged),
        beside=ratios(rounds, lambda load: load.beside),
        took_s=took_s,
        rounds=rounds,
    )


def line(name: str, row: RowResult, shown: Row) -> str:
    """Return one line of a row: ratios, verdict, and how fast the machine was."""
    return (
        f"{name}: {row.verdict}: {shown.judged}: tree {row.judged.tree}, control {row.judged.control}; "
        f"{shown.beside}: tree {row.beside.tree}, control {row.beside.control}; "
        f"{len(row.rounds)} rounds, {row.took_s:.0f} s, loop {_loop(row)}"
    )


def show(results: Results, rows: dict[str, Row], console: Console) -> None:
    """Print a table of all rows."""
    table = Table(title="Speed of the tree / the previous release: median \\[quartiles]", title_justify="left")
    for column in ("row", "tree", "control: equal code", "beside: tree, control", "base", "judged by", "verdict"):
        table.add_column(column, no_wrap=True)
    for name, row in results.rows.items():
        base = median(each.loads[BASE].judged for each in row.rounds)
        beside = f"{row.beside.tree.median:.3f}, {row.beside.control.median:.3f}"
        table.add_row(
            name, str(row.judged.tree).replace("[", "\\["), str(row.judged.control).replace("[", "\\["),
            beside, _number(base), rows[name].judged, row.verdict,
        )  # fmt: skip
    console.print(f"\n{results.machine}; {results.file_system}; load before: {results.load_before:.2f}", markup=False)
    console.print(table)
    for name, why in results.missing.items():
        console.print(f"{name} could not be measured: {why}", markup=False)
    if results.failed:
        console.print(f"{FAILED}: {', '.join(results.failed)}", markup=False)


def write(path: Path, results: Results) -> None:
    """Write all of it as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(results)) + b"\n")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _loop(row: RowResult) -> str:
    loops = [value for each in row.rounds for value in each.loop_ms.values()]
    return f"{median(loops):.0f} ms [{min(loops):.0f}..{max(loops):.0f}]"
