"""The control batches that Raft writes, and the check of fetched batches.

Decides: the records that open an epoch (KIP-595, KIP-853), and which fetched bytes may be appended. Must not know:
roles.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from metadata_log.errors import CorruptBatchError, MalformedRecordError
from metadata_log.format.batch import (
    HEADER_SIZE,
    BatchHeader,
    batch_records,
    build_control_batch,
    check_batch,
    parse_header,
)
from metadata_log.ids import NodeId
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeVoter,
    VotersRecord,
    decode_control,
    encode_control,
)
from metadata_log.voters import NO_OFFSET, VoterHistory, VoterSet
from quorum.raft.log_state import EpochStartsAt

VOTERS_IN_THE_LOG = 1
"""The kraft.version that keeps voters in the log."""


class OpeningBatch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The batch that opens an epoch. `voters_offset`: the offset of its VotersRecord, or None."""

    data: bytes
    end_offset: Offset
    voters_offset: Offset | None
    voters: VoterSet


class VotersBatch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The batch with which a leader changes the voters."""

    data: bytes
    end_offset: Offset
    voters_offset: Offset


class Fetched(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Fetched batches that may be appended: they continue the log, are whole and sound, and of no future epoch."""

    data: bytes
    end_offset: Offset
    starts: tuple[EpochStartsAt, ...]
    voters: tuple[tuple[Offset, VoterSet], ...]


def opening_batch(
    *,
    base_offset: Offset,
    epoch: Epoch,
    timestamp_ms: int,
    leader_id: NodeId,
    history: VoterHistory,
    granting: Iterable[NodeId],
    updated: VoterSet | None = None,
) -> OpeningBatch:
    """Return the batch with which a leader opens its epoch: a LeaderChange and possibly the voters.

    KRaftVersion and Voters follow if the voters are dynamic and in no record yet, or if `updated` has new endpoints of
    the leader.
    """
    voters = history.latest
    change = LeaderChangeMessage(
        leader_id=leader_id,
        voters=tuple(LeaderChangeVoter(voter_id=node_id) for node_id in voters.node_ids),
        granting_voters=tuple(LeaderChangeVoter(voter_id=node_id) for node_id in granting),
    )
    records = [encode_control(change)]
    voters_offset = None
    if updated is not None or (history.latest_offset == NO_OFFSET and voters.are_dynamic):
        voters = voters if updated is None else updated
        records.append(encode_control(KRaftVersionRecord(kraft_version=VOTERS_IN_THE_LOG)))
        voters_offset = Offset(base_offset + len(records))
        records.append(encode_control(voters.to_record()))
    data = build_control_batch(base_offset=base_offset, epoch=epoch, timestamp_ms=timestamp_ms, records=records)
    return OpeningBatch(
        data=data, end_offset=Offset(base_offset + len(records)), voters_offset=voters_offset, voters=voters
    )


def voters_batch(
    *, base_offset: Offset, epoch: Epoch, timestamp_ms: int, voters: VoterSet, kraft_version: int | None
) -> VotersBatch:
    """Return a batch with a VotersRecord, preceded by a KRaftVersionRecord if `kraft_version` is given."""
    records = [] if kraft_version is None else [encode_control(KRaftVersionRecord(kraft_version=kraft_version))]
    voters_offset = Offset(base_offset + len(records))
    records.append(encode_control(voters.to_record()))
    data = build_control_batch(base_offset=base_offset, epoch=epoch, timestamp_ms=timestamp_ms, records=records)
    return VotersBatch(data=data, end_offset=Offset(voters_offset + 1), voters_offset=voters_offset)


def check_fetched(records: bytes, *, base_offset: Offset, last_epoch: Epoch, leader_epoch: Epoch) -> Fetched:
    """Check fetched records and return the whole batches; Kafka may send a last batch that is cut off.

    Raises:
        MetadataLogError, InvalidVoterError: a batch is not valid here. The caller appends none of them.
    """
    position, expected, epoch = 0, base_offset, last_epoch
    starts: list[EpochStartsAt] = []
    voters: list[tuple[Offset, VoterSet]] = []
    while not _is_cut_off(records, position):
        header = check_batch(records, position)
        _check_place(header, position, expected, epoch, leader_epoch)
        if header.partition_leader_epoch != epoch or not starts:
            epoch = header.partition_leader_epoch
            starts.append(EpochStartsAt(epoch=epoch, start_offset=expected))
        if header.is_control:
            voters.extend(_voters_in(records, header, position))
        position += header.size_in_bytes
        expected = header.next_offset
    if position == 0:
        raise CorruptBatchError("there is no whole batch", position=0, base_offset=base_offset)
    data = records if position == len(records) else records[:position]
    return Fetched(data=data, end_offset=expected, starts=tuple(starts), voters=tuple(voters))


def _is_cut_off(records: bytes, position: int) -> bool:
    left = len(records) - position
    return left < HEADER_SIZE or parse_header(records, position).size_in_bytes > left


def _check_place(header: BatchHeader, position: int, expected: Offset, epoch: Epoch, leader_epoch: Epoch) -> None:
    if header.base_offset != expected:
        what = f"it begins at offset {header.base_offset}, where {expected} is due"
    elif not epoch <= header.partition_leader_epoch <= leader_epoch:
        what = f"its epoch is {header.partition_leader_epoch}, after {epoch} and under a leader of {leader_epoch}"
    else:
        return
    raise CorruptBatchError(what, position=position, base_offset=header.base_offset)


def _voters_in(records: bytes, header: BatchHeader, position: int) -> list[tuple[Offset, VoterSet]]:
    found: list[tuple[Offset, VoterSet]] = []
    for record in batch_records(records, header, position):
        if record.key is None or record.value is None:
            raise MalformedRecordError(f"the control record at offset {record.offset} has no key or no value")
        control = decode_control(record.key, record.value)
        if isinstance(control, VotersRecord):
            found.append((record.offset, VoterSet.from_record(control, f"VotersRecord at offset {record.offset}")))
    return found
