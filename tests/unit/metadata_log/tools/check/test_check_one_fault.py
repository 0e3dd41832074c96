"""Clusters with one fault, each made from a seed: no error names a node that is sound."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Severity
from tests.support.one_fault import with_one_fault

_SEEDS: Final = 200 if os.environ.get("LONG") else 30
_CHEAP: Final = (1, 2, 3)


def _accused(seed: int, clusters: Path, target: Path) -> list[str]:
    """Return what errors say of nodes other than the one with the fault."""
    planted = with_one_fault(seed, clusters, target)
    report = check_paths([planted.cluster.root])
    return [
        f"{planted.said}: {found.kind} on node {found.node_id}: {found.meaning}"
        for found in report.findings
        if found.severity is Severity.ERROR and found.node_id != planted.node_id
    ]


@pytest.mark.parametrize("seed", _CHEAP)
def test_one_fault_accuses_no_sound_node(seed: int, clusters: Path, tmp_path: Path) -> None:
    assert _accused(seed, clusters, tmp_path) == []


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(100, 100 + _SEEDS))
def test_one_fault_of_many_accuses_no_sound_node(seed: int, clusters: Path, tmp_path: Path) -> None:
    assert _accused(seed, clusters, tmp_path) == []
