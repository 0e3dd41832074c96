"""Processes that are timed from their start to their end, by the clock and by the processors."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from quorum.cli.demo.interrupts import shielded

COMPILED: Final[Mapping[str, str]] = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}
"""This environment, in which Python stores the modules that it compiles, as an installed package's are."""


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of a process from start to end, and of the processors that it used."""

    wall_s: float
    cpu_s: float


def timed(
    words: Sequence[str],
    *,
    environment: Mapping[str, str] = COMPILED,
    timeout_s: float | None = None,
) -> Cost:
    """Return the cost of a process whose output `cat` reads; nothing of it runs when this returns or raises.

    Raises:
        RuntimeError: it ended with another status than 0.
        subprocess.TimeoutExpired: it ran for longer than `timeout_s`.
    """
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with shielded():
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(environment))
    with process:
        try:
            reader = subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL)
            status = process.wait(timeout_s)
        finally:
            process.kill()
    after, took = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - began
    reader.wait()
    if status != 0:
        raise RuntimeError(f"{' '.join(words)} ended with {status}")
    return Cost(wall_s=took, cpu_s=after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
