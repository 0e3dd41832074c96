"""Damage to voters and kraft.version in checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import msgspec

from metadata_log.format.batch import batch_records, parse_header
from metadata_log.ids import DirectoryId, NodeId
from metadata_log.records import ControlRecord, KRaftVersionRecord, VotersRecord, decode_control
from metadata_log.records.control import VotersRecordVoter
from tests.support.damage import Cluster, Damage, Planted, split, with_controls, write

Change: TypeAlias = Callable[[ControlRecord], ControlRecord]


def change_controls(path: Path, change: Change) -> None:
    """Rewrite a file with its control records changed and right checksums."""
    batches = split(path)
    for number, batch in enumerate(batches):
        header = parse_header(batch)
        if not header.is_control:
            continue
        raws = batch_records(batch, header)
        records = [decode_control(raw.key or b"", raw.value or b"") for raw in raws]
        changed = [change(record) for record in records]
        if changed != records:
            batches[number] = with_controls(batch, changed)
    write(path, batches)


def of_voters(change: Callable[[tuple[VotersRecordVoter, ...]], tuple[VotersRecordVoter, ...]]) -> Change:
    """Return a change of the voters in each VotersRecord."""
    return lambda record: (
        msgspec.structs.replace(record, voters=change(record.voters)) if isinstance(record, VotersRecord) else record
    )


def at_version_0(record: ControlRecord) -> ControlRecord:
    """Set each KRaftVersionRecord to 0."""
    is_version = isinstance(record, KRaftVersionRecord)
    return msgspec.structs.replace(record, kraft_version=0) if is_version else record


without_voter_2 = of_voters(lambda voters: tuple(voter for voter in voters if voter.voter_id != 2))
without_voter_3 = of_voters(lambda voters: tuple(voter for voter in voters if voter.voter_id != 3))
with_voter_9 = of_voters(lambda voters: (*voters[:2], msgspec.structs.replace(voters[2], voter_id=NodeId(9))))
in_other_directory = of_voters(
    lambda voters: (msgspec.structs.replace(voters[0], voter_directory_id=DirectoryId(b"\x12" * 16)), *voters[1:])
)


def listening_elsewhere(node_id: int) -> Change:
    """Give one voter another port."""
    return of_voters(
        lambda voters: tuple(
            msgspec.structs.replace(
                voter, endpoints=tuple(msgspec.structs.replace(at, port=1) for at in voter.endpoints)
            )
            if voter.voter_id == node_id
            else voter
            for voter in voters
        )
    )


at_other_port = listening_elsewhere(1)


def _in_checkpoint(node_id: int, name: str, change: Change) -> Callable[[Cluster], Planted]:
    def plant(cluster: Cluster) -> Planted:
        path = cluster.metadata(node_id) / name
        change_controls(path, change)
        return Planted("checkpoint_disagrees", node_id, path, int(name[:20]))

    return plant


FIRST_CHECKPOINT = "00000000000000000000-0000000000.checkpoint"
SENT_CHECKPOINT = "00000000000000000244-0000000001.checkpoint"
"""A checkpoint of node 2 in `failovers`: its log begins there."""
_OF_BROKER = "00000000000000000310-0000000009.checkpoint"
"""A checkpoint of a broker; no other replica has one at that offset."""

_CHANGES = {
    "without_voter": without_voter_2,
    "other_voter": with_voter_9,
    "other_directory": in_other_directory,
    "other_port": at_other_port,
    "kraft_version_0": at_version_0,
}

VOTER_DAMAGE = [
    *(
        Damage(f"sent_checkpoint_{name}", "failovers", _in_checkpoint(2, SENT_CHECKPOINT, it))
        for name, it in _CHANGES.items()
    ),
    *(
        Damage(f"brokers_checkpoint_{name}", "failovers", _in_checkpoint(11, _OF_BROKER, it))
        for name, it in _CHANGES.items()
    ),
    *(
        Damage(f"first_checkpoint_{name}", "basic", _in_checkpoint(2, FIRST_CHECKPOINT, it))
        for name, it in _CHANGES.items()
    ),
]
