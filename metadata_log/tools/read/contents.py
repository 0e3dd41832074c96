"""The files, epochs and voters in a replica's metadata directory, read without its lock.

Decides: which files are the log's, and how their batches add up. Must not know: other replicas. Segments that Kafka has
marked for deletion (`*.deleted`) are no longer part of a log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.directory import (
    META_PROPERTIES_FILE,
    METADATA_DIRECTORY,
    MetaProperties,
    read_meta_properties,
    read_quorum_state,
)
from metadata_log.errors import CorruptBatchError, CorruptFileError, RecordError, UnknownRecordError
from metadata_log.files.links import exists
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import Files
from metadata_log.format.batch import batch_records
from metadata_log.ids import ReplicaKey
from metadata_log.records import LeaderChangeMessage, VotersRecord, control_or_newer
from metadata_log.storage.checkpoint import parse_checkpoint_name
from metadata_log.storage.segment import LocatedBatch, segment_bases, segment_file
from metadata_log.tools.read.fast_scan import NoOpRun, Seen
from metadata_log.tools.read.log_reader import LogReader
from metadata_log.tools.read.scan import Damage

_DATA_FILE: Final = re.compile(r"\d{20}(\.log|-\d{10}\.checkpoint)", re.ASCII)


class EpochSpan(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The records of one epoch in one log: offsets `start_offset` to `end_offset` (exclusive)."""

    epoch: int
    start_offset: int
    end_offset: int


def epoch_at(spans: Iterable[EpochSpan], offset: int) -> int:
    """Return the epoch of the record at `offset`; -1 if the spans do not have it."""
    return next((span.epoch for span in spans if span.start_offset <= offset < span.end_offset), -1)


class LogContents(msgspec.Struct, frozen=True, kw_only=True):
    """The extent, epochs and voters of a directory's segments. `voters`: None if no record or file names them."""

    start_offset: int
    end_offset: int
    epochs: tuple[EpochSpan, ...]
    voters: tuple[ReplicaKey, ...] | None
    tail: Damage | None
    """Damage that reaches to the end of the last segment."""

    @property
    def last_epoch(self) -> int:
        return self.epochs[-1].epoch if self.epochs else -1


def metadata_directory(path: Path) -> Path | None:
    """Return the metadata log's directory that `path` is or contains, or None."""
    if path.name == METADATA_DIRECTORY and path.is_dir():
        return path
    inside = path / METADATA_DIRECTORY
    return inside if inside.is_dir() else None


def read_identity(directory: Path, files: Files | None = None) -> MetaProperties | None:
    """Return the meta.properties beside the metadata directory or in it, or None without such a file.

    Raises:
        CorruptFileError: the file is not a valid meta.properties.
        OSError: the file cannot be read.
    """
    for place in (directory.parent, directory):
        if exists(place / META_PROPERTIES_FILE):
            return read_meta_properties(files or OsFiles(), str(place))
    return None


def data_files(names: Iterable[str]) -> list[str]:
    """Return the segments and checkpoints among a directory's names, sorted."""
    return sorted(name for name in names if _DATA_FILE.fullmatch(name))


def read_contents(files: Files, directory: str) -> LogContents:
    """Read all segments of a directory. Damage is skipped."""
    names = files.listdir(directory)
    bases = segment_bases(names)
    walk = _Walk()
    for found in LogReader(files, [f"{directory}/{segment_file(base)}" for base in bases]).seen(runs=True):
        walk.on_found(found)
    start = bases[0] if bases else 0
    in_records = walk.voters or _checkpoint_voters(files, directory, names) or walk.electors
    return LogContents(
        start_offset=start if walk.start is None else walk.start,
        end_offset=walk.end if walk.start is not None else start,
        epochs=tuple(walk.epochs),
        voters=in_records or _static_voters(files, directory),
        tail=walk.damage,
    )


class _Walk:
    """The state after the batches so far, in the order of the log."""

    def __init__(self) -> None:
        self.start: int | None = None
        self.end = 0
        self.epochs: list[EpochSpan] = []
        self.voters: tuple[ReplicaKey, ...] | None = None
        self.electors: tuple[ReplicaKey, ...] | None = None
        self.damage: Damage | None = None

    def on_found(self, found: Seen) -> None:
        if isinstance(found, Damage):
            self.damage = found
            return
        self.damage = None
        if isinstance(found, NoOpRun):
            self._extend(found.epoch, found.base_offset, found.end_offset)
            return
        header = found.header
        self._extend(int(header.partition_leader_epoch), int(header.base_offset), int(header.next_offset))
        if header.is_control:
            facts = control_facts(found)
            self.electors = facts.electors or self.electors
            self.voters = facts.voters or self.voters

    def _extend(self, epoch: int, start: int, end: int) -> None:
        self.start = start if self.start is None else self.start
        self.end = end
        if self.epochs and self.epochs[-1].epoch == epoch:
            start = min(self.epochs.pop().start_offset, start)
        self.epochs.append(EpochSpan(epoch=epoch, start_offset=start, end_offset=end))


class ControlFacts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The content of a control batch. `electors`: the voters in a LeaderChange; `unreadable`: why a record does not
    decode.

    A record of a later release is skipped: its leader and voters are unknown.
    """

    types: tuple[str, ...] = ()
    """Class names of the batch's records."""
    leader_id: int | None = None
    electors: tuple[ReplicaKey, ...] | None = None
    voters: tuple[ReplicaKey, ...] | None = None
    unreadable: str | None = None
    newer_types: tuple[int, ...] = ()
    """Control types of the batch's records that only a later release knows."""


def control_facts(batch: LocatedBatch) -> ControlFacts:
    """Return the leader and the voters that a control batch names."""
    facts = ControlFacts()
    try:
        for record in batch_records(batch.buffer, batch.header, batch.at):
            decoded = control_or_newer(record.key or b"", record.value or b"")
            if isinstance(decoded, UnknownRecordError):
                facts = msgspec.structs.replace(facts, newer_types=(*facts.newer_types, decoded.api_key))
                continue
            facts = msgspec.structs.replace(facts, types=(*facts.types, type(decoded).__name__))
            match decoded:
                case LeaderChangeMessage() as change:
                    named = (ReplicaKey(node_id=v.voter_id, directory_id=v.voter_directory_id) for v in change.voters)
                    facts = msgspec.structs.replace(facts, leader_id=change.leader_id, electors=tuple(named))
                case VotersRecord() as record_of_voters:
                    facts = msgspec.structs.replace(facts, voters=voter_keys(record_of_voters))
                case _:
                    pass
    except (CorruptBatchError, RecordError) as error:
        return msgspec.structs.replace(facts, unreadable=str(error))
    return facts


def voter_keys(record: VotersRecord) -> tuple[ReplicaKey, ...]:
    """Return the replica keys in a VotersRecord, in its order."""
    return tuple(ReplicaKey(node_id=voter.voter_id, directory_id=voter.voter_directory_id) for voter in record.voters)


def _checkpoint_voters(files: Files, directory: str, names: list[str]) -> tuple[ReplicaKey, ...] | None:
    """Return the voters of the newest checkpoint that names any, or None."""
    for name in sorted((name for name in names if parse_checkpoint_name(name)), reverse=True):
        voters = voters_in_file(files, f"{directory}/{name}")
        if voters is not None:
            return voters
    return None


def voters_in_file(files: Files, path: str) -> tuple[ReplicaKey, ...] | None:
    """Return the last voters that a segment or checkpoint names, skipping damage, or None if it names none."""
    walk = _Walk()
    for found in LogReader(files, [path]).seen(runs=True):
        walk.on_found(found)
    return walk.voters


def _static_voters(files: Files, directory: str) -> tuple[ReplicaKey, ...] | None:
    """Return the voters of a quorum-state of version 0, which has no directory ids, or None."""
    try:
        state = read_quorum_state(files, directory)
    except CorruptFileError:
        return None
    return None if state is None else state.static_voters
