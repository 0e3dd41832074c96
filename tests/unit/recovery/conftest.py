"""Shared fixtures of the tests of repairs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.misuses import Bench


@pytest.fixture
def bench(clusters: Path, tmp_path: Path) -> Bench:
    """Copies of real directories, for one test."""
    return Bench(clusters, tmp_path)
