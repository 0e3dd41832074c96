"""One replica's snapshots: taken from the published image while it advances, kept, served, received and installed.

Decides: when each next job goes to the disk, and what the Raft core hears of it. Must not know: files, threads, Raft's
rules.

A snapshot is written from an immutable image in slices of a turn each, with one chunk in flight. Its writing, reading
and checking happen beside the log's writes. Only an installation and a trim are among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import msgspec

from metadata_log.errors import InvariantViolation
from metadata_log.image import MetadataImage
from metadata_log.image.checkpoint import values_in_slices
from metadata_log.offsets import OffsetAndEpoch
from metadata_log.storage.checkpoint import (
    CheckpointTimes,
    CheckpointWriter,
    build_with_pauses,
    checkpoint_name,
    received_name,
)
from metadata_log.storage.checkpoint_ops import (
    CheckpointOp,
    CheckpointResult,
    CheckReceived,
    ReadPiece,
    RemoveCheckpoint,
    StorePiece,
    WritePiece,
)
from metadata_log.storage.loaded_checkpoint import HeldCheckpoint, LoadedSnapshot
from metadata_log.storage.no_ops import NO_OP_BYTES
from metadata_log.storage.write_ops import AdoptCheckpoint, WriteOp
from quorum.api.error_codes import Error
from quorum.api.raft_messages import FetchSnapshotResponse
from quorum.node.core.checkpoint_jobs import (
    CheckpointJob,
    CheckpointJobDone,
    SnapshotDamaged,
    SnapshotGenerated,
    SnapshotLoaded,
)
from quorum.node.core.effects import Effects
from quorum.node.core.opened import OpenedReplica
from quorum.node.core.replica_context import ReplicaContext
from quorum.node.core.retention import (
    CLEAN_INTERVAL_MS,
    SnapshotConfig,
    bytes_between,
    choose_start,
)
from quorum.raft.config import Snapshot
from quorum.raft.inputs import ChunkStored, Input, LogTrimmed, SnapshotChecked, SnapshotTaken
from quorum.raft.ready import CheckSnapshot, SendSnapshotChunk, SnapshotInstalled, StoreChunk

RECORDS_A_SLICE: Final = 200
"""Under 2 ms of encoding (DESIGN 3), counted in records because there is no clock here."""
MOST_TURNS_WAITED: Final = 16
"""The most turns in a row in which a slice yields to waiting requests."""
LARGEST_PIECE_BYTES: Final = 8 * 1024 * 1024
"""The most bytes of a snapshot in one response, whatever the request says."""


class _Generation:
    """A snapshot that is being written."""

    def __init__(self, end: OffsetAndEpoch, last_contained_ms: int, writer: CheckpointWriter) -> None:
        self.end = end
        self.last_contained_ms = last_contained_ms
        self.writer = writer
        self.pieces: Iterator[bytes | None] = iter(())
        self.is_waiting = False
        """True while the disk has a chunk."""


class Snapshots:
    """The snapshots of one executor."""

    def __init__(
        self,
        executor: ReplicaContext,
        opened: OpenedReplica,
        config: SnapshotConfig,
        effects: Effects,
        feed: Callable[[Input], object],
        publish: Callable[[MetadataImage], None],
    ) -> None:
        self._executor = executor
        self._effects = effects
        effects.stage_install = self.stage_install
        self._publish = publish
        self._files, self._directory = opened.files, opened.directory
        self._config = config
        self._feed = feed
        self.held: tuple[HeldCheckpoint, ...] = opened.checkpoints
        """Whole and durable snapshots, in rising order."""
        self._rotten: frozenset[OffsetAndEpoch] = frozenset()
        """Former snapshots that were found to be corrupt."""
        self._checked: tuple[int, LoadedSnapshot] | None = None
        self._generation: _Generation | None = None
        self._jobs: dict[int, Callable[[CheckpointResult], None]] = {}
        self._job_id = 0
        self._turns_waited = 0
        self._bytes_since = opened.log.size_from(self._newest.offset) if self.held else opened.log.size_in_bytes
        self._no_op_bytes = opened.no_ops * NO_OP_BYTES
        """The bytes of NoOps in `_bytes_since`."""
        self._last_ms = self._clean_ms = executor.clock.monotonic_ms
        self._not_before_ms = executor.clock.monotonic_ms + (config.settle_ms if self._is_large else 0)
        self.is_forced = False
        """If True, a snapshot is taken as soon as any record is new, whatever its size."""

    @property
    def _newest(self) -> OffsetAndEpoch:
        return self.held[-1].end

    @property
    def newest(self) -> OffsetAndEpoch | None:
        """The end of the newest snapshot, or None."""
        return self.held[-1].end if self.held else None

    # --- when

    def on_published(self, image: MetadataImage) -> int:
        """Count the appended bytes of the new image; return how many of the new records are known to be NoOps."""
        size, no_ops = self._effects.take_appended(image.offset_and_epoch.offset)
        self._bytes_since += size
        self._no_op_bytes += no_ops * NO_OP_BYTES
        return no_ops

    @property
    def _is_large(self) -> bool:
        """True if so much was replayed since the newest snapshot that the next is due."""
        config, changed = self._config, self._bytes_since - self._no_op_bytes
        return changed >= bytes_between(config, self.held) or self._no_op_bytes >= config.max_no_op_bytes

    def next_deadline_ms(self, *, must_hurry: bool) -> int | None:
        """Return when `step` has work, or None; in the past if it has work now."""
        generation = self._generation
        if generation is not None:
            may_wait = must_hurry and self._turns_waited < MOST_TURNS_WAITED
            return None if generation.is_waiting or may_wait else self._executor.clock.monotonic_ms
        due = self._due_ms()
        clean = self._clean_ms + CLEAN_INTERVAL_MS if len(self.held) > 1 else None
        return clean if due is None else due if clean is None else min(due, clean)

    def _due_ms(self) -> int | None:
        """Return when the next snapshot is due, or None if nothing is new, or no snapshot may be taken now."""
        image = self._executor.image
        newest = self.held[-1].end.offset if self.held else 0
        if image.offset_and_epoch.offset <= newest or image.features.metadata_version is None:
            return None
        if self._executor.machine.is_remembering_removal:
            return None  #   # A snapshot would replace the records that show the removal.
        if self.is_forced:
            return self._executor.clock.monotonic_ms
        if self._is_large:
            return max(self._executor.clock.monotonic_ms, self._not_before_ms)
        if not self._config.max_interval_ms or self._bytes_since <= self._no_op_bytes:
            return None
        return self._last_ms + self._config.max_interval_ms

    def step(self, *, must_hurry: bool) -> None:
        """Do a turn's share: begin a snapshot or write one slice of it; run retention when due."""
        now_ms = self._executor.clock.monotonic_ms
        if self._generation is None:
            due_ms = self._due_ms()
            if due_ms is not None and due_ms <= now_ms:
                self._begin()
            elif len(self.held) > 1 and self._clean_ms + CLEAN_INTERVAL_MS <= now_ms:
                self.clean()
        elif must_hurry and self._turns_waited < MOST_TURNS_WAITED:
            self._turns_waited += 1
        elif not self._generation.is_waiting:
            self._turns_waited = 0
            self._go_on(self._generation)

    # --- taking one

    def _begin(self) -> None:
        executor, image = self._executor, self._executor.image
        end, clock = image.offset_and_epoch, executor.clock
        if end.offset > executor.high_watermark:
            raise InvariantViolation(f"a snapshot of {end}, past the high watermark {executor.high_watermark}")
        self.is_forced = False
        self._bytes_since = self._no_op_bytes = 0
        self._last_ms = clock.monotonic_ms
        writer = CheckpointWriter(self._files, self._path(end))
        generation = _Generation(end, image.last_contained_timestamp_ms, writer)
        voters = executor.machine.voters_at(end.offset)
        generation.pieces = build_with_pauses(
            values_in_slices(image, RECORDS_A_SLICE),
            epoch=end.epoch,
            times=CheckpointTimes.at(clock.wall_ms, last_contained_ms=image.last_contained_timestamp_ms),
            kraft_version=0 if voters is None else 1,
            voters=None if voters is None else voters.to_record(),
        )
        self._generation = generation

    def _go_on(self, generation: _Generation) -> None:
        batch = next(generation.pieces, b"")
        if batch is not None:
            generation.is_waiting = True
            op = WritePiece(writer=generation.writer, batch=batch)
            self._work(op, partial(self._on_written, generation))

    def _on_written(self, generation: _Generation, result: CheckpointResult) -> None:
        generation.is_waiting = False
        if self._generation is not generation:
            # The log begins past this snapshot by now, so it is useless.
            self._work(RemoveCheckpoint(files=self._files, writer=generation.writer), _ignore)
        elif isinstance(result, int):
            self._generation = None
            self._on_taken(generation, result)

    def _on_taken(self, generation: _Generation, size: int) -> None:
        held = HeldCheckpoint(end=generation.end, size=size, last_contained_ms=generation.last_contained_ms)
        self.held = (*(each for each in self.held if each.end != held.end), held)
        self._rotten -= {held.end}
        self._feed(SnapshotTaken(snapshot=Snapshot(id=held.end, size=size)))
        self._executor.tell(SnapshotGenerated(end=held.end, size=size, last_contained_ms=held.last_contained_ms))
        self.clean()

    # --- keeping

    def clean(self) -> None:
        """Remove the snapshots and log that retention does not keep."""
        executor = self._executor
        self._clean_ms = executor.clock.monotonic_ms
        begin = choose_start(
            self.held,
            executor.log.size_after_trim,
            self._config,
            start_offset=executor.log.start_offset,
            now_ms=executor.clock.wall_ms,
        )
        if begin is None:
            return
        ends = (*self._rotten, *(each.end for each in self.held))
        obsolete = tuple(checkpoint_name(end) for end in sorted(ends, key=_offset) if end.offset < begin.end.offset)
        self._rotten = frozenset(end for end in self._rotten if end.offset >= begin.end.offset)
        self.held = tuple(each for each in self.held if each.end.offset >= begin.end.offset)
        self._feed(LogTrimmed(start=begin.end))
        self._effects.stage(executor.log.stage_trim(begin.end.offset, obsolete))

    # --- serving

    def on_send_piece(self, effect: SendSnapshotChunk) -> None:
        """Read a chunk for a replica."""
        response = effect.response
        if response.snapshot_id is None:
            raise InvariantViolation("a piece of no snapshot is to be sent")
        op = ReadPiece(
            files=self._files,
            path=self._path(response.snapshot_id),
            end=response.snapshot_id,
            position=response.position,
            max_bytes=min(effect.max_bytes, LARGEST_PIECE_BYTES),
        )
        self._work(op, partial(self._on_piece, effect.request_id, response))

    def _on_piece(self, request_id: int, response: FetchSnapshotResponse, data: CheckpointResult) -> None:
        end = response.snapshot_id
        if isinstance(data, str) and end is not None:
            self._on_rotten(end, data)
        if isinstance(data, bytes) and data and end not in self._rotten:
            answer = msgspec.structs.replace(response, data=data)
        else:
            answer = FetchSnapshotResponse(
                error=Error.SNAPSHOT_NOT_FOUND,
                leader_id=response.leader_id,
                leader_epoch=response.leader_epoch,
                leader_endpoints=response.leader_endpoints,
            )
        self._effects.respond(request_id, answer)

    def _on_rotten(self, end: OffsetAndEpoch, why: str) -> None:
        """Replace a corrupt snapshot: the published image in memory is correct, so a new one is taken from it."""
        if all(each.end != end for each in self.held):
            return
        self.held = tuple(each for each in self.held if each.end != end)
        self._rotten |= {end}
        self.is_forced = True
        self._executor.tell(SnapshotDamaged(end=end, why=why))

    # --- receiving

    def on_store(self, effect: StoreChunk) -> None:
        """Store a received chunk."""
        op = StorePiece(
            files=self._files,
            directory=self._directory,
            end=effect.snapshot_id,
            position=effect.position,
            data=effect.data,
        )
        self._work(op, lambda _: self._tell(ChunkStored(serial=effect.serial)))

    def on_check(self, effect: CheckSnapshot) -> None:
        """Check a snapshot that was received whole."""
        op = CheckReceived(files=self._files, directory=self._directory, end=effect.snapshot_id, size=effect.size)
        self._work(op, partial(self._on_checked, effect.serial))

    def _on_checked(self, serial: int, result: CheckpointResult) -> None:
        fault = str(result)
        if isinstance(result, LoadedSnapshot):
            foreign = self._executor.fence.judge_snapshot(result.end, result.image)
            if foreign is None:
                self._checked = (serial, result)
                self._tell(SnapshotChecked(serial=serial, voters=result.voters))
                self._checked = None
                return
            fault = foreign
        self._tell(SnapshotChecked(serial=serial, fault=fault))

    def stage_install(self, end: OffsetAndEpoch) -> WriteOp:
        """Return the write that replaces the log by the received snapshot, and removes older snapshots in the same
        operation."""
        adopt = AdoptCheckpoint(part=received_name(end), name=checkpoint_name(end))
        others = sorted({*self._rotten, *(each.end for each in self.held)} - {end}, key=_offset)
        obsolete = tuple(checkpoint_name(other) for other in others)
        return self._executor.log.stage_replace(end, adopt, obsolete)

    def on_installed(self, effect: SnapshotInstalled) -> None:
        """Publish the image of the snapshot with which the log begins now."""
        if self._checked is None or self._checked[0] != effect.serial:
            raise InvariantViolation(f"snapshot {effect.snapshot_id} is installed, which was not checked")
        loaded, generation = self._checked[1], self._generation
        if generation is not None and not generation.is_waiting:
            self._work(RemoveCheckpoint(files=self._files, writer=generation.writer), _ignore)
        self._generation = None
        self.held, self._rotten = (loaded.held,), frozenset()
        self._bytes_since = self._no_op_bytes = 0
        self._last_ms = self._executor.clock.monotonic_ms
        self._executor.tell(SnapshotLoaded(end=loaded.end, size=loaded.held.size))
        self._publish(loaded.image)

    # --- the disk

    def on_done(self, event: CheckpointJobDone) -> None:
        """Take the result of a job."""
        self._jobs.pop(event.job_id)(event.result)

    def _work(self, op: CheckpointOp, take: Callable[[CheckpointResult], None]) -> None:
        self._job_id += 1
        self._jobs[self._job_id] = take
        self._executor.ports.disk.work(CheckpointJob(job_id=self._job_id, op=op))

    def _tell(self, received: Input) -> None:
        self._feed(received)

    def _path(self, end: OffsetAndEpoch) -> str:
        return f"{self._directory}/{checkpoint_name(end)}"


def _offset(end: OffsetAndEpoch) -> int:
    return end.offset


def _ignore(result: CheckpointResult) -> None:
    """Take the result of a job that needs no further step."""
