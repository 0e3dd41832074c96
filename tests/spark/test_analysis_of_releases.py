"""Nothing is found in clusters of any release, nor in those that began on old ones, or on ZooKeeper."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.analysis import run_analysis
from tests.support.field import field_nodes
from tests.support.releases_fixture import MINORS, unpack_release

pytestmark = pytest.mark.timeout(600)
"""The first waits for a JVM."""


@pytest.mark.parametrize("cluster", ["F01", "F02", "F20", *MINORS])
def test_nothing_is_found(cluster: str, tmp_path: Path) -> None:
    nodes = unpack_release(cluster, tmp_path) if cluster in MINORS else field_nodes(cluster, tmp_path)
    verdict = run_analysis(nodes)
    assert [finding.kind for finding in verdict.findings if finding.counts] == []
    assert verdict.sentence.startswith("No errors, no warnings")
    assert len(verdict.replicas) == len(nodes)
