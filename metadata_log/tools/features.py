"""Records that software of another metadata.version could not read, and registrations that do not support that level.

Decides: which records are unreadable at a level, by type and version, and by the features that its controllers support.
Must not know: files.

A level is taken to read exactly what it may write. Software of a release often reads more than its finalised level.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from metadata_log.acl_hosts import is_range
from metadata_log.errors import UnknownRecordError
from metadata_log.format.batch import batch_records, batch_values
from metadata_log.image import MetadataImage
from metadata_log.image.cluster import SupportedFeature
from metadata_log.image.features import KRAFT_VERSION
from metadata_log.records import (
    AccessControlEntryRecord,
    FeatureLevelRecord,
    KRaftVersionRecord,
    MetadataRecord,
    VotersRecord,
    control_or_newer,
    decode_versioned,
    is_writable,
    write_version,
)
from metadata_log.records.feature_levels import unsupported_feature, unsupported_level
from metadata_log.records.levels import (
    ACL_RANGES_LEVEL,
    BOOTSTRAP_IN_CHECKPOINT_LEVEL,
    FEATURE_NAME,
    UNREGISTER_CONTROLLER_LEVEL,
    level_name,
    metadata_version,
)
from metadata_log.records.newer import LATEST_RELEASE
from metadata_log.records.registry import CONTROL_RECORDS, METADATA_RECORDS
from metadata_log.storage.segment import LocatedBatch


class Unreadable(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A record that the target level could not read. `version` None: not even this software can."""

    offset: int
    type: str
    version: int | None
    reason: str


class Registered(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A node's registration that does not support a level of metadata.version."""

    node_id: int
    is_controller: bool
    is_voter: bool | None
    """None if the log does not name the voters."""
    levels: tuple[int, int] | None
    """The least and the greatest supported level; None: the registration states none, as before Kafka 3.3."""
    is_removable: bool
    """A command can remove the registration: a controller's from 4.4-IV2 on, a broker's at every level."""


def registrations_without(level: int, image: MetadataImage, voters: VotersRecord | None) -> Iterator[Registered]:
    """Yield the registrations that do not support metadata.version `level`: controllers, then brokers, by node id."""
    finalised = image.features.metadata_version or 0
    voting = None if voters is None else {voter.voter_id for voter in voters.voters}
    for node_id, controller in sorted(image.cluster.controllers.items()):
        levels = _range_of(controller.supported_features)
        if not _holds(levels, level):
            yield Registered(
                node_id=node_id,
                is_controller=True,
                is_voter=None if voting is None else node_id in voting,
                levels=levels,
                is_removable=finalised >= UNREGISTER_CONTROLLER_LEVEL,
            )
    for node_id, broker in sorted(image.cluster.brokers.items()):
        levels = _range_of(broker.supported_features)
        if not _holds(levels, level):
            yield Registered(node_id=node_id, is_controller=False, is_voter=False, levels=levels, is_removable=True)


def _range_of(features: Iterable[SupportedFeature]) -> tuple[int, int] | None:
    found = next((each for each in features if each.name == FEATURE_NAME), None)
    return None if found is None else (found.min_version, found.max_version)


def _holds(levels: tuple[int, int] | None, level: int) -> bool:
    return levels is not None and levels[0] <= level <= levels[1]


def unreadable_records(
    batches: Iterable[LocatedBatch], level: int, *, are_bootstrap: bool = False
) -> Iterator[Unreadable]:
    """Yield the records in these batches that `level` does not know in their version, or that finalise a higher level.

    `are_bootstrap`: they are in a checkpoint of offset 0, where software before 4.4 reads only voters.

    Raises:
        MalformedRecordError: a record does not decode at all.
    """
    are_ignored = are_bootstrap and level < BOOTSTRAP_IN_CHECKPOINT_LEVEL
    for batch in batches:
        header = batch.header
        if header.is_control:
            yield from _unreadable_controls(batch, level)
            continue
        for index, value in enumerate(batch_values(batch.buffer, header, batch.at)):
            found = _judge(value, header.base_offset + index, level, is_ignored=are_ignored)
            if found is not None:
                yield found


def _unreadable_controls(batch: LocatedBatch, level: int) -> Iterator[Unreadable]:
    for record in batch_records(batch.buffer, batch.header, batch.at):
        control = control_or_newer(record.key or b"", record.value or b"")
        if isinstance(control, UnknownRecordError):
            yield _newer(control, int(record.offset), CONTROL_RECORDS.get(control.api_key), "control record")
        elif isinstance(control, KRaftVersionRecord):
            reason = unsupported_level(KRAFT_VERSION, control.kraft_version, level)
            if reason is not None:
                yield Unreadable(
                    offset=record.offset, type="KRaftVersionRecord", version=control.version, reason=reason
                )


def _judge(value: bytes, offset: int, level: int, *, is_ignored: bool) -> Unreadable | None:
    try:
        record, version = decode_versioned(value)
    except UnknownRecordError as error:
        return _newer(error, offset, METADATA_RECORDS.get(error.api_key), "record")
    reason = _reason(record, version, level)
    if reason is None and is_ignored:
        reason = f"{metadata_version(level)} begins a new cluster without the records of this checkpoint"
    if reason is None:
        return None
    return Unreadable(offset=offset, type=type(record).__name__, version=version, reason=reason)


def _newer(error: UnknownRecordError, offset: int, known: type | None, what: str) -> Unreadable:
    """Return the entry for a record that no known release can read. An unknown type may be a vendor's."""
    name = f"{what} type {error.api_key}" if known is None else known.__name__
    reason = f"newer than Kafka {LATEST_RELEASE}"
    if known is None and what == "record":
        reason = f"not one of Apache Kafka's up to {LATEST_RELEASE}"
    return Unreadable(offset=offset, type=name, version=error.version, reason=reason)


def _reason(record: MetadataRecord, version: int, level: int) -> str | None:
    kind = type(record)
    name = metadata_version(level)
    if not is_writable(kind, level):
        return f"{name} has no such record"
    highest = write_version(kind, level)
    if version > highest:
        return f"{name} knows it up to version {highest}"
    if isinstance(record, AccessControlEntryRecord) and is_range(record.host) and level < ACL_RANGES_LEVEL:
        return f"{name} has no ranges of hosts: to it, no client is at {record.host}"
    if not isinstance(record, FeatureLevelRecord):
        return None
    if record.name == FEATURE_NAME and record.feature_level > level:
        return f"it finalises metadata.version {level_name(record.feature_level)}, above {name}"
    return unsupported_feature(record, level)
