"""Replay by batch: what is published, and what waits for the end of a metadata transaction (KIP-868).

Decides: when an image is published. Must not know: what a record does (`builder` does), where batches come from, and
what is committed: the leader replays what it appends, a follower what it fetched, a tool what a file holds.

An image ends on a batch's bound outside a transaction. A batch inside an open one publishes nothing; the batch that
ends the transaction publishes all of it at once; the batch that aborts it publishes the image as it was when it began.
A Replayer is immutable: keep the old one, and dropping what was replayed since costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

import msgspec

from metadata_log.errors import MalformedRecordError, UnknownRecordError
from metadata_log.format.batch import BatchHeader
from metadata_log.image.builder import ImageBuilder
from metadata_log.image.errors import ReplayError
from metadata_log.image.image import NO_CHANGES, ImageChanges, MetadataImage
from metadata_log.image.known_partitions import Replayable, read_for_replay
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    MetadataRecord,
    decode_record,
)

_T = TypeVar("_T")

_TRANSACTION_RECORDS: Final = frozenset({BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord})


class OpenTransaction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A metadata transaction that has begun and not ended.

    Attributes:
        begin_offset: of its BeginTransactionRecord.
        before: the image to return to when it is aborted: the published one, and what precedes Begin in its batch.
        state: the image with all that it has done so far; nobody may see it.
        changes_before, changes: those images' differences from the published one.
    """

    begin_offset: Offset
    before: MetadataImage
    state: MetadataImage
    changes_before: ImageChanges
    changes: ImageChanges


class Replayer(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A position in the log and what is known there.

    Attributes:
        image: the published image.
        end: the end of all that was replayed; beyond the image's own end while a transaction is open.
        changes: what may differ from the image that the Replayer before this one had.
        transaction: the open transaction, if there is one.
    """

    image: MetadataImage
    end: OffsetAndEpoch
    changes: ImageChanges = NO_CHANGES
    transaction: OpenTransaction | None = None

    @classmethod
    def start(cls, image: MetadataImage) -> Replayer:
        """To go on from `image`: the empty one at the log's start, or a checkpoint's."""
        return cls(image=image, end=image.offset_and_epoch)

    @classmethod
    def follow(cls, image: MetadataImage) -> Replayer:
        """`start` for whoever goes on from each image to the next, and seldom asks one before: that costs less."""
        return cls.start(msgspec.structs.replace(image, topics=image.topics.versioned()))

    @property
    def in_transaction(self) -> bool:
        """Whether a metadata transaction is open: a new leader aborts it before anything else."""
        return self.transaction is not None

    def on_batch(self, header: BatchHeader, values: Sequence[bytes]) -> Replayer:
        """After one batch of the log. `values` are those of its records; a control batch's are not looked at.

        Raises:
            ReplayError: when it does not begin where the last one ended, or a record makes no sense.
            UnknownRecordError, MalformedRecordError: when a value cannot be read; the message names its offset.
        """
        records: list[Replayable] = [] if header.is_control else _read(values, header.base_offset, read_for_replay)
        return self.on_records(
            records,
            base_offset=header.base_offset,
            next_offset=header.next_offset,
            epoch=header.partition_leader_epoch,
            timestamp_ms=header.max_timestamp,
        )

    def on_records(
        self, records: Iterable[Replayable], *, base_offset: int, next_offset: int, epoch: int, timestamp_ms: int
    ) -> Replayer:
        """`on_batch` for whoever has the records already: the leader that is about to append them.

        Raises:
            ReplayError: as `on_batch`.
        """
        if base_offset != self.end.offset:
            raise ReplayError("batch", base_offset, f"the batch before it ended at {self.end.offset}: some are missing")
        step = _Step(self)
        offset = base_offset
        for record in records:
            if type(record) in _TRANSACTION_RECORDS:
                step.on_transaction_record(record, offset)
            else:
                step.builder.apply(record, offset)
            offset += 1
        return step.finish(next_offset, epoch, timestamp_ms)

    def dated(self, timestamp_ms: int) -> Replayer:
        """The same at the end of a batch with that timestamp: for a leader that replays before it appends."""
        if self.transaction is not None or self.image.last_contained_timestamp_ms == timestamp_ms:
            return self
        image = msgspec.structs.replace(self.image, last_contained_timestamp_ms=timestamp_ms)
        return msgspec.structs.replace(self, image=image)


class _Step:
    """The work on one batch: mutable, and gone with it."""

    __slots__ = ("_before", "_begin_offset", "_changes", "_changes_before", "_published", "builder")

    def __init__(self, replayer: Replayer) -> None:
        self._published = replayer.image
        transaction = replayer.transaction
        if transaction is None:
            self._begin_offset: int | None = None
            self._before = replayer.image
            self._changes = self._changes_before = NO_CHANGES
            self.builder = ImageBuilder(replayer.image)
        else:
            self._begin_offset = transaction.begin_offset
            self._before = transaction.before
            self._changes, self._changes_before = transaction.changes, transaction.changes_before
            self.builder = ImageBuilder(transaction.state)

    def on_transaction_record(self, record: Replayable, offset: int) -> None:
        """BeginTransactionRecord, EndTransactionRecord or AbortTransactionRecord.

        Raises:
            ReplayError: for a Begin inside a transaction, and for an End or Abort outside one.
        """
        name = type(record).__name__
        if isinstance(record, BeginTransactionRecord):
            if self._begin_offset is not None:
                raise ReplayError(name, offset, f"the transaction that began at {self._begin_offset} is still open")
            self._begin(offset)
            return
        if self._begin_offset is None:
            raise ReplayError(name, offset, "no transaction is open")
        self._begin_offset = None
        if isinstance(record, AbortTransactionRecord):
            self.builder, self._changes = ImageBuilder(self._before), self._changes_before

    def _begin(self, offset: int) -> None:
        self._changes = self._changes_before = self._changes | self.builder.changes
        published = self._published
        self._before = self.builder.build(
            offset, published.offset_and_epoch.epoch, published.last_contained_timestamp_ms
        )
        self.builder = ImageBuilder(self._before)
        self._begin_offset = offset

    def finish(self, next_offset: int, epoch: int, timestamp_ms: int) -> Replayer:
        """The Replayer after the batch."""
        changes = self._changes | self.builder.changes
        image = self.builder.build(next_offset, epoch, timestamp_ms)
        if self._begin_offset is None:
            return Replayer(image=image, end=image.offset_and_epoch, changes=changes)
        transaction = OpenTransaction(
            begin_offset=Offset(self._begin_offset),
            before=self._before,
            state=image,
            changes_before=self._changes_before,
            changes=changes,
        )
        end = OffsetAndEpoch(offset=Offset(next_offset), epoch=Epoch(epoch))
        return Replayer(image=self._published, end=end, transaction=transaction)


def decode_values(values: Iterable[bytes], base_offset: int) -> list[MetadataRecord]:
    """The records of one batch.

    Raises:
        UnknownRecordError: for a type or version that this software does not know; it names the offset.
        MalformedRecordError: for bytes that do not decode; it names the offset.
    """
    return _read(values, base_offset, decode_record)


def _read(values: Iterable[bytes], base_offset: int, read: Callable[[bytes], _T]) -> list[_T]:
    records: list[_T] = []
    try:
        for value in values:
            records.append(read(value))
    except UnknownRecordError as error:
        raise UnknownRecordError(error.api_key, error.version, base_offset + len(records)) from None
    except MalformedRecordError as error:
        raise MalformedRecordError(f"record at offset {base_offset + len(records)}: {error}") from error
    return records
