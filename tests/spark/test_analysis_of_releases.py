"""Nothing is found in clusters of any release, nor in those that began on old ones, or on ZooKeeper."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.analysis import run_analysis
from tests.support.damage import split, with_epoch
from tests.support.every_run import in_every_run
from tests.support.field import field_nodes
from tests.support.releases_fixture import MINORS, unpack_release

pytestmark = pytest.mark.timeout(600)
"""The first waits for a JVM."""
CLUSTERS = ("F01", "F02", "F20", *MINORS)
WRONG = {"F20": ["partition_without_id"]}
"""A broker of 3.2 was killed before it wrote the id of one partition."""


@pytest.mark.parametrize("cluster", in_every_run(("F01", "3.3", "4.4"), {name: name for name in CLUSTERS}))
def test_nothing_is_found(cluster: str, tmp_path: Path) -> None:
    nodes = unpack_release(cluster, tmp_path) if cluster in MINORS else field_nodes(cluster, tmp_path)
    verdict = run_analysis(nodes)
    assert [finding.kind for finding in verdict.findings if finding.counts] == WRONG.get(cluster, [])
    assert verdict.sentence.startswith("Not clean: 1 error" if cluster in WRONG else "No errors, no warnings")
    assert len(verdict.replicas) == len(nodes)


def test_the_first_leader_may_have_replicated_no_leader_change(tmp_path: Path) -> None:
    nodes = field_nodes("F01", tmp_path)[:3]
    for node in nodes:
        path = node / "data" / "__cluster_metadata-0" / "00000000000000000000.log"
        first, *later = split(path)
        path.write_bytes(b"".join([first, *(with_epoch(batch, 3) for batch in later)]))
    assert "epoch_without_leader" not in {finding.kind for finding in run_analysis(nodes).findings}
