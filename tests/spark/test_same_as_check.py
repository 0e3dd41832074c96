"""Spark finds what `kraft check` finds in the same input: the same findings, word for word, and nothing else."""

from __future__ import annotations

import contextlib
import os
import random
from pathlib import Path

import pytest

from metadata_log.analysis import run_analysis
from metadata_log.errors import MetadataLogError
from metadata_log.tools.backup.export import export_replica
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Finding, printed
from tests.spark.faults import FAULTS, DoesNotApply, Scene, copy_scene
from tests.support.all_damage import ALL_DAMAGE
from tests.support.damage import copy_cluster
from tests.support.fresh_seed import fresh_seed

pytestmark = pytest.mark.timeout(600)
"""The first waits for a JVM."""

IS_LONG = bool(os.environ.get("LONG"))
SCENES = (
    "basic", "basic-4.4", "every-record", "every-record-4.4", "upgrade-path", "static-3.9", "dynamic-voters",
    "failovers", "failovers-4.4",
)  # fmt: skip
OF_CHECKPOINTS = ("a checkpoint that is not the log",)
"""The cluster `basic` has no checkpoint with topics."""
CUT_OFF = ("a torn tail",)
"""An export leaves it out."""
ALWAYS = ("properties_broken",)
"""The facts of this log hold an error, which the processes of Spark send each other."""
DRAWN = 200 if IS_LONG else 10


def found_by_both(*paths: Path) -> list[Finding]:
    """Return what both find."""
    verdict, checked = run_analysis(paths), check_paths(paths)
    assert verdict.findings == tuple(map(printed, checked.findings))
    assert (verdict.lower, verdict.upper, verdict.because) == (
        checked.bounds.lower, checked.bounds.upper, checked.bounds.because,
    )  # fmt: skip
    assert verdict.is_clean == checked.is_sound
    return [found for found in checked.findings if found.counts]


def _kinds(findings: list[Finding]) -> set[str]:
    """Return the kinds of the findings and of their consequences."""
    below = (text.partition(":")[0].partition(",")[0] for one in findings for text in one.consequences or ())
    return {*(one.kind for one in findings), *below}


def exported(scene: Scene, into: Path) -> Path:
    for number, replica in scene.items():
        export_replica(replica.directory, into / str(number))
    return into


def test_several_faults_are_found_by_both(clusters: Path, tmp_path: Path) -> None:
    """One is in a log, one in a file beside it, and one in a directory."""
    scene, draw = copy_scene(clusters / "basic", tmp_path / "cluster"), random.Random(1)
    names = ("an ISR member that is no replica", "two votes in an epoch", "one directory id on two nodes")
    for name in names:
        FAULTS[name].plant(scene, draw)
    kinds = _kinds(found_by_both(tmp_path / "cluster"))
    for name in names:
        assert kinds & set(FAULTS[name].kinds), (name, kinds)


@pytest.mark.campaign
@pytest.mark.parametrize("scenario", SCENES if IS_LONG else [None])
@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_found_by_both(name: str, scenario: str | None, clusters: Path, tmp_path: Path) -> None:
    of_name = "failovers" if name in OF_CHECKPOINTS else "basic"
    scene = copy_scene(clusters / (scenario or of_name), tmp_path / "cluster")
    try:
        FAULTS[name].plant(scene, random.Random(7))
    except DoesNotApply:
        assert scenario is not None
        return
    found = found_by_both(tmp_path / "cluster")
    assert found != []
    if scenario is not None:
        return
    assert _kinds(found) & set(FAULTS[name].kinds), found
    found = found_by_both(exported(scene, tmp_path / "exports"))
    assert name in CUT_OFF or _kinds(found) & set(FAULTS[name].kinds), found


@pytest.mark.campaign
@pytest.mark.parametrize("number", range(DRAWN))
def test_drawn_faults_are_found_by_both(number: int, clusters: Path, tmp_path: Path) -> None:
    seed = fresh_seed("SPARK_SEED")
    draw = random.Random(f"{seed} {number}")
    scene = copy_scene(clusters / draw.choice(SCENES), tmp_path / "cluster")
    chosen = draw.sample(sorted(FAULTS), draw.randrange(4))
    print(f"SPARK_SEED={seed}, log {number}: {chosen}")
    for name in chosen:
        with contextlib.suppress(DoesNotApply, MetadataLogError, IndexError):  # a fault before it has left no place
            FAULTS[name].plant(scene, draw)
    found_by_both(tmp_path / "cluster")


@pytest.mark.campaign
@pytest.mark.parametrize(
    "damage",
    [damage for damage in ALL_DAMAGE if IS_LONG or damage.name in ALWAYS],
    ids=lambda damage: damage.name,
)
def test_all_damage_is_found_by_both(damage: object, clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / damage.scenario, tmp_path / damage.scenario)  # type: ignore[attr-defined]
    damage.plant(cluster)  # type: ignore[attr-defined]
    found_by_both(cluster.root)
