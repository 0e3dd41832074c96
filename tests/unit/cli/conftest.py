"""Fixtures of the command line's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.cli.main import run
from tests.support.called import Ran


@pytest.fixture
def ran(capfd: pytest.CaptureFixture[str]) -> Ran:
    """Exit status, output and standard error of a command."""

    def call(*words: str | Path) -> tuple[int, str, str]:
        status = run([str(word) for word in words])
        return status, *capfd.readouterr()

    return call
