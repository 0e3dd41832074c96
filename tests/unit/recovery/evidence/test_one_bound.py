"""`kraft check` and `kraft recover inspect` say of the same directories that the same records are committed.

A directory that only `kraft check` can read is the one reason for a difference; both commands name it.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
from pathlib import Path
from typing import Final

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.tools.backup.export import export_replica
from metadata_log.tools.check.check import check_paths
from quorum.cli.main import run
from quorum.recovery.inspection import inspect_copies
from tests.support.all_damage import ALL_DAMAGE
from tests.support.clusters import SCENARIOS
from tests.support.damage import copy_cluster
from tests.support.one_fault import FAULTS, metadata_of, with_one_fault

_SEEDS: Final = range(400 if os.environ.get("LONG") else 40)
_PLANTED: Final = {damage.name: damage for damage in ALL_DAMAGE}
_WITH_FAULTS: Final = (
    "basic", "basic-4.4", "dynamic-voters", "every-record", "failovers", "failovers-4.4", "static-3.9", "upgrade-path",
)  # fmt: skip
_DENIED: Final = {
    24: 114,  # the last epoch of a broker's log, by its `quorum-state`
    133: 313,  # an epoch in the middle of a voter's log, by the epochs behind it
}
"""Seeds of one fault: an epoch in one log that its own files deny; and the offset before which all is committed."""
_PAIRS: Final = {
    121: 127,  # a majority of the logs once was as long, with other records at the end
    61: 437,  # two logs part within an epoch, and nothing says which is right
    169: 192,  # the same beside records that a majority holds
}
"""Seeds of two faults, and the offset before which all is committed."""


def directories(root: Path) -> list[str]:
    """Return all log directories of a cluster, those without a metadata log, too."""
    disks = (found.parent for name in ("__cluster_metadata-0", "meta.properties") for found in root.glob(f"*/*/{name}"))
    return sorted(set(map(str, disks)))


def bounds(paths: list[str]) -> tuple[int, int]:
    """Return the offset before which all is committed by `kraft check`, and by `kraft recover inspect`."""
    by_check = check_paths([Path(path) for path in paths])
    found = inspect_copies(OsFiles(), paths)
    unread = [one for one in found.unjudged if one.may_hold_more]
    assert len(unread) <= sum(one.kind == "unreadable_file" for one in by_check.findings)
    return by_check.bounds.lower, by_check.bounds.lower if unread else found.evidence.bounds.lower


def with_faults(seed: int, count: int, clusters: Path, target: Path) -> Path:
    """Copy a scenario, and plant faults on random nodes; the seed draws all."""
    draw = random.Random(seed)
    scenario = draw.choice(_WITH_FAULTS)
    cluster = copy_cluster(clusters / scenario, target / scenario)
    for _ in range(count):
        nodes = metadata_of(cluster.root)
        metadata = nodes[draw.choice(sorted(nodes))]
        names = list(FAULTS)
        draw.shuffle(names)
        next(name for name in names if FAULTS[name](metadata, draw))
    return cluster.root


def planted(name: str, clusters: Path, target: Path) -> Path:
    damage = _PLANTED[name]
    cluster = copy_cluster(clusters / damage.scenario, target / damage.scenario)
    damage.plant(cluster)
    return cluster.root


def test_a_partition_directory_proves_commits_to_both(clusters: Path) -> None:
    """All copies hold the record that assigned it, but no majority of the voters does."""
    assert bounds([str(clusters / "dynamic-voters" / "node-11" / "data")]) == (59, 59)


def test_exports_of_controllers_prove_commits_to_both(clusters: Path, tmp_path: Path) -> None:
    exports = [tmp_path / str(node) for node in (1, 2, 3)]
    for node, export in zip((1, 2, 3), exports, strict=True):
        export_replica(clusters / "basic" / f"node-{node}" / "data", export)
    paths = list(map(str, exports))
    assert bounds(paths) == (96, 96)
    assert check_paths(exports).bounds.upper is None, "a node may have gone on since its export"
    assert inspect_copies(OsFiles(), paths).evidence.bounds.upper is None


def test_an_election_names_the_voters_whose_records_count(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "static-3.9", tmp_path / "static-3.9")
    for metadata in metadata_of(cluster.root).values():
        (metadata / "quorum-state").unlink()
    paths = directories(cluster.root)
    assert bounds(paths) == (114, 114)
    assert check_paths([cluster.root]).bounds.upper is None, "other static voters may be configured by now"


def test_a_change_of_the_voters_that_no_leader_writes_counts_for_neither(clusters: Path, tmp_path: Path) -> None:
    assert bounds(directories(planted("voters_removed_at_once", clusters, tmp_path))) == (96, 96)


@pytest.mark.parametrize(("seed", "end"), _DENIED.items())
def test_a_false_epoch_is_judged_alike(seed: int, end: int, clusters: Path, tmp_path: Path) -> None:
    root = with_one_fault(seed, clusters, tmp_path).cluster.root
    assert bounds(directories(root)) == (end, end)


@pytest.mark.parametrize(("seed", "end"), _PAIRS.items())
def test_of_what_may_differ_both_say_no_more(seed: int, end: int, clusters: Path, tmp_path: Path) -> None:
    assert bounds(directories(with_faults(seed, 2, clusters, tmp_path))) == (end, end)


def test_inspect_prints_it_beside_a_conflict(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = directories(with_faults(169, 2, clusters, tmp_path))
    run(["check", *paths])
    assert "at least all before offset 192 is committed" in " ".join(capsys.readouterr().out.split())
    run(["recover", "inspect", *paths])
    said = capsys.readouterr().out
    assert "CONFLICT: " in said
    assert "Committed: all before offset 192 (" in said


def test_both_commands_name_what_inspect_cannot_read(clusters: Path, tmp_path: Path) -> None:
    root = planted("unreadable_checkpoint", clusters, tmp_path)
    (found,) = [one for one in check_paths([root]).findings if one.kind == "unreadable_file"]
    (left_out,) = [one for one in inspect_copies(OsFiles(), directories(root)).unjudged if one.may_hold_more]
    assert str(found.file) in left_out.problem


@pytest.mark.campaign
@pytest.mark.parametrize("name", _PLANTED)
def test_planted_damage_is_bounded_alike(name: str, clusters: Path, tmp_path: Path) -> None:
    assert len(set(bounds(directories(planted(name, clusters, tmp_path))))) == 1


@pytest.mark.campaign
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_any_two_directories_are_bounded_alike(scenario: str, clusters: Path) -> None:
    paths = [str(metadata.parent) for metadata in metadata_of(clusters / scenario).values()]
    for count in (1, 2, len(paths)):
        for some in itertools.combinations(paths, count):
            assert len(set(bounds(list(some)))) == 1, some


@pytest.mark.campaign
@pytest.mark.parametrize("seed", _SEEDS)
def test_two_faults_are_bounded_alike(seed: int, clusters: Path, tmp_path: Path) -> None:
    assert len(set(bounds(directories(with_faults(seed, 2, clusters, tmp_path))))) == 1


@pytest.mark.campaign
@pytest.mark.parametrize("seed", _SEEDS)
def test_a_fault_beside_a_lost_node_is_bounded_alike(seed: int, clusters: Path, tmp_path: Path) -> None:
    root = with_faults(seed, 1, clusters, tmp_path)
    shutil.rmtree(random.Random(seed).choice(sorted(root.glob("node-*"))))
    assert len(set(bounds(directories(root)))) == 1
