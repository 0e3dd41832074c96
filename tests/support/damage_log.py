"""Damage to a log's bytes, to the order of its batches, to elections, and to the agreement of replicas."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable

from metadata_log.format.batch import CRC_POSITION, batch_records, parse_header
from metadata_log.ids import NodeId
from metadata_log.records import ControlRecord, LeaderChangeMessage, LeaderChangeVoter, VotersRecord, decode_control
from tests.support.damage import (
    Cluster,
    Damage,
    Planted,
    number_at,
    other_bytes,
    place_of,
    quiet_batch,
    sealed,
    split,
    with_base,
    with_bytes,
    with_controls,
    with_epoch,
    write,
)

_HIT = 2
"""The controller of `basic` whose log is damaged: a follower."""
_MIDDLE = 20
"""The number of a batch in the middle of its log."""


def _planted(cluster: Cluster, kind: str, number: int, also: frozenset[str] = frozenset()) -> Planted:
    path = cluster.segment(_HIT)
    position, header = place_of(path, number)
    return Planted(kind, _HIT, path, int(header.base_offset), position, also)


def _changed(
    cluster: Cluster,
    kind: str,
    change: Callable[[bytes], bytes],
    *,
    number: int | None = None,
    also: frozenset[str] = frozenset({"log_mismatch"}),
) -> Planted:
    """Change one batch: that of this `number`, or one with a NoOp."""
    path = cluster.segment(_HIT)
    number = quiet_batch(path) if number is None else number
    planted = _planted(cluster, kind, number, also)
    batches = split(path)
    batches[number] = change(batches[number])
    write(path, batches)
    return planted


def _overwritten(cluster: Cluster, at: int, content: bytes) -> Planted:
    """Overwrite bytes of a batch in the middle of the log, `at` bytes after its start."""
    path = cluster.segment(_HIT)
    planted = _planted(cluster, "corrupt_batch", _MIDDLE)
    path.write_bytes(with_bytes(path.read_bytes(), (planted.position or 0) + at, content))
    return planted


def _flipped(cluster: Cluster, at: int, bit: int) -> Planted:
    path = cluster.segment(_HIT)
    return _overwritten(cluster, at, bytes((path.read_bytes()[place_of(path, _MIDDLE)[0] + at] ^ bit,)))


def flip_in_record(cluster: Cluster) -> Planted:
    """One flipped bit in a record in the middle of the log."""
    return _flipped(cluster, 64, 4)


def flip_in_checksum(cluster: Cluster) -> Planted:
    """One flipped bit in a checksum."""
    return _flipped(cluster, CRC_POSITION, 128)


def flip_in_length(cluster: Cluster) -> Planted:
    """One flipped bit in a batch's length."""
    return _flipped(cluster, 11, 16)


def huge_length(cluster: Cluster) -> Planted:
    """A batch that claims two gigabytes."""
    return _overwritten(cluster, 8, b"\x7f\xff\xff\xf0")


def wrong_magic(cluster: Cluster) -> Planted:
    """A batch of another format version."""
    return _overwritten(cluster, 16, b"\x01")


def zeroed_page(cluster: Cluster) -> Planted:
    """A block of zeros, as if the file had never been written there."""
    return _overwritten(cluster, 0, bytes(512))


def torn_tail(cluster: Cluster) -> Planted:
    """After the last batch, one half of the next batch, which the leader has."""
    path = cluster.segment(_HIT)
    end = int(place_of(path, len(split(path)) - 1)[1].next_offset)
    position = path.stat().st_size
    path.write_bytes(path.read_bytes() + with_base(split(path)[quiet_batch(path)], end)[:40])
    return Planted("torn_tail", _HIT, path, end, position)


def unwritten_tail(cluster: Cluster) -> Planted:
    """Zeros after the last batch: a power cut lost the data, but kept the file's new length."""
    path = cluster.segment(_HIT)
    end = int(place_of(path, len(split(path)) - 1)[1].next_offset)
    position = path.stat().st_size
    path.write_bytes(path.read_bytes() + bytes(3000))
    return Planted("torn_tail", _HIT, path, end, position)


def wrong_count(cluster: Cluster) -> Planted:
    """A batch with a wrong record count and a right checksum."""
    return _changed(cluster, "corrupt_batch", lambda batch: sealed(with_bytes(batch, 57, struct.pack(">i", 2))))


def compressed(cluster: Cluster) -> Planted:
    """A batch that is marked as compressed, with a right checksum."""
    return _changed(cluster, "unsupported_batch", lambda batch: sealed(with_bytes(batch, 21, struct.pack(">h", 4))))


def wrong_delta(cluster: Cluster) -> Planted:
    """A record whose offset differs from its position in the batch, with a right checksum."""
    return _changed(cluster, "malformed_record", lambda batch: sealed(with_bytes(batch, 64, b"\x06")))


def wrong_timestamp(cluster: Cluster) -> Planted:
    """A batch whose greatest timestamp is not that of any record, with a right checksum."""

    def later(batch: bytes) -> bytes:
        return sealed(with_bytes(batch, 35, struct.pack(">q", parse_header(batch).max_timestamp + 1)))

    return _changed(cluster, "malformed_record", later, number=len(split(cluster.segment(_HIT))) - 3)


def segment_renamed(cluster: Cluster) -> Planted:
    """A segment whose name is not its first offset."""
    path = cluster.segment(1, 294)
    renamed = cluster.segment(1, 290)
    path.rename(renamed)
    for suffix in (".index", ".timeindex"):
        path.with_suffix(suffix).unlink(missing_ok=True)
    return Planted("segment_misnamed", 1, renamed, 294, 0)


def _changed_voters(cluster: Cluster, change: Callable[[VotersRecord], VotersRecord]) -> Planted:
    path = cluster.segment(_HIT)
    batches = split(path)
    records = [
        decode_control(raw.key or b"", raw.value or b"") for raw in batch_records(batches[0], parse_header(batches[0]))
    ]
    changed = [change(record) if isinstance(record, VotersRecord) else record for record in records]
    batches[0] = with_controls(batches[0], changed)
    write(path, batches)
    offset = next(number for number, record in enumerate(records) if isinstance(record, VotersRecord))
    return Planted("impossible_record", _HIT, path, offset, 0, frozenset({"log_mismatch", "index_wrong"}))


def nobody_votes(cluster: Cluster) -> Planted:
    """A voter set without voters."""
    return _changed_voters(cluster, lambda record: VotersRecord(voters=()))


def voter_twice(cluster: Cluster) -> Planted:
    """A voter set that names a node twice."""
    return _changed_voters(cluster, lambda record: VotersRecord(voters=(record.voters[0], *record.voters)))


def batch_missing(cluster: Cluster) -> Planted:
    """A batch cut out."""
    path = cluster.segment(_HIT)
    planted = _planted(cluster, "offset_gap", 20)
    batches = split(path)
    del batches[20]
    write(path, batches)
    return planted


def batch_twice(cluster: Cluster) -> Planted:
    """A batch written twice."""
    path = cluster.segment(_HIT)
    position, header = place_of(path, 21)
    batches = split(path)
    write(path, [*batches[:21], batches[20], *batches[21:]])
    again = int(place_of(path, 20)[1].base_offset)
    assert header.base_offset == again + parse_header(batches[20]).count
    return Planted("offset_repeated", _HIT, path, again, position)


def wrong_base(cluster: Cluster) -> Planted:
    """A batch with a wrong base offset, which no checksum covers."""
    return _changed(
        cluster,
        "offset_gap",
        lambda batch: with_base(batch, parse_header(batch).base_offset + 1024),
        also=frozenset(),
    )


def silently_different(cluster: Cluster) -> Planted:
    """A valid batch in place of another: only the other replicas show it."""
    return _changed(cluster, "log_mismatch", other_bytes, also=frozenset())


def epoch_without_leader(cluster: Cluster) -> Planted:
    """A batch of a later epoch, which no checksum covers."""
    return _changed(
        cluster,
        "epoch_without_leader",
        lambda batch: with_epoch(batch, 5),
        also=frozenset({"log_mismatch"}),
    )


def epoch_back(cluster: Cluster) -> Planted:
    """A batch of an earlier epoch."""
    path = cluster.segment(1, 207)
    number = number_at(path, 256)
    position, _ = place_of(path, number)
    batches = split(path)
    batches[number] = with_epoch(batches[number], 1)
    write(path, batches)
    offset = int(place_of(path, number)[1].base_offset)
    also = frozenset({"log_mismatch"})
    return Planted("epoch_went_back", 1, path, offset, position, also)


def segment_missing(cluster: Cluster) -> Planted:
    """A log without one of its middle segments."""
    cluster.segment(11, 207).unlink()
    return Planted("missing_segment", 11, cluster.segment(11, 294), 207, 0)


def checkpoints_missing(cluster: Cluster) -> Planted:
    """A log that starts above offset 0, without its checkpoints."""
    for path in cluster.metadata(1).glob("*.checkpoint"):
        path.unlink()
    return Planted("missing_checkpoint", 1, cluster.segment(1, 207), 207)


def _changed_election(cluster: Cluster, **fields: object) -> Planted:
    """Change fields of the first LeaderChange in one follower's log, with a right checksum."""
    path = cluster.segment(_HIT)
    batches = split(path)
    header = parse_header(batches[0])
    records: list[ControlRecord] = []
    for raw in batch_records(batches[0], header):
        record = decode_control(raw.key or b"", raw.value or b"")
        if isinstance(record, LeaderChangeMessage):
            voters = {
                "leader_id": record.leader_id,
                "voters": record.voters,
                "granting_voters": record.granting_voters,
                **fields,
            }
            record = LeaderChangeMessage(**voters)  # type: ignore[arg-type]
        records.append(record)
    batches[0] = with_controls(batches[0], records)
    write(path, batches)
    return Planted("", _HIT, path, 0, 0, frozenset({"log_mismatch", "index_wrong"}))


def two_leaders(cluster: Cluster) -> Planted:
    """One log that names another leader of the epoch than the others."""
    planted = _changed_election(cluster, leader_id=NodeId(1))
    return Planted("two_leaders", _HIT, planted.file, 0, 0, frozenset({"log_mismatch"}))


def no_majority(cluster: Cluster) -> Planted:
    """A leader with only its own vote, of three voters."""
    planted = _changed_election(cluster, granting_voters=(LeaderChangeVoter(voter_id=NodeId(3)),))
    return Planted("leader_without_majority", _HIT, planted.file, 0, 0, planted.also)


def stranger_votes(cluster: Cluster) -> Planted:
    """A leader with a vote of a node that is no voter."""
    granting = tuple(LeaderChangeVoter(voter_id=NodeId(voter)) for voter in (3, 2, 12))
    planted = _changed_election(cluster, granting_voters=granting)
    return Planted("leader_not_voter", _HIT, planted.file, 0, 0, planted.also)


def _cut(cluster: Cluster, node_id: int, offset: int) -> int:
    """End a node's log before `offset`; return the base offset of its last segment."""
    last = 0
    for path in sorted(cluster.metadata(node_id).glob("*.log")):
        base = int(path.name[:20])
        if base >= offset:
            for suffix in (".log", ".index", ".timeindex"):
                path.with_suffix(suffix).unlink(missing_ok=True)
            continue
        last = base
        write(path, [batch for batch in split(path) if parse_header(batch).base_offset < offset])
    return last


def lost_on_majority(cluster: Cluster) -> Planted:
    """Logs of two of three voters that end before an offset that the third voter's next leader knew to be committed."""
    _cut(cluster, 2, 300)
    last = _cut(cluster, 1, 300)
    return Planted("committed_lost", 1, cluster.segment(1, last), 300, also=frozenset({"log_cut"}))


def shorter_than_checkpoint(cluster: Cluster) -> Planted:
    """A log that ends before its own checkpoint, and before the start of an epoch that its epoch file has."""
    last = _cut(cluster, 1, 230)
    return Planted("log_cut", 1, cluster.segment(1, last), 230)


def behind_a_checkpoint(cluster: Cluster) -> Planted:
    """A replica that was sent a checkpoint and stopped before it started its new log."""
    shutil.rmtree(cluster.disk(2))
    shutil.copytree(cluster.root / "lagging-follower/node-2/data", cluster.disk(2))
    checkpoint = max(cluster.metadata(11).glob("*.checkpoint"))
    shutil.copyfile(checkpoint, cluster.metadata(2) / checkpoint.name)
    last = max(cluster.metadata(2).glob("*.log"))
    end = int(place_of(last, -1)[1].next_offset)
    shutil.rmtree(cluster.root / "lagging-follower")
    return Planted("log_behind_checkpoint", 2, last, end, also=frozenset({"nothing_in_common"}))


LOG_DAMAGE = [
    *(
        Damage(plant.__name__, "basic", plant)
        for plant in (
            flip_in_record,
            flip_in_checksum,
            flip_in_length,
            huge_length,
            wrong_magic,
            zeroed_page,
            torn_tail,
            unwritten_tail,
            wrong_count,
            compressed,
            wrong_delta,
            wrong_timestamp,
            nobody_votes,
            voter_twice,
            batch_missing,
            batch_twice,
            wrong_base,
            silently_different,
            epoch_without_leader,
            two_leaders,
            no_majority,
            stranger_votes,
        )
    ),
    *(
        Damage(plant.__name__, "failovers", plant)
        for plant in (
            epoch_back,
            segment_missing,
            segment_renamed,
            checkpoints_missing,
            lost_on_majority,
            shorter_than_checkpoint,
            behind_a_checkpoint,
        )
    ),
]
