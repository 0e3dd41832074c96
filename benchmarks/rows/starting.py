"""Starts after everything was killed: shared by the rows that differ in what was written before."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from benchmarks.load import Figures, LoadError, addresses, fill
from benchmarks.side import Side

BETWEEN: Final = "metadata.log.max.record.bytes.between.snapshots"
_INTERVAL: Final = "metadata.log.max.snapshot.interval.ms"
NEVER: Final[Mapping[str, str]] = {BETWEEN: str(1 << 40), _INTERVAL: "0"}
"""No checkpoint is written."""
OFTEN: Final[Mapping[str, str]] = {BETWEEN: str(1 << 20), _INTERVAL: "0"}
"""One for each MiB of new records: a large cluster has one near the end of its log."""
_FIRST_TIMEOUT_S: Final = 120.0
_FEW: Final = 100


def properties_of(side: Side, wanted: Mapping[str, str]) -> Mapping[str, str] | None:
    """`wanted` where the side has such settings."""
    return wanted if side.takes_checkpoints else None


def checkpoints(side: Side, member: str) -> list[Path]:
    """The finished ones of a member, but for the one of offset 0."""
    return [path for path in sorted(side.directory(member).glob("*.checkpoint")) if not path.name.startswith("0" * 20)]


def cold_start(side: Side, loadgen: Path, topics: int, properties: Mapping[str, str] | None) -> Figures:
    """Write, kill all three at once, start them: until the first acknowledged write."""
    side.start(properties)
    fill(side, loadgen, max(topics, _FEW))
    for member in side.members:
        side.signal(member, signal.SIGKILL)
    figures: Figures = {"first acknowledged write, s": first_write_s(side, loadgen)}
    side.stop()
    return figures


def first_write_s(side: Side, loadgen: Path) -> float:
    """Start all members of a side, and return the seconds until the first acknowledged write.

    Raises:
        LoadError: no write was acknowledged.
    """
    command = [str(loadgen), "-first", "-target", side.kind, "-address", addresses(side)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as probe:
        try:
            began_ns = time.time_ns()
            for member in side.members:
                side.restart(member)
            found, errors = probe.communicate(timeout=_FIRST_TIMEOUT_S)
        finally:
            probe.kill()
    if probe.returncode != 0:
        raise LoadError(f"{side.title}: {errors}")
    return (int(found) - began_ns) / 1e9
