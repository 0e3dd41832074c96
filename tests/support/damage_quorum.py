"""Damage to a quorum's own state: voters and kraft.version in all logs alike, and votes in quorum-state files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from metadata_log.directory import QUORUM_STATE_FILE
from metadata_log.format.batch import batch_records, build_control_batch, parse_header
from metadata_log.ids import DirectoryId, NodeId
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import (
    ControlRecord,
    LeaderChangeMessage,
    LeaderChangeVoter,
    VotersRecord,
    decode_control,
    encode_control,
)
from metadata_log.records.control import VotersRecordVoter
from tests.support.damage import Cluster, Damage, Planted, split, write
from tests.support.damage_reach import bare
from tests.support.damage_voters import (
    SENT_CHECKPOINT,
    Change,
    at_version_0,
    change_controls,
    in_other_directory,
    of_voters,
    without_voter_3,
)

_NODES = (1, 2, 3, 11, 12)
_CHECKPOINTS = frozenset({"checkpoint_disagrees"})
"""The first checkpoints of all controllers still hold the log's former records."""

_SHORTER = _CHECKPOINTS | {"index_wrong"}
"""Findings that follow after a shorter record has moved the bytes behind it."""


def _in_all_logs(change: Change, kind: str, offset: int, also: frozenset[str]) -> Callable[[Cluster], Planted]:
    def plant(cluster: Cluster) -> Planted:
        for node_id in _NODES:
            change_controls(cluster.segment(node_id), change)
        return Planted(kind, 1, cluster.segment(1), offset, 0, also)

    return plant


def _in_state(node_id: int, old: str, new: str, kind: str, *also: str) -> Callable[[Cluster], Planted]:
    def plant(cluster: Cluster) -> Planted:
        path = cluster.metadata(node_id) / QUORUM_STATE_FILE
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        return Planted(kind, node_id, path, also=frozenset(also))

    return plant


def _observers_state(cluster: Cluster) -> Planted:
    """A broker's quorum-state, which is of version 0, in place of that of a voter that voted."""
    path = cluster.metadata(2) / QUORUM_STATE_FILE
    path.write_bytes((cluster.metadata(12) / QUORUM_STATE_FILE).read_bytes())
    return Planted("vote_forgotten", 2, path)


def with_voters(path: Path, change: Change, *, told_in: Path | None = None, repairs: bool = False) -> tuple[int, int]:
    """Append a voter set; return its offset and position.

    It is derived from the segment's last set, or from the set in the checkpoint `told_in`. `repairs`: as `kraft
    recover` writes it, after the LeaderChange of an epoch that no voter voted for.
    """
    last = parse_header(split(path)[-1])
    epoch = int(last.partition_leader_epoch)
    after = change(_last_voters(told_in or path))
    assert isinstance(after, VotersRecord)
    records: list[ControlRecord] = [after]
    if repairs:
        epoch += 1
        voters = tuple(LeaderChangeVoter(voter_id=voter.voter_id) for voter in after.voters)
        records.insert(0, LeaderChangeMessage(leader_id=voters[0].voter_id, voters=voters, granting_voters=()))
    batch = build_control_batch(
        base_offset=Offset(last.next_offset),
        epoch=Epoch(epoch),
        timestamp_ms=last.max_timestamp,
        records=[encode_control(record) for record in records],
    )
    position = path.stat().st_size
    path.write_bytes(path.read_bytes() + batch)
    return int(last.next_offset) + len(records) - 1, position


def _last_voters(path: Path) -> VotersRecord:
    found = []
    for batch in split(path):
        header = parse_header(batch)
        raws = batch_records(batch, header) if header.is_control else []
        found += [decode_control(raw.key or b"", raw.value or b"") for raw in raws]
    return [record for record in found if isinstance(record, VotersRecord)][-1]


def _another(voter: VotersRecordVoter, node_id: int) -> VotersRecordVoter:
    directory = DirectoryId(b"a disk of node " + str(node_id).encode())
    return msgspec.structs.replace(voter, voter_id=NodeId(node_id), voter_directory_id=directory)


only_voter_1 = of_voters(lambda voters: voters[:1])
with_two_more = of_voters(
    lambda voters: (
        *voters,
        _another(voters[0], 8),
        _another(voters[0], 9),
    )
)


_9_for_3 = of_voters(lambda voters: (*voters[:2], _another(voters[2], 9)))


def _at_once(change: Change) -> Callable[[Cluster], Planted]:
    def plant(cluster: Cluster) -> Planted:
        path = cluster.segment(3)
        offset, position = with_voters(path, change)
        return Planted("voters_changed_at_once", 3, path, offset, position)

    return plant


def _impossible(change: Change) -> Callable[[Cluster], Planted]:
    def plant(cluster: Cluster) -> Planted:
        path = cluster.segment(3)
        offset, position = with_voters(path, change)
        return Planted("impossible_record", 3, path, offset, position)

    return plant


without_address = of_voters(lambda voters: (*voters[:2], msgspec.structs.replace(voters[2], endpoints=())))


def _at_once_after_checkpoint(cluster: Cluster) -> Planted:
    path = cluster.segment(2, 320)
    offset, position = with_voters(path, only_voter_1, told_in=cluster.metadata(2) / SENT_CHECKPOINT)
    return Planted("voters_changed_at_once", 2, path, offset, position)


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


VOTE_FOR_3 = '"votedId":3,"votedDirectoryId":"ZGlyZWN0b3J5LWlkLTAwMw"'
NO_VOTE = '"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA"'
_ALL_VOTERS = '[{"voterId":1},{"voterId":2},{"voterId":3}]'
_ONE_VOTER = '[{"voterId":1}]'
_LED_9, _LED_11 = '"leaderId":3,"leaderEpoch":9', '"leaderId":3,"leaderEpoch":11'
_LED_2, _LED_3 = '"leaderId":3,"leaderEpoch":2', '"leaderId":3,"leaderEpoch":3'
_VOTER_TWICE = '[{"voterId":1},{"voterId":2},{"voterId":2},{"voterId":3}]'
_VOTER_THRICE = '[{"voterId":1},{"voterId":1},{"voterId":1},{"voterId":2},{"voterId":3}]'
_VOTER_NEGATIVE = '[{"voterId":1},{"voterId":2},{"voterId":3},{"voterId":-1}]'
_OTHER_VOTER = '[{"voterId":1},{"voterId":2},{"voterId":5}]'

QUORUM_DAMAGE = [
    Damage("voters_at_kraft_version_0", "basic", _in_all_logs(at_version_0, "impossible_record", 2, _CHECKPOINTS)),
    Damage("leader_dropped_of_voters", "basic", _in_all_logs(without_voter_3, "leader_not_voter", 0, _SHORTER)),
    Damage("vote_forgotten", "basic", _in_state(2, VOTE_FOR_3, NO_VOTE, "vote_forgotten")),
    Damage("vote_forgotten_in_version_0", "basic", _observers_state),
    Damage("vote_forgotten_by_half", "basic", _in_state(2, '"votedId":3', '"votedId":-1', "corrupt_file")),
    Damage("vote_for_no_node", "basic", _in_state(2, '"votedId":3', '"votedId":-5', "corrupt_file")),
    Damage("leader_that_is_none", "failovers", _in_state(1, '"leaderId":', '"leaderId":-', "corrupt_file")),
    Damage("epoch_that_is_none", "failovers", _in_state(1, '"leaderEpoch":9', '"leaderEpoch":-9', "corrupt_file")),
    Damage("vote_of_observer", "failovers", _in_state(11, NO_VOTE, VOTE_FOR_3, "vote_of_stranger")),
    Damage("static_voters_fewer", "static-3.9", _in_state(1, _ALL_VOTERS, _ONE_VOTER, "static_voters_differ")),
    Damage("static_voters_other", "static-3.9", _in_state(1, _ALL_VOTERS, _OTHER_VOTER, "static_voters_differ")),
    Damage("static_voters_of_broker", "static-3.9", _in_state(12, _ALL_VOTERS, _ONE_VOTER, "static_voters_differ")),
    Damage("static_voter_twice", "static-3.9", _in_state(2, _ALL_VOTERS, _VOTER_TWICE, "corrupt_file")),
    Damage("static_voter_thrice", "static-3.9", _in_state(12, _ALL_VOTERS, _VOTER_THRICE, "corrupt_file")),
    Damage(
        "static_voter_negative",
        "static-3.9",
        _in_state(2, _ALL_VOTERS, _VOTER_NEGATIVE, "corrupt_file", "static_voters_differ"),
    ),
    Damage("voter_set_back", "failovers", set_back),
    Damage("leader_without_epoch", "failovers", _in_state(1, _LED_9, _LED_11, "leader_without_epoch")),
    Damage("leader_without_epoch_by_broker", "failovers", _in_state(12, _LED_9, _LED_11, "leader_without_epoch")),
    Damage("leader_without_the_next_epoch", "upgrade-path", _in_state(2, _LED_2, _LED_3, "leader_without_epoch")),
    Damage("epoch_is_no_number", "failovers", _in_state(1, '"leaderEpoch":9', '"leaderEpoch":true', "corrupt_file")),
    Damage("epoch_is_a_fraction", "failovers", _in_state(1, '"leaderEpoch":9', '"leaderEpoch":9.5', "corrupt_file")),
    Damage("voters_removed_at_once", "basic", _at_once(only_voter_1)),
    Damage("voters_added_at_once", "basic", _at_once(with_two_more)),
    Damage("voter_replaced_at_once", "basic", _at_once(_9_for_3)),
    Damage("voter_disk_replaced_at_once", "basic", _at_once(in_other_directory)),
    Damage("voter_without_address", "basic", _impossible(without_address)),
    Damage("voters_removed_after_checkpoint", "failovers", _at_once_after_checkpoint),
]
