"""The voters in force, by what replicas name, and which directory is one of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from metadata_log.directory import QUORUM_STATE_FILE
from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.tools.read.sources import find_sources
from metadata_log.tools.replicas.replica import read_replica
from metadata_log.tools.replicas.replica_set import ReplicaSet
from metadata_log.tools.replicas.voters_in_force import (
    NamedVoters,
    VotersInForce,
    is_voter,
    latest_set,
    may_be_voter,
    voters_in_force,
)
from metadata_log.tools.verify.depth import Depth

OLD, NEW = DirectoryId(b"\x01" * 16), DirectoryId(b"\x02" * 16)


def keys(*node_ids: int) -> tuple[ReplicaKey, ...]:
    return tuple(ReplicaKey(node_id=NodeId(node_id)) for node_id in node_ids)


def key(node_id: int, directory_id: DirectoryId) -> ReplicaKey:
    return ReplicaKey(node_id=NodeId(node_id), directory_id=directory_id)


@pytest.mark.parametrize(
    ("own", "voter", "votes", "may_vote"),
    [
        (key(1, OLD), key(1, OLD), True, True),
        (key(1, NEW), key(1, OLD), False, False),
        (keys(1)[0], key(1, OLD), False, True),
        (key(1, OLD), keys(1)[0], True, True),
        (keys(2)[0], key(1, OLD), False, False),
        (None, key(1, OLD), False, False),
    ],
    ids=["the same", "another disk", "no id here", "a static voter", "another node", "nothing says whose"],
)
def test_a_directory_without_an_id_may_be_the_voters_and_is_not(
    own: ReplicaKey | None, voter: ReplicaKey, votes: bool, may_vote: bool
) -> None:
    assert (is_voter(own, [voter]), may_be_voter(own, [voter])) == (votes, may_vote)


@pytest.mark.parametrize(
    ("ranked", "expected"),
    [
        ([NamedVoters(static=keys(1)), NamedVoters(recorded=keys(2))], VotersInForce(keys=keys(2), source="record")),
        ([NamedVoters(is_newer=True), NamedVoters(recorded=keys(2))], VotersInForce()),
        (
            [NamedVoters(electors=(NodeId(3),)), NamedVoters(static=keys(1))],
            VotersInForce(keys=keys(1), source="static"),
        ),
        ([NamedVoters(electors=(NodeId(3),))], VotersInForce(keys=keys(3), source="election")),
        (
            [NamedVoters(static=keys(9)), NamedVoters(static=keys(1)), NamedVoters(static=keys(1))],
            VotersInForce(keys=keys(1), source="static"),
        ),
        (
            [NamedVoters(static=keys(9), is_repaired=True), *[NamedVoters(static=keys(1))] * 2],
            VotersInForce(keys=keys(9), source="static"),
        ),
        ([NamedVoters()], VotersInForce()),
    ],
    ids=["a record first", "a later release", "static", "an election last", "most", "a repair", "nothing"],
)
def test_the_latest_voters(ranked: list[NamedVoters], expected: VotersInForce) -> None:
    assert latest_set(ranked) == expected


def test_only_an_election_is_not_certain() -> None:
    assert not latest_set([NamedVoters(electors=(NodeId(3),))]).is_certain
    assert latest_set([NamedVoters(static=keys(3))]).is_certain


@pytest.mark.parametrize(("committed", "before"), [(9, keys(1, 2, 3)), (11, ())])
def test_the_set_before_counts_until_the_change_is_committed(committed: int, before: tuple[ReplicaKey, ...]) -> None:
    named = NamedVoters(recorded=keys(1, 2), recorded_at=10, before=keys(1, 2, 3))

    found = voters_in_force([named], committed)

    assert found.before == before
    assert found.has_majority(keys(1, 2))
    assert not found.has_majority(keys(1))


def test_a_majority_is_needed_of_both_sets() -> None:
    voters = VotersInForce(keys=keys(1, 2, 3), before=keys(3, 4, 5), source="record")

    assert not voters.has_majority(keys(1, 2))
    assert voters.has_majority(keys(1, 3, 4))


@pytest.mark.parametrize(
    ("ranked", "before"),
    [
        ([NamedVoters(static=keys(1), electors=(NodeId(1), NodeId(2)))], keys(1, 2)),
        ([NamedVoters(static=keys(2, 1), electors=(NodeId(1), NodeId(2)))], ()),
        ([NamedVoters(static=keys(1), electors=(NodeId(2),), is_repaired=True)], ()),
        ([NamedVoters(static=keys(1)), NamedVoters(electors=(NodeId(2),))], ()),
        ([NamedVoters(static=keys(1))], ()),
    ],
    ids=["others", "the same", "a repair", "another log", "no election"],
)
def test_the_last_electors_count_beside_static_voters(
    ranked: list[NamedVoters], before: tuple[ReplicaKey, ...]
) -> None:
    assert voters_in_force(ranked, 0) == VotersInForce(keys=ranked[0].static, before=before, source="static")


def test_a_manifest_names_static_voters_before_the_last_election(clusters: Path, tmp_path: Path) -> None:
    shutil.copytree(clusters / "static-3.9" / "node-1", tmp_path / "node-1")
    (node,) = find_sources([tmp_path / "node-1"]).nodes
    assert node.metadata is not None
    (node.metadata / QUORUM_STATE_FILE).unlink()
    replica = read_replica(node, depth=Depth.BYTES)
    told = msgspec.structs.replace(node, static_voters=keys(1, 2))

    by_election = ReplicaSet([replica]).voters
    by_manifest = ReplicaSet([msgspec.structs.replace(replica, source=told)]).voters

    assert (by_election.source, by_election.ids) == ("election", (1, 2, 3))
    assert (by_manifest.source, by_manifest.keys, by_manifest.before) == ("static", keys(1, 2), keys(1, 2, 3))
