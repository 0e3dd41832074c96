"""One file that others contradict decides nothing in `kraft recover inspect`."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from quorum.recovery.advice.faults import note_of
from quorum.recovery.inspection import Inspection, inspect_copies
from quorum.recovery.journal.repair_facts import MayLose
from tests.support.all_damage import ALL_DAMAGE
from tests.support.damage import copy_cluster

_PLANTED = {damage.name: damage for damage in ALL_DAMAGE}


def inspected(name: str, clusters: Path, place: Path, *nodes: int) -> Inspection:
    """Return what inspect finds of these nodes, one of which has this damage."""
    damage = _PLANTED[name]
    cluster = copy_cluster(clusters / damage.scenario, place / damage.scenario)
    damage.plant(cluster)
    return inspect_copies(OsFiles(), [str(cluster.disk(node)) for node in nodes])


def voters_said(found: Inspection) -> tuple[list[int], list[int]]:
    """Return the latest voters, and those before them."""
    in_force = found.evidence.in_force
    return [int(one.node_id) for one in in_force.keys], [int(one.node_id) for one in in_force.before]


def test_one_static_voter_whose_log_names_three_electors_is_no_majority(clusters: Path, tmp_path: Path) -> None:
    found = inspected("static_voters_fewer", clusters, tmp_path, 1)

    assert voters_said(found) == ([1], [1, 2, 3])
    assert not found.is_whole
    assert found.evidence.absent_voters == (2, 3)
    assert "no metadata is lost" not in found.plan.situation
    assert "name 1 as the static voters" in found.plan.situation
    assert "elected among 1, 2, 3" in found.plan.situation
    assert found.plan.repairs[0].may_lose is not None
    assert found.plan.repairs[0].may_lose.voters == (2, 3)


@pytest.mark.parametrize("nodes", [(1, 2, 3), (1, 2, 3, 11, 12)])
def test_most_static_voters_are_those_of_the_log(nodes: tuple[int, ...], clusters: Path, tmp_path: Path) -> None:
    found = inspected("static_voters_fewer", clusters, tmp_path, *nodes)

    assert voters_said(found) == ([1, 2, 3], [])
    assert found.plan.is_whole
    assert not found.is_whole
    assert "Start controllers 3, 2 as they are" in found.plan.steps[0].text


def test_a_misnamed_checkpoint_accuses_no_voter(clusters: Path, tmp_path: Path) -> None:
    found = inspected("checkpoint_named_far_later", clusters, tmp_path, 1, 2, 3, 11, 12)
    repairs = {repair.on.split(" (")[0]: repair for repair in found.plan.repairs}

    assert found.evidence.stale == ()
    assert (found.evidence.bounds.lower, found.evidence.bounds.upper) == (326, 326)
    assert "A majority of the voters is here and sound (3 of 3" in found.plan.situation
    assert [repairs[f"node {node}"].loses for node in (1, 2, 3, 11, 12)] == [()] * 5
    assert any("00000000000000000900-0000000009.checkpoint" in step.text for step in found.plan.steps)
    assert any("kraft recover drop-snapshot" in line for step in found.plan.steps for line in step.commands)


@pytest.mark.parametrize("nodes", [(1,), (1, 2, 3)])
def test_a_voter_whose_checkpoint_is_misnamed_is_not_sound(
    nodes: tuple[int, ...], clusters: Path, tmp_path: Path
) -> None:
    found = inspected("only_checkpoint_named_later", clusters, tmp_path, *nodes)
    (own,) = (repair for repair in found.plan.repairs if repair.on.startswith("node 1 "))

    assert found.is_whole == (len(nodes) > 1)
    assert own.refused is not None
    assert "is misnamed" in own.refused
    assert "Start nothing from node 1 " in found.plan.steps[0].text


@pytest.mark.parametrize(
    ("name", "node", "said"),
    [
        ("static_voter_negative", 2, "a voter of it is -1, which is no node's id"),
        ("static_voter_twice", 2, "node 2 stands among its voters 2 times"),
        ("static_voter_thrice", 12, "node 1 stands among its voters 3 times"),
    ],
)
def test_static_voters_are_a_set_of_nodes(name: str, node: int, said: str, clusters: Path, tmp_path: Path) -> None:
    found = inspected(name, clusters, tmp_path, node)
    (copy,) = found.evidence.copies

    assert voters_said(found) == ([1, 2, 3], [])
    assert found.evidence.absent_voters == tuple(voter for voter in (1, 2, 3) if voter != node)
    assert note_of(found.evidence, copy) == f"quorum-state: {said}"


def test_one_voter_is_counted_in_the_singular(clusters: Path, tmp_path: Path) -> None:
    situation = inspected("static_voters_fewer", clusters, tmp_path, 1).plan.situation

    assert "of 1 voter 1 is needed, and 2 of the 3 before; not here: voter 2, voter 3. And" in situation
    assert str(MayLose(voters=(1,), past_offset=9)).startswith("records that a majority with voter 1 acknowledged")
    assert str(MayLose(voters=(1, 2), past_offset=9)).startswith("records that a majority with voters 1, 2 ")


def test_the_situation_names_voters_that_are_not_sound(clusters: Path, tmp_path: Path) -> None:
    situation = inspected("cut_on_majority", clusters, tmp_path, 1, 2, 3, 11, 12).plan.situation

    assert situation.startswith("No majority of the voters is here and sound: of 3 voters 2 are needed; not sound: ")
    assert [f"node {node} (" in situation for node in (1, 2, 3)] == [True, True, False]


def test_a_copy_that_lacks_a_no_op_loses_no_metadata(clusters: Path, tmp_path: Path) -> None:
    repairs = inspected("cut_on_majority", clusters, tmp_path, 3, 12).plan.repairs

    assert [(repair.keeps, repair.loses, repair.is_behind) for repair in repairs] == [
        ("everything up to offset 96 of epoch 1", (), False),
        ("everything up to offset 95 of epoch 1", (), True),
    ]
