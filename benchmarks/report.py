"""Shows what was measured: one table a subject, ours beside etcd, with the ratio; and all of it as JSON.

Decides: how runs become one figure (medians) and how figures look. Must not know: how they were taken.
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

from benchmarks.measures import Rate, Stage, Volume


class SideResults(msgspec.Struct, kw_only=True):
    """All runs of one side, in the order of the rounds."""

    title: str
    rates: dict[str, list[Rate]] = {}
    without_leader_ms: list[float] = []
    volumes: list[Volume] = []


class Results(msgspec.Struct, kw_only=True):
    """Everything of one run of the benchmark."""

    machine: str
    file_system: str
    began: str
    load_before: float
    ours: SideResults
    etcd: SideResults


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
    """By nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def show(results: Results, stages: Sequence[Stage], console: Console) -> None:
    """Print the tables of what there is."""
    ours, etcd = results.ours, results.etcd
    console.print(f"\n{results.machine}; {results.file_system}; {etcd.title}; load before: {results.load_before:.2f}")
    if ours.rates and etcd.rates:
        console.print(_rates(ours, etcd, stages))
        console.print(_costs(ours, etcd, stages))
    if ours.without_leader_ms and etcd.without_leader_ms:
        console.print(_kills(ours, etcd))
    if ours.volumes and etcd.volumes:
        console.print(_volumes(ours, etcd))


def _rates(ours: SideResults, etcd: SideResults, stages: Sequence[Stage]) -> Table:
    rounds = len(next(iter(ours.rates.values())))
    table = _table(
        f"Creates committed a second (etcd: puts), median of {rounds}", "ours", "etcd", "ratio",
        "ours p50 / p99 ms", "etcd p50 / p99 ms",
    )  # fmt: skip
    for stage in stages:
        mine, theirs = ours.rates[stage.name], etcd.rates[stage.name]
        one, other = (_of(each, "writes_per_second") for each in (mine, theirs))
        table.add_row(
            stage.name, f"{one:,.0f}", f"{other:,.0f}", f"{one / other:.2f}", _latency(mine), _latency(theirs)
        )
    return table


def _costs(ours: SideResults, etcd: SideResults, stages: Sequence[Stage]) -> Table:
    table = _table(
        "What that took: the leader's syncs per write, and processor cores of leader + each follower",
        "ours syncs", "etcd syncs", "ours cores", "etcd cores",
    )  # fmt: skip
    for stage in stages:
        both = (ours.rates[stage.name], etcd.rates[stage.name])
        syncs = [f"{_of(runs, 'syncs_per_write'):.3f}" for runs in both]
        cores = [f"{_of(runs, 'leader_cores'):.2f} + {_of(runs, 'follower_cores'):.2f}" for runs in both]
        table.add_row(stage.name, *syncs, *cores)
    return table


def _kills(ours: SideResults, etcd: SideResults) -> Table:
    mine, theirs = ours.without_leader_ms, etcd.without_leader_ms
    table = _table(f"Without a leader after SIGKILL, ms ({len(mine)} kills each)", "ours", "etcd", "ratio")
    for name, part in (("median", 0.5), ("p99", 0.99), ("maximum", 1.0)):
        one, other = (median(values) if name == "median" else percentile(values, part) for values in (mine, theirs))
        table.add_row(name, f"{one:,.0f}", f"{other:,.0f}", f"{one / other:.2f}")
    return table


def _volumes(ours: SideResults, etcd: SideResults) -> Table:
    mine, theirs = ours.volumes, etcd.volumes
    table = _table(f"With {mine[0].writes:,} topics (keys), median of {len(mine)}", "ours", "etcd", "ratio")
    rows = (
        ("fill, a second", "fill_per_second", ",.0f"),
        ("memory, MB, the largest server", "resident_mb", ",.0f"),
        ("killed follower has all again, s", "restart_s", ".2f"),
        ("memory of that one, MB", "resident_after_restart_mb", ",.0f"),
    )
    for title, field, form in rows:
        one, other = _of(mine, field), _of(theirs, field)
        table.add_row(title, format(one, form), format(other, form), f"{one / other:.2f}")
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", min_width=min(80, len(title)))
    table.add_column("")
    for name in columns:
        table.add_column(name, justify="right")
    return table


def _of(runs: Sequence[Rate] | Sequence[Volume], field: str) -> float:
    """Median over the runs; of several servers' values, the largest."""
    found = [getattr(run, field) for run in runs]
    return float(median(max(value) if isinstance(value, tuple) else value for value in found))


def _latency(runs: Sequence[Rate]) -> str:
    return f"{_of(runs, 'p50_ms'):.2f} / {_of(runs, 'p99_ms'):.1f}"
