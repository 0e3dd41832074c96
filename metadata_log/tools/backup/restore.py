"""A restored backup: the log directory of a controller that has not run yet, in the backup's cluster or a new one.

Decides: the files from which a node starts: identity, checkpoint, an empty segment, quorum-state. Must not know: how a
backup is stored. Kafka's controllers and ours start from these files.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.directory import (
    METADATA_DIRECTORY,
    MetaProperties,
    QuorumState,
    write_meta_properties,
    write_partition_metadata,
    write_quorum_state,
)
from metadata_log.errors import WrongUseError
from metadata_log.files.port import Files
from metadata_log.ids import (
    METADATA_TOPIC_ID,
    DirectoryId,
    NodeId,
    TopicId,
)
from metadata_log.offsets import Epoch
from metadata_log.own_id import own_id_in_cluster, with_new_ids
from metadata_log.records import VotersRecord
from metadata_log.storage.checkpoint import BOOTSTRAP_CHECKPOINT, CheckpointTimes, build_checkpoint, write_checkpoint
from metadata_log.storage.formatter import bootstrap_values, keeps_bootstrap_file
from metadata_log.storage.segment import segment_file
from metadata_log.tools.backup.archive import BackupError
from metadata_log.tools.backup.backup import Backup
from metadata_log.tools.new_files import close_tree, require_new_directory
from metadata_log.voters import VoterSet

_NO_MORE: Final = "the voters of a cluster at kraft.version 0 are in its configuration, controller.quorum.voters"


class NoVoterError(WrongUseError):
    """The node is no voter of the restored quorum, or the restored quorum cannot be given voters."""


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """The directory that was written."""

    directory: str
    cluster_id: str
    node_id: int
    directory_id: DirectoryId
    voters: VoterSet
    end_offset: int
    metadata_topic_id: TopicId | None
    """The metadata topic's own id, by which replicas recognize the log; None: the backup has none."""
    is_new_log: bool
    """The own id differs from the backup's, because the cluster does. A replica with the old id refuses to follow this
    log."""


def restore_backup(
    files: Files,
    backup: Backup,
    target: Path,
    *,
    cluster_id: str,
    node_id: NodeId,
    new_directory_id: DirectoryId,
    now_ms: int,
    voters: VoterSet | None = None,
    group_readable: bool = False,
) -> Restored:
    """Make `target` a node's log directory that holds the backup. `voters` None: the backup's voters remain.

    Under another cluster id than the backup's, the metadata topic gets a new own id, the same on every node. Such a
    clone is another log: replicas of the original refuse to follow it. A voter's directory gets the id that the voter
    set has for it. `new_directory_id` is for static voters, which the configuration names without one.

    All files are closed to other users; with `group_readable` their group may read them. An existing `target` keeps its
    mode.

    Raises:
        BackupError: a later release saved the backup, and only that release can restore it; or it lacks credentials.
        TargetError: `target` is not empty, or within a log directory.
        NoVoterError: the node is no voter, or the backup takes no voters.
        OSError: a file cannot be written; no part of the target remains.
    """
    _require_complete(backup)
    require_new_directory(target, "nothing is restored over another, name a new directory")
    record = _voters_of(backup, voters)
    members = VoterSet() if record is None else VoterSet.from_record(record, "VotersRecord of the backup")
    holder = _directory_id(members, node_id, new_directory_id)
    manifest = backup.manifest
    properties = MetaProperties(cluster_id=cluster_id, node_id=node_id, directory_id=holder)
    former_id, own_id = _own_ids(backup, cluster_id)
    with _nothing_half_made(target), _closed(target, group_readable=group_readable):
        _write_log(files, backup, f"{target}/{METADATA_DIRECTORY}", record, former_id, own_id)
        # Last: without meta.properties a directory counts as unformatted, so no node starts from a half-written log.
        _write_identity(files, backup, target, properties, now_ms)
    return Restored(
        directory=str(target),
        cluster_id=cluster_id,
        node_id=int(node_id),
        directory_id=holder,
        voters=members,
        end_offset=manifest.end_offset,
        metadata_topic_id=own_id,
        is_new_log=own_id != former_id,
    )


def _directory_id(members: VoterSet, node_id: NodeId, new: DirectoryId) -> DirectoryId:
    own = members.get(node_id)
    if own is None and len(members):
        named = ", ".join(map(str, members))
        raise NoVoterError(
            f"node {node_id} is no voter ({named}): its directory would wait for a quorum that it is not in. Name one "
            "of them, or a new quorum with --voters; a node that only joins is formatted with --no-initial-controllers"
        )
    return new if own is None else own.key.directory_id


def _own_ids(backup: Backup, cluster_id: str) -> tuple[TopicId | None, TopicId | None]:
    """Return the own id in the backup, and the one to write. The latter derives from the cluster id, so all nodes get
    the same."""
    former = backup.state.image.topics.own_id
    if former is None or backup.manifest.cluster_id in (None, cluster_id):
        return former, former
    return former, own_id_in_cluster(former, cluster_id)


def _with_own_id(values: Iterable[bytes], former: TopicId | None, own_id: TopicId | None) -> Iterator[bytes]:
    """Yield the records, with `own_id` in place of `former`."""
    if former is None or own_id is None or former == own_id:
        yield from values
        return
    for value in values:
        yield with_new_ids(value, {former: own_id})


def _require_complete(backup: Backup) -> None:
    if backup.manifest.redacted is True:
        raise BackupError(
            "this backup was saved with --redact, without credentials and passwords, so that no user of it could log "
            "in: restore one that was saved without --redact"
        )
    newer = backup.state.newer
    if newer:
        raise BackupError(f"this backup was {newer.text('not known here')}. Restore it with the kraft of that release")


@contextmanager
def _nothing_half_made(target: Path) -> Iterator[None]:
    """If the block fails, remove all that it created in `target`, which was empty, and its new parents."""
    made = [directory for directory in (target, *target.parents) if not directory.exists()]
    try:
        yield
    except BaseException:
        for child in target.iterdir() if target.exists() else ():
            if child.is_dir():
                shutil.rmtree(child)
            else:
                child.unlink()
        for directory in made:
            if directory.exists():
                directory.rmdir()
        raise


@contextmanager
def _closed(target: Path, *, group_readable: bool) -> Iterator[None]:
    """After the block, close the files that it created at `target` to other users, whatever the umask."""
    is_there = target.exists()
    yield
    for child in target.iterdir() if is_there else (target,):
        close_tree(child, group_readable=group_readable)


def _write_log(
    files: Files,
    backup: Backup,
    directory: str,
    voters: VotersRecord | None,
    former_id: TopicId | None,
    own_id: TopicId | None,
) -> None:
    """Write the checkpoint, the empty segment at its end, and a quorum-state of its epoch without a vote.

    A controller refuses to start with a checkpoint but no quorum-state: it may have lost a vote.
    """
    manifest = backup.manifest
    files.mkdirs(directory)
    times = CheckpointTimes.at(manifest.created_ms, last_contained_ms=manifest.last_contained_timestamp_ms)
    batches = build_checkpoint(
        _with_own_id(backup.checkpoint.values(), former_id, own_id),
        epoch=backup.checkpoint.epoch,
        times=times,
        kraft_version=backup.checkpoint.kraft_version,
        voters=voters,
    )
    write_checkpoint(files, f"{directory}/{manifest.checkpoint}", batches)
    files.open(f"{directory}/{segment_file(manifest.end_offset)}", create=True).close()
    write_partition_metadata(files, directory, METADATA_TOPIC_ID)
    data_version = 0 if backup.checkpoint.kraft_version == 0 else 1
    state = QuorumState(leader_epoch=backup.checkpoint.epoch, data_version=data_version)
    write_quorum_state(files, directory, state)


def _voters_of(backup: Backup, voters: VoterSet | None) -> VotersRecord | None:
    if voters is None:
        return backup.checkpoint.voters
    if backup.checkpoint.kraft_version == 0:
        raise NoVoterError(f"the backup takes no voters: {_NO_MORE}")
    return voters.to_record()


def _write_identity(files: Files, backup: Backup, target: Path, properties: MetaProperties, now_ms: int) -> None:
    manifest = backup.manifest
    if keeps_bootstrap_file(manifest.metadata_version):
        values = bootstrap_values(manifest.metadata_version, manifest.features)
        batches = build_checkpoint(values, epoch=Epoch(0), times=CheckpointTimes.at(now_ms, last_contained_ms=0))
        write_checkpoint(files, f"{target}/{BOOTSTRAP_CHECKPOINT}", batches)
    write_meta_properties(files, str(target), properties, written_at_ms=now_ms)
