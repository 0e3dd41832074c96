"""Real clusters' directories, unpacked once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.clusters import unpack_clusters


@pytest.fixture(scope="session")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All nodes of all scenarios: read only, copy what is to be changed."""
    return unpack_clusters(tmp_path_factory.mktemp("clusters"))
