"""Metadata of a later release: nodes reject it, and tools skip unknown records in replay.

Decides: which finalized levels a node rejects, and which records a tool skips. These are unknown types and versions,
and later records that cannot be replayed without them. Must not know: a tool's output. A node skips no record:
`Replayer` raises at the first unknown one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence

import msgspec

from metadata_log.errors import MalformedRecordError, NewerLevelError, UnknownRecordError
from metadata_log.format.batch import BatchHeader
from metadata_log.image.builder import ImageBuilder
from metadata_log.image.checkpoint import image_of_checkpoint
from metadata_log.image.errors import ReplayError
from metadata_log.image.features import KRAFT_VERSION, METADATA_VERSION, FeaturesImage
from metadata_log.image.image import NO_CHANGES, MetadataImage
from metadata_log.image.known_partitions import Replayable, read_for_replay
from metadata_log.image.replayer import Replayer
from metadata_log.offsets import OffsetAndEpoch
from metadata_log.records import LATEST_PRODUCTION, FeatureLevelRecord, MetadataRecord, NoOpRecord, metadata_version
from metadata_log.records.newer import DEPENDENT, NOTHING_NEWER, NewerPart, NewerParts, newer_levels, newer_record


def newer_features(features: FeaturesImage) -> tuple[NewerPart, ...]:
    """Return the finalised levels that this software does not know."""
    return newer_levels({METADATA_VERSION: features.metadata_version or 0, **dict(sorted(features.levels.items()))})


def check_known_levels(features: FeaturesImage) -> None:
    """Raise an error if a node of this software cannot follow metadata with these finalised levels.

    Raises:
        NewerLevelError: the message says which levels, and what to use.
    """
    _refuse(newer_features(features))


def check_known_records(records: Sequence[MetadataRecord]) -> None:
    """Raise an error if a node of this software cannot follow a log with these records: the last level of each feature.

    Raises:
        NewerLevelError: as `check_known_levels`.
    """
    levels = {record.name: record.feature_level for record in records if isinstance(record, FeatureLevelRecord)}
    _refuse(newer_levels(levels))


def check_known_kraft_version(level: int) -> None:
    """Raise an error if a node of this software cannot vote at this kraft.version.

    Raises:
        NewerLevelError: as `check_known_levels`.
    """
    _refuse(newer_levels({KRAFT_VERSION: level}))


def _refuse(newer: Sequence[NewerPart]) -> None:
    if newer:
        names = ", ".join(part.what for part in newer)
        latest = metadata_version(LATEST_PRODUCTION)
        raise NewerLevelError(
            f"the metadata log finalises {names}, which this software does not know: it follows up to {latest} "
            f"({LATEST_PRODUCTION}). Use the release that has finalised it, or a later one"
        )


def replay_known(
    replayer: Replayer, header: BatchHeader, values: Sequence[bytes], newer: NewerParts
) -> tuple[Replayer, NewerParts]:
    """Replay one batch of a log, as `Replayer.on_batch`; return what was passed over, added to `newer`.

    Raises:
        ReplayError: a record makes no sense, and none before it was passed over.
        MalformedRecordError: a value cannot be read; the message names its offset.
    """
    try:
        return replayer.on_batch(header, values), newer
    except UnknownRecordError:
        return _one_by_one(replayer, header, values, newer)
    except ReplayError:
        if not newer.hides_metadata:
            raise
        return _one_by_one(replayer, header, values, newer)


def _one_by_one(
    replayer: Replayer, header: BatchHeader, values: Sequence[bytes], newer: NewerParts
) -> tuple[Replayer, NewerParts]:
    changes = NO_CHANGES
    for offset, value in enumerate(values, header.base_offset):
        record, newer = _read_known(value, offset, newer)
        for taken in ((record,), ()):
            try:
                replayer = replayer.on_records(
                    taken,
                    base_offset=offset,
                    next_offset=offset + 1,
                    epoch=header.partition_leader_epoch,
                    timestamp_ms=header.max_timestamp,
                )
            except ReplayError:
                if not newer.hides_metadata:
                    raise
                newer = newer.plus(DEPENDENT)
            else:
                break
        changes |= replayer.changes
    return msgspec.structs.replace(replayer, changes=changes), newer


def _read_known(value: bytes, offset: int, newer: NewerParts) -> tuple[Replayable, NewerParts]:
    try:
        return read_for_replay(value), newer
    except UnknownRecordError as error:
        return NoOpRecord(), newer.plus(newer_record(error))
    except MalformedRecordError as error:
        raise MalformedRecordError(f"record at offset {offset}: {error}") from error


def known_image_of_checkpoint(
    values: Callable[[], Iterable[bytes]], *, end: OffsetAndEpoch, last_contained_timestamp_ms: int
) -> tuple[MetadataImage, NewerParts]:
    """Return the image that a checkpoint holds, as `image_of_checkpoint`, and what was passed over.

    `values` gives all of its metadata records, again at each call: a large checkpoint's are not kept.

    Raises:
        ReplayError: a record makes no sense, and none before it was passed over.
        MalformedRecordError: a value cannot be read.
    """
    newer = NOTHING_NEWER
    try:
        image = image_of_checkpoint(
            map(read_for_replay, values()), end=end, last_contained_timestamp_ms=last_contained_timestamp_ms
        )
    except UnknownRecordError:
        records: list[Replayable] = []
        for index, value in enumerate(values()):
            record, newer = _read_known(value, index, newer)
            records.append(record)
        return _known_image(records, newer, end, last_contained_timestamp_ms)
    return image, newer


def _known_image(
    records: Sequence[Replayable], newer: NewerParts, end: OffsetAndEpoch, timestamp_ms: int
) -> tuple[MetadataImage, NewerParts]:
    """Return the image of a checkpoint in which a record was passed over, without those that refer to it."""
    with contextlib.suppress(ReplayError):
        return image_of_checkpoint(records, end=end, last_contained_timestamp_ms=timestamp_ms), newer
    image = MetadataImage.empty()
    for index, record in enumerate(records):
        builder = ImageBuilder(image)
        try:
            builder.apply(record, index)
        except ReplayError:
            newer = newer.plus(DEPENDENT)
        else:
            image = builder.build(end.offset, end.epoch, timestamp_ms)
    return msgspec.structs.replace(image, offset_and_epoch=end, last_contained_timestamp_ms=timestamp_ms), newer
