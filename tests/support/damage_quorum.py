"""Damage to a quorum's own state: voters and kraft.version in all logs alike, and votes, in quorum-state files."""

from __future__ import annotations

from collections.abc import Callable

from metadata_log.batch import parse_header
from metadata_log.directory import QUORUM_STATE_FILE
from tests.support.damage import Cluster, Damage, Planted, split, write
from tests.support.damage_reach import bare
from tests.support.damage_voters import Change, at_version_0, change_controls, without_voter_3

_NODES = (1, 2, 3, 11, 12)
_CHECKPOINTS = frozenset({"checkpoint_disagrees"})
"""The first checkpoints of all controllers say what the log said."""

_SHORTER = _CHECKPOINTS | {"index_wrong"}
"""What comes after a shorter record has moved."""


def _in_all_logs(change: Change, kind: str, offset: int, also: frozenset[str]) -> Callable[[Cluster], Planted]:
    def plant(cluster: Cluster) -> Planted:
        for node_id in _NODES:
            change_controls(cluster.segment(node_id), change)
        return Planted(kind, 1, cluster.segment(1), offset, 0, also)

    return plant


def _in_state(node_id: int, old: str, new: str, kind: str) -> Callable[[Cluster], Planted]:
    def plant(cluster: Cluster) -> Planted:
        path = cluster.metadata(node_id) / QUORUM_STATE_FILE
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        return Planted(kind, node_id, path)

    return plant


def set_back(cluster: Cluster) -> Planted:
    """Voter 2, which led epochs 6 and 8, as it was in epoch 3: all of its files agree."""
    cluster.segment(2, 320).unlink()
    bare(cluster, 2, ".index", ".timeindex", ".snapshot", ".trimmed")
    path = cluster.segment(2, 244)
    write(path, [batch for batch in split(path) if parse_header(batch).base_offset < 263])
    (cluster.metadata(2) / "leader-epoch-checkpoint").write_text("0\n2\n1 244\n3 253\n")
    state = cluster.metadata(2) / QUORUM_STATE_FILE
    state.write_text(
        '{"leaderId":3,"leaderEpoch":3,"votedId":3,"votedDirectoryId":"ZGlyZWN0b3J5LWlkLTAwMw","data_version":1}'
    )
    return Planted("voter_set_back", 2, state)


_VOTE = '"votedId":3,"votedDirectoryId":"ZGlyZWN0b3J5LWlkLTAwMw"'
_NO_VOTE = '"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA"'
_ALL_VOTERS = '[{"voterId":1},{"voterId":2},{"voterId":3}]'
_ONE_VOTER = '[{"voterId":1}]'
_OTHER_VOTER = '[{"voterId":1},{"voterId":2},{"voterId":5}]'

QUORUM_DAMAGE = [
    Damage("voters_at_kraft_version_0", "basic", _in_all_logs(at_version_0, "impossible_record", 2, _CHECKPOINTS)),
    Damage("leader_dropped_of_voters", "basic", _in_all_logs(without_voter_3, "leader_not_voter", 0, _SHORTER)),
    Damage("vote_forgotten", "basic", _in_state(2, _VOTE, _NO_VOTE, "vote_forgotten")),
    Damage("vote_of_observer", "failovers", _in_state(11, _NO_VOTE, _VOTE, "vote_of_stranger")),
    Damage("static_voters_fewer", "static-3.9", _in_state(1, _ALL_VOTERS, _ONE_VOTER, "static_voters_differ")),
    Damage("static_voters_other", "static-3.9", _in_state(1, _ALL_VOTERS, _OTHER_VOTER, "static_voters_differ")),
    Damage("static_voters_of_broker", "static-3.9", _in_state(12, _ALL_VOTERS, _ONE_VOTER, "static_voters_differ")),
    Damage("voter_set_back", "failovers", set_back),
]
