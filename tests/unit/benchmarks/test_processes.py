"""Processes that are timed, and their ends."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from benchmarks.processes import timed


def test_a_process_is_timed_by_clock_and_by_processor() -> None:
    cost = timed([sys.executable, "-I", "-S", "-c", "import time; time.sleep(0.5)"])
    assert cost.wall_s >= 0.5
    assert cost.cpu_s < 0.4


def test_a_process_that_fails_is_named() -> None:
    with pytest.raises(RuntimeError, match="ended with 3"):
        timed([sys.executable, "-I", "-S", "-c", "raise SystemExit(3)"])


def test_a_process_that_takes_too_long_is_ended() -> None:
    began = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        timed([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"], timeout_s=0.1)
    assert time.monotonic() - began < 300  # its end is awaited
