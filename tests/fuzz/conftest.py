"""The controller that tests with mutated requests attack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from quorum.cli.demo.cluster import Node
from tests.support.standalone import leader_of, standalone, start


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[Node]:
    """A running controller that is alone in its quorum, and leads."""
    with standalone(tmp_path / "cluster") as cluster:
        start(cluster.controllers[1])
        leader_of(cluster)
        yield cluster.controllers[1]
