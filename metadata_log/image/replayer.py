"""Replay by batch: publishing an image, or waiting for the end of a metadata transaction (KIP-868).

Decides: when an image is published. Must not know: the effect of a record (`builder`), the origin of batches, or the
high watermark. The leader replays its appends, a follower its fetched batches, a tool a file.

An image ends at a batch boundary outside a transaction. A batch inside an open transaction publishes nothing. The batch
that ends the transaction publishes all of it at once. The batch that aborts it publishes the image from before it. A
Replayer is immutable: to drop the newest batches, the caller returns to an older Replayer.
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
        begin_offset: the offset of its BeginTransactionRecord.
        before: the image to return to after an abort: the published one plus the records before Begin in its batch.
        state: the image with the transaction's records so far, which is not published.
        changes_before, changes: the differences of these images from the published one.
    """

    begin_offset: Offset
    before: MetadataImage
    state: MetadataImage
    changes_before: ImageChanges
    changes: ImageChanges


class Replayer(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A position in the log, and the image there.

    Attributes:
        image: the published image.
        end: the end of all replayed batches; after the image's own end while a transaction is open.
        changes: possible differences from the previous Replayer's image.
        transaction: the open transaction, or None.
    """

    image: MetadataImage
    end: OffsetAndEpoch
    changes: ImageChanges = NO_CHANGES
    transaction: OpenTransaction | None = None

    @classmethod
    def start(cls, image: MetadataImage) -> Replayer:
        """Return a Replayer that continues from `image`: the empty one at the log's start, or a checkpoint's."""
        return cls(image=image, end=image.offset_and_epoch)

    @classmethod
    def follow(cls, image: MetadataImage) -> Replayer:
        """Return `start`'s Replayer with cheaper topics for a reader that needs mostly the newest image."""
        return cls.start(msgspec.structs.replace(image, topics=image.topics.versioned()))

    @property
    def in_transaction(self) -> bool:
        """True if a metadata transaction is open: a new leader aborts it before anything else."""
        return self.transaction is not None

    def on_batch(self, header: BatchHeader, values: Sequence[bytes]) -> Replayer:
        """Return the Replayer after one batch. `values` are its records' values; a control batch's are ignored.

        Raises:
            ReplayError: the batch does not begin at `end`, or a record is invalid.
            UnknownRecordError, MalformedRecordError: a value cannot be read; the message has its offset.
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
        """Return the Replayer after a batch of decoded records, such as the leader is about to append.

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
        """Return the Replayer with the last batch's timestamp: a leader replays before the append sets it."""
        if self.transaction is not None or self.image.last_contained_timestamp_ms == timestamp_ms:
            return self
        image = msgspec.structs.replace(self.image, last_contained_timestamp_ms=timestamp_ms)
        return msgspec.structs.replace(self, image=image)


class _Step:
    """The mutable state of replaying one batch."""

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
        """Apply BeginTransactionRecord, EndTransactionRecord or AbortTransactionRecord.

        Raises:
            ReplayError: a Begin within a transaction, or an End or Abort outside one.
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
        """Return the Replayer after the batch."""
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
    """Decode the records of one batch.

    Raises:
        UnknownRecordError: a record has an unknown type or version; the error has its offset.
        MalformedRecordError: a record does not decode; the message has its offset.
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
