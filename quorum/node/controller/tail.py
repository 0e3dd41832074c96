"""The active controller's state past the high watermark: the image with all appended and staged records.

Decides: how the records of a turn's requests become batches, as few as the bounds allow. One request's records share a
batch unless it permits a split. Keeps each batch's image for publication. Must not know: requests, clients, Raft.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from metadata_log.errors import InvariantViolation
from metadata_log.format.batch import parse_header
from metadata_log.image import METADATA_VERSION, MetadataImage, ReplayError
from metadata_log.image.known_partitions import Replayable, for_replay
from metadata_log.image.replayer import Replayer
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import FeatureLevelRecord, MetadataRecord, PartitionRecord, encode_record, write_version
from metadata_log.records.alike import PartitionEncoder
from quorum.raft.ready import AppendBatches

_RECORD_OVERHEAD: Final = 24
"""The most bytes that a batch adds to a record's value."""
_BATCH_OVERHEAD: Final = 64

Propose = Callable[[Epoch, tuple[bytes, ...]], AppendBatches | None]


class TooLargeError(Exception):
    """One request's records do not fit into one batch."""


class Tail:
    """The tail of one epoch; discarded with it."""

    def __init__(
        self,
        replayer: Replayer,
        epoch: Epoch,
        *,
        propose: Propose,
        remember: Callable[[Replayer], None],
        max_records: int,
        max_bytes: int,
    ) -> None:
        self.epoch = epoch
        self._replayer = replayer
        self._propose = propose
        self._remember = remember
        self._max_records = max_records
        self._max_bytes = max_bytes - _BATCH_OVERHEAD
        self._values: list[bytes] = []
        self._size = 0
        self._staged: list[Replayer] = []
        self._appended: deque[Offset] = deque()
        self._appended_end = replayer.end.offset
        self._level: int | None = None
        self._encoders: dict[type[MetadataRecord], Callable[[Any], bytes]] = {}

    @property
    def image(self) -> MetadataImage:
        """The image with all appended and staged records."""
        return self._replayer.image

    @property
    def in_transaction(self) -> bool:
        """True if a metadata transaction is open at its end."""
        return self._replayer.in_transaction

    @property
    def next_offset(self) -> Offset:
        """The offset of the next record."""
        return self._replayer.end.offset

    def add(self, records: Sequence[MetadataRecord], wall_ms: int, *, is_atomic: bool) -> bool:
        """Stage records; return False if a necessary append was refused, so leadership is lost.

        Raises:
            TooLargeError: `is_atomic`, and they do not fit into one batch; nothing was staged.
            MalformedRecordError: a value of the request does not fit its field, such as a string of more than 32,767
                bytes; nothing was staged.
            InvariantViolation: the image does not allow these records.
        """
        values = self._encode(records)
        limit = self._max_records
        if not is_atomic and len(values) > limit:
            return all(
                self._stage(records[at : at + limit], values[at : at + limit], wall_ms)
                for at in range(0, len(values), limit)
            )
        return self._stage(records, values, wall_ms)

    def flush(self, wall_ms: int) -> bool:
        """Append the staged records as one batch, with the timestamp `wall_ms`; return False if the append was
        refused."""
        if not self._values:
            return True
        values, self._values, self._size = tuple(self._values), [], 0
        staged, self._staged = self._staged, []
        self._replayer = staged[-1] = staged[-1].dated(wall_ms)
        base = Offset(self.next_offset - len(values))
        appended = self._propose(self.epoch, values)
        if appended is None:
            return False
        if (appended.base_offset, appended.end_offset) != (base, self.next_offset):
            raise InvariantViolation(
                f"records were staged for offsets {base} to {self.next_offset}, but appended at "
                f"{appended.base_offset} to {appended.end_offset}"
            )
        self._appended.append(appended.end_offset)
        self._appended_end = appended.end_offset
        for replayer in staged:
            self._remember(replayer)
        return True

    def on_control_batch(self, batch: bytes) -> None:
        """Continue after a control batch that Raft has appended. Nothing may be staged then (see `flush`).

        Raises:
            InvariantViolation: records are staged for the offsets that the batch now has.
        """
        header = parse_header(batch, 0)
        if self._values or header.base_offset != self.next_offset:
            raise InvariantViolation(
                f"a control batch at {header.base_offset}, where records were staged up to {self.next_offset}"
            )
        self._replayer = self._replayer.on_batch(header, [])
        self._appended.append(header.next_offset)
        self._appended_end = header.next_offset
        self._remember(self._replayer)

    @property
    def appended_end_offset(self) -> Offset:
        """The end of the appended records. Staged records beyond it are in no log, and are discarded if leadership
        is lost."""
        return self._appended_end

    def in_flight(self, committed: Offset) -> int:
        """Return how many appended batches are not wholly below `committed` yet."""
        appended = self._appended
        while appended and appended[0] <= committed:
            appended.popleft()
        return len(appended)

    def _stage(self, records: Sequence[MetadataRecord], values: list[bytes], wall_ms: int) -> bool:
        size = sum(map(len, values)) + _RECORD_OVERHEAD * len(values)
        if len(values) > self._max_records or size > self._max_bytes:
            raise TooLargeError(
                f"it needs {len(values)} records of {size} bytes; one batch holds {self._max_records} records of "
                f"{self._max_bytes} bytes"
            )
        is_full = len(self._values) + len(values) > self._max_records or self._size + size > self._max_bytes
        if is_full and not self.flush(wall_ms):
            return False
        self._replay(list(map(for_replay, records, values)), wall_ms)
        self._values += values
        self._size += size
        self._staged.append(self._replayer)
        return True

    def _replay(self, records: Sequence[Replayable], wall_ms: int) -> None:
        base = self._replayer.end.offset
        try:
            self._replayer = self._replayer.on_records(
                records, base_offset=base, next_offset=base + len(records), epoch=self.epoch, timestamp_ms=wall_ms
            )
        except ReplayError as error:
            raise InvariantViolation(f"the controller wrote what cannot be replayed: {error}") from error

    def _encode(self, records: Sequence[MetadataRecord]) -> list[bytes]:
        level = self.image.features.metadata_version
        if level is None:
            level = _first_level(records)
        if level != self._level:
            self._level, self._encoders = level, {}
        encoders = self._encoders
        values = []
        for record in records:
            kind = type(record)
            encode = encoders.get(kind)
            if encode is None:
                encode = encoders[kind] = _encoder(kind, level)
            values.append(encode(record))
        return values


def _encoder(kind: type[MetadataRecord], level: int) -> Callable[[Any], bytes]:
    version = write_version(kind, level)
    return PartitionEncoder(version).encode if kind is PartitionRecord else partial(encode_record, version=version)


def _first_level(records: Sequence[MetadataRecord]) -> int:
    """Return the level that the bootstrap records set: the log's first record is written at it (KIP-778)."""
    for record in records:
        if isinstance(record, FeatureLevelRecord) and record.name == METADATA_VERSION:
            return record.feature_level
    raise InvariantViolation("records were to be written before any metadata.version is known")
