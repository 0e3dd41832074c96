"""Control records in wrong positions, in batches that are otherwise valid."""

from __future__ import annotations

from collections.abc import Callable

from metadata_log.format.batch import build_control_batch, parse_header
from metadata_log.ids import NodeId
from metadata_log.offsets import Offset
from metadata_log.records import (
    ControlRecord,
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeVoter,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    encode_control,
)
from tests.support.damage import Cluster, Damage, Planted, split
from tests.support.damage_records import LEADER

_VOTERS = tuple(LeaderChangeVoter(voter_id=NodeId(voter)) for voter in (1, 2, 3))
_CHANGE = LeaderChangeMessage(leader_id=NodeId(LEADER), voters=_VOTERS, granting_voters=_VOTERS[1:])
"""A LeaderChange with the votes that were granted in `basic`."""


def _behind_all(*records: ControlRecord, index: int = 0) -> Callable[[Cluster], Planted]:
    """Append a batch of these records to the leader's log, in its epoch; the record at `index` must be found."""

    def plant(cluster: Cluster) -> Planted:
        path = cluster.segment(LEADER)
        last = parse_header(split(path)[-1])
        position, base = path.stat().st_size, Offset(last.next_offset)
        batch = build_control_batch(
            base_offset=base,
            epoch=last.partition_leader_epoch,
            timestamp_ms=last.max_timestamp,
            records=[encode_control(record) for record in records],
        )
        path.write_bytes(path.read_bytes() + batch)
        return Planted("foreign_batch", LEADER, path, int(base) + index, position)

    return plant


CONTROL_DAMAGE = [
    Damage("leader_change_within_an_epoch", "basic", _behind_all(_CHANGE)),
    Damage("leader_change_second", "basic", _behind_all(KRaftVersionRecord(kraft_version=1), _CHANGE, index=1)),
    Damage("snapshot_header_in_log", "basic", _behind_all(SnapshotHeaderRecord(last_contained_log_timestamp=0))),
    Damage("snapshot_footer_in_log", "basic", _behind_all(SnapshotFooterRecord())),
]
