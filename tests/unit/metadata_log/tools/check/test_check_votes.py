"""The votes of a LeaderChange after a disk was replaced: it names nodes, but a vote is that of a directory."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from metadata_log.directory import QUORUM_STATE_FILE
from metadata_log.ids import ZERO_DIRECTORY_ID, DirectoryId, NodeId, ReplicaKey, id_text
from metadata_log.records import NoOpRecord, VotersRecord
from metadata_log.records.control import KRaftVersionFeature, VotersRecordVoter
from metadata_log.storage.segment import segment_file
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.read.control_facts import Election, QuorumChange
from metadata_log.tools.replicas.given_votes import was_granted
from metadata_log.tools.verify.log_facts import voter_sets
from tests.support.damage import Cluster, append, copy_cluster
from tests.support.damage_quorum import NO_VOTE, VOTE_FOR_3, with_voters
from tests.support.damage_voters import of_voters

OLD, NEW = DirectoryId(b"a" * 16), DirectoryId(b"b" * 16)
WITH_OLD, WITH_NEW, REMOVED = ((1, OLD), (2, OLD), (3, OLD)), ((1, OLD), (2, NEW), (3, OLD)), ((1, OLD), (3, OLD))
UPGRADED = ((1, OLD), (2, ZERO_DIRECTORY_ID), (3, OLD))
AT = 100
"""Where node 3 begins its epoch with node 2's vote."""
Voters = tuple[tuple[int, DirectoryId], ...]


def _record(voters: Voters) -> VotersRecord:
    feature = KRaftVersionFeature(min_supported_version=0, max_supported_version=1)
    return VotersRecord(
        voters=tuple(
            VotersRecordVoter(
                voter_id=NodeId(node_id), voter_directory_id=directory_id, endpoints=(), kraft_version_feature=feature
            )
            for node_id, directory_id in voters
        )
    )


def _facts(log: dict[int, Voters], checkpoints: dict[int, Voters]) -> Any:
    """A log's facts by its voter sets: in its log, by offset, and in its checkpoints, by end offset."""
    changes = [QuorumChange(offset=at, begins_log=False, voters=_record(voters)) for at, voters in log.items()]
    told = [
        SimpleNamespace(
            end=SimpleNamespace(offset=end),
            voters=tuple(ReplicaKey(node_id=NodeId(node_id), directory_id=at) for node_id, at in voters),
        )
        for end, voters in checkpoints.items()
    ]
    return SimpleNamespace(quorum_changes=changes, checkpoints=told)


def _key(directory_id: DirectoryId) -> ReplicaKey:
    return ReplicaKey(node_id=NodeId(2), directory_id=directory_id)


ELECTION = Election(
    epoch=7,
    leader_id=3,
    voters=(NodeId(1), NodeId(2), NodeId(3)),
    granting=(NodeId(2), NodeId(3)),
    offset=AT,
    file="",
    position=0,
    is_repairs=False,
)


@pytest.mark.parametrize(
    ("log", "checkpoints", "voted"),
    [
        ({}, {}, {OLD, NEW}),
        ({10: WITH_OLD}, {}, {OLD}),
        ({10: WITH_OLD, 110: REMOVED, 120: WITH_NEW}, {}, {OLD}),
        ({10: WITH_OLD, 20: REMOVED, 30: WITH_NEW}, {}, {NEW}),
        ({110: REMOVED, 120: WITH_NEW}, {AT: WITH_OLD}, {OLD}),
        ({30: WITH_NEW}, {25: WITH_OLD}, {NEW}),
        ({110: WITH_OLD, 120: REMOVED, 130: WITH_NEW}, {}, {OLD}),
        ({110: UPGRADED, 120: REMOVED}, {}, {OLD, NEW}),
        ({110: REMOVED, 120: WITH_NEW}, {}, set()),
    ],
    ids=[
        "static voters name no directory",
        "by the set before",
        "replaced since",
        "replaced before",
        "by the checkpoint before",
        "by what is later of both",
        "by the first set of an upgraded quorum",
        "which names no directory",
        "nobody knows",
    ],
)
def test_the_vote_is_of_the_directory_that_was_a_voter_then(
    log: dict[int, Voters], checkpoints: dict[int, Voters], voted: set[DirectoryId]
) -> None:
    told = voter_sets(_facts(log, checkpoints))

    assert {it for it in (OLD, NEW) if was_granted(_key(it), told, ELECTION)} == voted


def _on_new_disk(voter: VotersRecordVoter) -> VotersRecordVoter:
    return msgspec.structs.replace(voter, voter_id=NodeId(2), voter_directory_id=NEW)


@pytest.fixture
def replaced(clusters: Path, tmp_path: Path) -> Cluster:
    """Voter 2 was taken out and added again in the epoch in which it had voted, and its quorum-state knows no vote."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    segments = [cluster.segment(node_id) for node_id in (1, 2, 3, 11, 12)]
    longest = max((segment.read_bytes() for segment in segments), key=len)
    for segment in segments:
        segment.write_bytes(longest)
        with_voters(segment, of_voters(lambda voters: (voters[0], voters[2])))
        with_voters(segment, of_voters(lambda voters: (*voters, _on_new_disk(voters[0]))))
    state = cluster.metadata(2) / QUORUM_STATE_FILE
    assert VOTE_FOR_3 in state.read_text()
    state.write_text(state.read_text().replace(VOTE_FOR_3, NO_VOTE))
    return cluster


def test_a_new_disk_owes_no_vote_that_the_disk_before_it_gave(replaced: Cluster) -> None:
    properties = replaced.disk(2) / "meta.properties"
    lines = [line for line in properties.read_text().splitlines() if not line.startswith("directory.id=")]
    properties.write_text("\n".join([*lines, f"directory.id={id_text(NEW)}"]) + "\n")

    assert [each.kind for each in check_paths([replaced.root]).findings] == []


def test_the_disk_that_voted_owes_its_vote_also_where_another_has_replaced_it(replaced: Cluster) -> None:
    assert "vote_forgotten" in [each.kind for each in check_paths([replaced.root]).findings]


def test_a_log_that_goes_on_from_where_its_own_choice_began_is_not_the_one_that_voted(
    clusters: Path, tmp_path: Path
) -> None:
    """Node 2 voted for node 3, which began at offset 127. A voter with a record there refuses that vote."""
    cluster = copy_cluster(clusters / "basic-4.4", tmp_path / "basic-4.4")
    append(cluster.metadata(2) / segment_file(0), [NoOpRecord()])

    (found,) = [each for each in check_paths([cluster.root]).findings if each.counts]

    assert (found.kind, found.node_id, found.offset, found.epoch) == ("voter_set_back", 2, 127, 3)
    assert found.meaning.startswith("it voted for node 3 in epoch 3, which began at offset 127 (by the log of node 3)")
