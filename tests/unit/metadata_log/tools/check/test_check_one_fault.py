"""Clusters with one fault, each made from a seed: no error names a node that is sound."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Final

import pytest

from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Severity
from tests.support.damage import copy_cluster
from tests.support.one_fault import FAULTS, metadata_of, put_foreign_log

_SCENARIOS: Final = ("basic", "basic-4.4", "every-record", "failovers", "failovers-4.4", "static-3.9", "upgrade-path")
_FOREIGN: Final = "foreign log"
_SEEDS: Final = 200 if os.environ.get("LONG") else 30
_CHEAP: Final = (1, 2, 3)


def _accused(seed: int, clusters: Path, target: Path) -> list[str]:
    """Return what errors say of nodes other than the one with the fault."""
    draw = random.Random(seed)
    scenario = draw.choice(_SCENARIOS)
    cluster = copy_cluster(clusters / scenario, target / scenario)
    nodes = metadata_of(cluster.root)
    node_id = draw.choice(sorted(nodes))
    names = [*FAULTS, _FOREIGN]
    draw.shuffle(names)
    for name in names:
        if name == _FOREIGN:
            other = draw.choice([each for each in _SCENARIOS if each != scenario])
            foreign = metadata_of(clusters / other)
            put_foreign_log(nodes[node_id], foreign[draw.choice(sorted(foreign))])
            break
        if FAULTS[name](nodes[node_id], draw):
            break
    report = check_paths([cluster.root])
    return [
        f"{scenario}, {name} on node {node_id}: {found.kind} on node {found.node_id}: {found.meaning}"
        for found in report.findings
        if found.severity is Severity.ERROR and found.node_id != node_id
    ]


@pytest.mark.parametrize("seed", _CHEAP)
def test_one_fault_accuses_no_sound_node(seed: int, clusters: Path, tmp_path: Path) -> None:
    assert _accused(seed, clusters, tmp_path) == []


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(100, 100 + _SEEDS))
def test_one_fault_of_many_accuses_no_sound_node(seed: int, clusters: Path, tmp_path: Path) -> None:
    assert _accused(seed, clusters, tmp_path) == []
