"""Shows what was measured: one table a row, a column a side, and all of it as JSON.

Decides: how runs become one figure (medians, with the least and the most) and how figures look. Must not know: how they
were taken.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.load import Figures


class Results(msgspec.Struct, kw_only=True):
    """Everything of one run of the benchmark.

    Attributes:
        sides: the titles of those that took part, ours first; missing: why others did not.
        failed: runs that ended with an error, and which.
        rows: by name, by side, the figures of each run.
    """

    machine: str
    file_system: str
    began: str
    load_before: float
    sides: list[str]
    missing: dict[str, str] = {}
    failed: list[str] = []
    rows: dict[str, dict[str, list[Figures]]] = {}


def machine() -> str:
    """Processor, cores, memory, kernel."""
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    versions = f"Linux {platform.release()}, Python {platform.python_version()}"
    return f"{model}, {os.cpu_count()} cores, {gib:.0f} GiB, {versions}"


def file_system(path: Path) -> str:
    """The type of the file system that `path` is on."""
    best, kind = "", "unknown"
    for line in Path("/proc/mounts").read_text().splitlines():
        _, at, found, *_ = line.split(" ")
        if path.resolve().is_relative_to(at) and len(at) >= len(best):
            best, kind = at, found
    return kind


def percentile(values: Sequence[float], part: float) -> float:
    """Return a percentile by nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def show(results: Results, titles: dict[str, str], console: Console) -> None:
    """Print a table of each row that has figures; `titles` by row."""
    console.print(f"\n{results.machine}; {results.file_system}; load before: {results.load_before:.2f}")
    for side, why in results.missing.items():
        console.print(f"Not measured: {side}: {why}")
    for failure in results.failed:
        console.print(f"Failed: {failure}", markup=False)
    for name, by_side in results.rows.items():
        if any(by_side.values()):
            console.print(_table(titles[name], by_side, results.sides))


def _table(title: str, by_side: dict[str, list[Figures]], sides: Sequence[str]) -> Table:
    runs = max(len(found) for found in by_side.values())
    table = Table(title=f"{title}: median \\[least..most] of {runs}", title_justify="left", min_width=80)
    table.add_column("")
    for side in sides:
        table.add_column(side, justify="right")
    names = dict.fromkeys(name for found in by_side.values() for figures in found for name in figures)
    for name in names:
        table.add_row(name, *(_cell([run.get(name) for run in by_side.get(side, [])]) for side in sides))
    return table


def _cell(values: Sequence[float | None]) -> str:
    told = [value for value in values if value is not None]
    if not told:
        return "-"
    middle = median(told)
    return _number(middle) if len(told) == 1 else f"{_number(middle)} [{_number(min(told))}..{_number(max(told))}]"


def _number(value: float) -> str:
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
