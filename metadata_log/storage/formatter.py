"""Formatting log directories, from which both this project's and Apache Kafka's nodes can start.

Decides: the files of a fresh directory and their content, as Kafka's formatter writes them. Must not know: command
lines or clocks; the caller passes ids and times.

From 4.4-IV0 on, a controller's bootstrap records are in the checkpoint of offset 0, as Kafka 4.4 writes them
(KAFKA-19648). Below that level every directory has them in `bootstrap.checkpoint`, which Kafka 4.4 no longer writes.
Kafka 4.3 reads no records from the checkpoint of offset 0, and would begin at its own newest level instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from metadata_log.directory import META_PROPERTIES_FILE, METADATA_DIRECTORY, MetaProperties
from metadata_log.directory.meta_properties import read_meta_properties, write_meta_properties
from metadata_log.errors import AlreadyFormattedError, DirectoryError
from metadata_log.files.port import Files
from metadata_log.ids import DirectoryId, NodeId, id_text
from metadata_log.records import LATEST_PRODUCTION, MINIMUM_LEVEL, FeatureLevelRecord, encode_record, write_version
from metadata_log.records.feature_levels import default_features
from metadata_log.records.levels import BOOTSTRAP_IN_CHECKPOINT_LEVEL
from metadata_log.storage.checkpoint import (
    BEGINNING,
    BOOTSTRAP_CHECKPOINT,
    CheckpointTimes,
    build_checkpoint,
    checkpoint_name,
    write_checkpoint,
)
from metadata_log.storage.other_logs import check_log_in_place, held_log
from metadata_log.storage.segment import segment_bases
from metadata_log.voters import Voter, VoterSet

METADATA_VERSION_FEATURE: Final = "metadata.version"
KRAFT_VERSION: Final = 1


class LogDirectory(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A log directory to format, and its future id."""

    path: str
    directory_id: DirectoryId


class FormatResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The directories that were formatted now, and the ones that already were and stay unchanged."""

    formatted: tuple[str, ...]
    already_formatted: tuple[str, ...] = ()


class _FirstRecords(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The checkpoints of a fresh directory.

    Attributes:
        kraft_version: None for brokers, which never begin a log.
    """

    values: tuple[bytes, ...]
    level: int
    kraft_version: int | None
    voters: VoterSet | None
    now_ms: int

    @classmethod
    def of(
        cls,
        level: int,
        features: Mapping[str, int],
        voters: Sequence[Voter] | None,
        kraft_version: int | None,
        now_ms: int,
    ) -> _FirstRecords:
        """Return the first records of a node that `format_directory` describes."""
        return cls(
            values=tuple(bootstrap_values(level, {**default_features(level), **features})),
            level=level,
            kraft_version=kraft_version if voters is None else KRAFT_VERSION,
            voters=None if voters is None else VoterSet.of(voters),
            now_ms=now_ms,
        )

    def write(self, files: Files, log_dir: str, *, holds_log: bool) -> None:
        """Write the checkpoints of one log directory; `holds_log`: the metadata log will be in it."""
        is_in_checkpoint = not keeps_bootstrap_file(self.level)
        if not is_in_checkpoint:
            batches = build_checkpoint(self.values, epoch=BEGINNING.epoch, times=_times(self.now_ms, 0))
            write_checkpoint(files, f"{log_dir}/{BOOTSTRAP_CHECKPOINT}", batches)
        if not holds_log or self.kraft_version is None or (self.voters is None and not is_in_checkpoint):
            return
        directory = f"{log_dir}/{METADATA_DIRECTORY}"
        files.mkdirs(directory)
        batches = build_checkpoint(
            self.values if is_in_checkpoint else (),
            epoch=BEGINNING.epoch,
            times=_times(self.now_ms, self.now_ms),
            kraft_version=self.kraft_version,
            voters=None if self.voters is None else self.voters.to_record(),
        )
        write_checkpoint(files, f"{directory}/{checkpoint_name(BEGINNING)}", batches)


def keeps_bootstrap_file(level: int) -> bool:
    """Return True if a log directory of a cluster at this metadata.version has a `bootstrap.checkpoint`.

    Kafka 4.3 requires the file even beside a log. Kafka 4.4 reads it, but does not require it.
    """
    return level < BOOTSTRAP_IN_CHECKPOINT_LEVEL


def bootstrap_values(level: int, features: Mapping[str, int]) -> list[bytes]:
    """Return the first records of a new cluster: metadata.version, then the enabled features by name."""
    version = write_version(FeatureLevelRecord, min(max(level, MINIMUM_LEVEL), LATEST_PRODUCTION))
    levels = [(METADATA_VERSION_FEATURE, level), *sorted((name, on) for name, on in features.items() if on > 0)]
    return [encode_record(FeatureLevelRecord(name=name, feature_level=on), version) for name, on in levels]


def format_directory(
    files: Files,
    log_dirs: Sequence[LogDirectory],
    metadata_dir: str,
    *,
    cluster_id: str,
    node_id: NodeId,
    level: int,
    now_ms: int,
    initial_voters: Sequence[Voter] | None = None,
    kraft_version: int | None = None,
    features: Mapping[str, int] | None = None,
    ignore_formatted: bool = False,
) -> FormatResult:
    """Format each of `log_dirs`; `metadata_dir` is the path of the one for the metadata log.

    `meta.properties` is written last in every directory: after a crash, a half-formatted one counts as unformatted.

    Args:
        level: the metadata.version, which must be a known level.
        initial_voters: the first quorum, this node among them, at kraft.version 1; None for brokers and for controllers
            that join later or have static voters.
        kraft_version: of a controller without initial voters, 0 with static ones; None for brokers.
        features: levels that differ from `default_features`; 0 turns one off.

    Raises:
        AlreadyFormattedError: one is formatted, unless `ignore_formatted`; nothing was written.
        ForeignDirectoryError: one is formatted for another cluster or node; nothing was written.
        MisplacedLogError: the metadata log is in another of `log_dirs`; nothing was written.
        DirectoryError: a directory cannot be written, or holds a metadata log already, or the voters do not fit.
        UnknownLevelError: there is no such level.
    """
    _check_voters(log_dirs, metadata_dir, node_id, initial_voters)
    paths = [log_dir.path for log_dir in log_dirs]
    check_log_in_place(files, paths, metadata_dir, is_controller=kraft_version is not None or bool(initial_voters))
    already = _formatted_before(files, log_dirs, cluster_id, node_id, ignore_formatted)
    fresh = [log_dir for log_dir in log_dirs if log_dir.path not in already]
    for log_dir in fresh:
        _check_no_log(files, log_dir.path)
    first = _FirstRecords.of(level, features or {}, initial_voters, kraft_version, now_ms)
    try:
        for log_dir in fresh:
            files.mkdirs(log_dir.path)
            first.write(files, log_dir.path, holds_log=log_dir.path == metadata_dir)
        for log_dir in fresh:
            properties = MetaProperties(cluster_id=cluster_id, node_id=node_id, directory_id=log_dir.directory_id)
            write_meta_properties(files, log_dir.path, properties, written_at_ms=now_ms)
    except OSError as error:
        raise DirectoryError(f"formatting failed: {error.filename or ''}: {error.strerror or error}") from error
    return FormatResult(formatted=tuple(log_dir.path for log_dir in fresh), already_formatted=tuple(sorted(already)))


def _times(now_ms: int, last_contained_ms: int) -> CheckpointTimes:
    return CheckpointTimes.at(now_ms, last_contained_ms=last_contained_ms)


def _check_voters(
    log_dirs: Sequence[LogDirectory], metadata_dir: str, node_id: NodeId, voters: Sequence[Voter] | None
) -> None:
    holder = next((log_dir for log_dir in log_dirs if log_dir.path == metadata_dir), None)
    if holder is None:
        raise DirectoryError(f"the metadata log's directory {metadata_dir} is not among the log directories")
    if voters is None:
        return
    own = VoterSet.of(voters).get(node_id)
    if own is None:
        raise DirectoryError(f"node {node_id} is not among the initial voters: leave them out if it is to join later")
    if own.key.directory_id != holder.directory_id:
        raise DirectoryError(
            f"the initial voters name directory {id_text(own.key.directory_id)} for node {node_id}, but {metadata_dir} "
            f"is to have {id_text(holder.directory_id)}: they must be the same"
        )


def _formatted_before(
    files: Files, log_dirs: Sequence[LogDirectory], cluster_id: str, node_id: NodeId, ignore: bool
) -> set[str]:
    found: set[str] = set()
    for log_dir in log_dirs:
        if not files.exists(f"{log_dir.path}/{META_PROPERTIES_FILE}"):
            continue
        if not ignore:
            raise AlreadyFormattedError(
                f"{log_dir.path} is already formatted: use another, or --ignore-formatted to leave it as it is"
            )
        properties = read_meta_properties(files, log_dir.path)
        properties.check_own(log_dir.path, cluster_id=cluster_id, node_id=node_id)
        found.add(log_dir.path)
    return found


def _check_no_log(files: Files, log_dir: str) -> None:
    directory = f"{log_dir}/{METADATA_DIRECTORY}"
    if held_log(files, directory).trace is not None or _has_segments(files, directory):
        raise DirectoryError(
            f"{directory} holds a metadata log, though {log_dir} has no {META_PROPERTIES_FILE}: it is not formatted "
            "over. Move it away, or restore its meta.properties"
        )


def _has_segments(files: Files, directory: str) -> bool:
    return files.exists(directory) and bool(segment_bases(files.listdir(directory)))
