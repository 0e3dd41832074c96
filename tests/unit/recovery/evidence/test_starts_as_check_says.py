"""Clusters with a planted fault: `kraft recover inspect` starts no node that `kraft check` says not to start.

Nor does it refuse a node of which `kraft check` says nothing.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import parse_header
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Finding
from quorum.recovery.inspection import Inspection, inspect_copies
from tests.support.all_damage import ALL_DAMAGE
from tests.support.damage import copy_cluster, split, write
from tests.support.damage_reach import bare
from tests.support.one_fault import metadata_of, with_one_fault

_SEEDS: Final = 200 if os.environ.get("LONG") else 60
_PLANTED: Final = {damage.name: damage for damage in ALL_DAMAGE}
_OF_VOTES: Final = (
    "quorum_state_old",
    "quorum_state_other_leader",
    "two_votes",
    "vote_for_a_broker",
    "vote_for_other_directory",
    "voter_set_back",
)
_NOT_STARTED: Final = {
    "voted_in_another_cluster": {1, 2},  # its votes
    "isr_outside": {1, 2},  # a record that its log alone has
    "sent_checkpoint_kraft_version_0": {1, 3},  # its newest checkpoint
    "silently_different": {1, 3},  # the other logs, by their checksums
    "kraft_version_fallen": {1, 3},  # its record, and no other node by it
    "led_and_lost": {1, 3},  # a lost end, perhaps
    "flipped_bootstrap": {1, 2, 3},  # a file that the plan moves away before
}
"""The controllers that start, by the damage of one controller, and what keeps the other from it."""
_LEFT: Final = {
    "other_first_checkpoint": "the metadata of a checkpoint, compared with other logs' images",
}
"""Damage that `kraft recover inspect` does not read."""
_OUTRUN: Final = 5103
"""A seed: an impossible record on a follower, which outruns its leader."""


def started(found: Inspection) -> dict[int, int]:
    """Return the controllers that the plan starts, each with the number of its step."""
    named = (
        (number, ids)
        for number, step in enumerate(found.plan.steps)
        for ids in re.findall(r"[Ss]tart controllers? ([0-9, ]+)", step.text)
    )
    return {int(node_id): number for number, ids in named for node_id in re.findall(r"[0-9]+", ids)}


def is_cured(one: Finding, found: Inspection, until: int) -> bool:
    """Return True if a step before the start names the file, or the other copies show that nothing is lost."""
    known = found.evidence
    steps = found.plan.steps[:until]
    # As fragment of a path: a step for a file of another node is no cure.
    if one.file is not None and any(one.file in str(step) or name_in(one.file) in str(step) for step in steps):
        return True
    if one.file is not None and one.file.endswith(".checkpoint"):  # the step names the directory alone
        drop = f"drop-snapshot --dir {Path(one.file).parents[1]} "
        if any(command.find(drop) >= 0 for step in steps for command in step.commands):
            return True
    furthest = max(copy.rank for copy in known.copies)
    whole = [copy for copy in known.copies if copy.rank == furthest and copy.node_id != one.node_id]
    return one.is_until_compared and known.has_majority(whole)


def name_in(file: str) -> str:
    """Return the last two parts of a path: the log directory may be written otherwise in a command."""
    return "/".join(file.rsplit("/", 2)[1:])


def directories(root: Path) -> list[str]:
    """Return all log directories of a cluster, those of brokers without a metadata log, too."""
    with_log = [metadata.parent for metadata in metadata_of(root).values()]
    disks = (properties.parent for properties in sorted(root.glob("node-*/*/meta.properties")))
    return [str(disk) for disk in dict.fromkeys((*with_log, *disks))]


def contradictions(root: Path) -> list[str]:
    """Return each node that one command starts against the other's advice, or refuses without a finding."""
    findings = check_paths([root]).findings
    found = inspect_copies(OsFiles(), directories(root))
    starts, named = started(found), {one.node_id for one in findings}
    said = [
        f"starts {one.node_id}: {one.kind}"
        for one in findings
        if one.bars_start and one.node_id in starts and not is_cured(one, found, starts[one.node_id])
    ]
    below = " ".join(text for one in findings for text in one.consequences or ())
    refused = (
        one
        for one in found.evidence.stale
        if one.copy.node_id not in named and f"node {one.copy.node_id} " not in below
    )
    return said + [f"refuses {one}" for one in refused]


@pytest.mark.parametrize("name", _OF_VOTES)
def test_a_node_whose_vote_is_in_doubt_does_not_start(name: str, clusters: Path, tmp_path: Path) -> None:
    damage = _PLANTED[name]
    cluster = copy_cluster(clusters / damage.scenario, tmp_path / damage.scenario)
    damage.plant(cluster)
    barred = {one.node_id for one in check_paths([cluster.root]).findings if one.bars_start}
    dirs = [str(metadata.parent) for metadata in metadata_of(cluster.root).values()]

    found = inspect_copies(OsFiles(), dirs)

    assert barred
    assert set(started(found)) == {1, 2, 3} - barred


@pytest.mark.parametrize("name", _NOT_STARTED)
def test_a_node_that_check_bars_does_not_start(name: str, clusters: Path, tmp_path: Path) -> None:
    damage = _PLANTED[name]
    cluster = copy_cluster(clusters / damage.scenario, tmp_path / damage.scenario)
    damage.plant(cluster)
    found = inspect_copies(OsFiles(), [str(metadata.parent) for metadata in metadata_of(cluster.root).values()])

    assert set(started(found)) == _NOT_STARTED[name]
    assert found.is_whole == (name == "flipped_bootstrap")
    assert bool(found.evidence.conflicts) == (name == "silently_different")


def test_a_forged_record_accuses_no_sound_leader(clusters: Path, tmp_path: Path) -> None:
    assert contradictions(with_one_fault(_OUTRUN, clusters, tmp_path).cluster.root) == []


@pytest.mark.parametrize(
    ("shorter", "starting", "held"), [((), {1, 2, 3}, set()), ((3,), {1, 2, 3}, set()), ((2,), {1, 2}, {3})]
)
def test_a_leader_without_its_epoch_is_held_and_not_the_node_whose_file_names_it(
    shorter: tuple[int, ...], starting: set[int], held: set[int], clusters: Path, tmp_path: Path
) -> None:
    """The quorum-state of node 1 names node 3, which is harmless if a majority of the others holds all records."""
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    _PLANTED["leader_without_epoch"].plant(cluster)
    for node in shorter:
        path = cluster.segment(node, 320 if node == 2 else 294)
        write(path, [batch for batch in split(path) if parse_header(batch).next_offset <= 322])
        bare(cluster, node, ".index", ".timeindex", ".snapshot")

    found = inspect_copies(OsFiles(), [str(cluster.disk(node)) for node in (1, 2, 3)])

    assert set(started(found)) == starting
    assert {one.copy.node_id for one in found.evidence.barred} == held
    assert [(one.found.node_id, one.found.meaning.partition(" says")[0]) for one in found.evidence.barred] == [
        (node, "the quorum-state of node 1") for node in held
    ]
    findings = check_paths([cluster.root]).findings
    assert [(one.kind, one.node_id) for one in findings if one.counts] == [("leader_without_epoch", 1)]
    assert contradictions(cluster.root) == []


@pytest.mark.parametrize(("name", "why"), [("voter_twice", "names node 1 twice"), ("nobody_votes", "leaves no voter")])
def test_a_voter_set_that_is_none_ends_the_valid_prefix(name: str, why: str, clusters: Path, tmp_path: Path) -> None:
    damage = _PLANTED[name]
    cluster = copy_cluster(clusters / damage.scenario, tmp_path / damage.scenario)
    damage.plant(cluster)
    dirs = [str(metadata.parent) for metadata in metadata_of(cluster.root).values()]

    found = inspect_copies(OsFiles(), dirs)

    stops = [copy.stop.what for copy in found.evidence.copies if copy.stop is not None]
    assert len(stops) == 1
    assert stops[0].endswith(f"VotersRecord at offset 2 {why}")
    assert not any("is gone" in one.why for one in found.evidence.stale)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(100, 100 + _SEEDS))
def test_one_fault_is_judged_alike(seed: int, clusters: Path, tmp_path: Path) -> None:
    planted = with_one_fault(seed, clusters, tmp_path)
    assert contradictions(planted.cluster.root) == [], planted.said


@pytest.mark.campaign
@pytest.mark.parametrize("name", sorted(_PLANTED.keys() - _LEFT))
def test_planted_damage_is_judged_alike(name: str, clusters: Path, tmp_path: Path) -> None:
    damage = _PLANTED[name]
    cluster = copy_cluster(clusters / damage.scenario, tmp_path / damage.scenario)
    damage.plant(cluster)
    assert contradictions(cluster.root) == []
