"""Latency of commits while the leader writes a checkpoint of many topics, beside the same load at other times."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.load import Figures, Plan, fill, warm, write
from benchmarks.report import percentile
from benchmarks.rows.starting import BETWEEN, NEVER
from benchmarks.side import Side

NAME: Final = "snapshot"
TITLE: Final = "Commits of 16 clients while a checkpoint of {topics:,} topics is written"
_CLIENTS: Final = 16
_EVERY_S: Final = 0.002
_MARGIN_NS: Final = 5_000_000
_BETWEEN_BYTES: Final = 1 << 20
_SECONDS: Final = 20.0


class _Watch:
    """When there is an unfinished checkpoint in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._ended = threading.Event()
        self.spans: list[tuple[int, int]] = []
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def __enter__(self) -> _Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        began = 0
        while not self._ended.wait(_EVERY_S):
            is_written = any(self._directory.glob("*.checkpoint.part"))
            if is_written and not began:
                began = time.time_ns()
            elif began and not is_written:
                self.spans.append((began - _MARGIN_NS, time.time_ns() + _MARGIN_NS))
                began = 0


def measure(side: Side, loadgen: Path, plan: Plan) -> Iterator[Figures]:
    """One run; none where there are no checkpoints of Kafka's kind."""
    if not side.takes_checkpoints:
        return
    side.start({**NEVER, BETWEEN: str(_BETWEEN_BYTES)})
    fill(side, loadgen, plan.topics)
    warm(side, loadgen, plan)
    with tempfile.TemporaryDirectory() as scratch, _Watch(side.directory(side.leader())) as watch:
        trace = Path(scratch) / "trace"
        write(side, loadgen, "-clients", str(_CLIENTS), "-seconds", str(_SECONDS), "-trace", str(trace))
        samples = [(int(done), float(latency)) for done, latency in map(str.split, trace.read_text().splitlines())]
    during, otherwise = _divided(samples, watch.spans)
    if during:
        yield {
            "checkpoints": float(len(watch.spans)),
            "p99 undisturbed, ms": percentile(otherwise, 0.99),
            "p99 meanwhile, ms": percentile(during, 0.99),
            "of the undisturbed": percentile(during, 0.99) / percentile(otherwise, 0.99),
            "the longest, ms": max(during),
        }
    side.stop()


def _divided(samples: list[tuple[int, float]], spans: list[tuple[int, int]]) -> tuple[list[float], list[float]]:
    """Latencies of the writes that ended or were under way in a span, and of the others."""
    during: list[float] = []
    otherwise: list[float] = []
    for done, latency in samples:
        sent = done - int(latency * 1e6)
        is_during = any(sent < end and done > begin for begin, end in spans)
        (during if is_during else otherwise).append(latency)
    return during, otherwise
