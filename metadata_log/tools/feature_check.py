"""Which records of a log software of another metadata.version could not read.

Decides: what is unreadable at a level, by type and version. Must not know: files. A level is taken to read exactly what
it may write; software of a release often reads more than the level that is finalised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from metadata_log.batch import batch_records, batch_values
from metadata_log.errors import UnknownRecordError
from metadata_log.records import (
    FeatureLevelRecord,
    KRaftVersionRecord,
    MetadataRecord,
    decode_control,
    decode_versioned,
    is_writable,
    write_version,
)
from metadata_log.records.levels import metadata_version
from metadata_log.segment import LocatedBatch

_FIRST_KRAFT_VERSION_1: Final = 21
"""metadata.version 3.9-IV0: the first release with kraft.version 1 (KIP-853)."""


class Unreadable(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A record that the target could not read. `version` None: not even this software can."""

    offset: int
    type: str
    version: int | None
    reason: str


def unreadable_records(batches: Iterable[LocatedBatch], level: int) -> Iterator[Unreadable]:
    """The records in these batches that `level` has no such version of, or that finalise more than it.

    Raises:
        MalformedRecordError: a record cannot be read at all.
    """
    for batch in batches:
        header = batch.header
        if header.is_control:
            for record in batch_records(batch.buffer, header, batch.at):
                control = decode_control(record.key or b"", record.value or b"")
                if (
                    isinstance(control, KRaftVersionRecord)
                    and control.kraft_version > 0
                    and level < _FIRST_KRAFT_VERSION_1
                ):
                    yield Unreadable(
                        offset=record.offset, type="KRaftVersionRecord", version=control.version,
                        reason=f"kraft.version {control.kraft_version} came with 3.9 (KIP-853)",
                    )  # fmt: skip
            continue
        for index, value in enumerate(batch_values(batch.buffer, header, batch.at)):
            found = _judge(value, header.base_offset + index, level)
            if found is not None:
                yield found


def _judge(value: bytes, offset: int, level: int) -> Unreadable | None:
    try:
        record, version = decode_versioned(value)
    except UnknownRecordError as error:
        return Unreadable(
            offset=offset, type=f"record type {error.api_key}", version=error.version, reason="newer than Kafka 4.3"
        )
    reason = _reason(record, version, level)
    if reason is None:
        return None
    return Unreadable(offset=offset, type=type(record).__name__, version=version, reason=reason)


def _reason(record: MetadataRecord, version: int, level: int) -> str | None:
    kind = type(record)
    name = metadata_version(level)
    if not is_writable(kind, level):
        return f"{name} has no such record"
    highest = write_version(kind, level)
    if version > highest:
        return f"{name} knows it up to version {highest}"
    if isinstance(record, FeatureLevelRecord) and record.name == "metadata.version" and record.feature_level > level:
        return f"it finalises metadata.version {record.feature_level}, above {name}"
    return None
