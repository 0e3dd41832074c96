"""Opens a formatted directory as a starting node does: identity, locks, vote, checkpoint, log, voters.

Decides: what belongs to this node, what is refused, and what the Raft core starts from. Must not know: how the node
runs afterwards. The caller logs `recovery.warnings`.
"""

from __future__ import annotations

from collections.abc import Iterator

from metadata_log.batch import batch_records, iter_batches
from metadata_log.directory import (
    METADATA_DIRECTORY,
    PARTITION_METADATA_FILE,
    DirectoryLock,
    MetaProperties,
    QuorumState,
    read_meta_properties,
    read_partition_metadata,
    read_quorum_state,
    write_partition_metadata,
)
from metadata_log.errors import CorruptBatchError, DirectoryError, ForeignDirectoryError, NotFormattedError
from metadata_log.file_log import FileLog, open_log
from metadata_log.files import Files
from metadata_log.ids import METADATA_TOPIC_ID, ZERO_DIRECTORY_ID, NodeId, ReplicaKey, id_text
from metadata_log.image import ImageBuilder, MetadataImage
from metadata_log.image.replayer import Replayer
from metadata_log.log_writer import LogWriter
from metadata_log.offsets import Offset, OffsetAndEpoch
from metadata_log.records import MetadataRecord, VotersRecord, decode_control, decode_record
from metadata_log.snapshot import (
    BOOTSTRAP_CHECKPOINT,
    Checkpoint,
    checkpoint_name,
    newest_checkpoint,
    read_checkpoint,
    remove_unfinished,
)
from metadata_log.voters import VoterHistory, VoterSet
from quorum.node.config import NodeConfig
from quorum.node.opened import OpenedReplica
from quorum.node.replica_disk import ReplicaDisk
from quorum.raft.config import StorageState
from quorum.raft.ready import QuorumStateData

_READ_BYTES = 1 << 20


def open_replica(files: Files, config: NodeConfig, *, cluster_id: str | None = None) -> OpenedReplica:
    """Open what `kraft storage format` left, or a node's earlier run; takes the locks of all its directories.

    Raises:
        NotFormattedError: a directory has no meta.properties.
        ForeignDirectoryError: a directory belongs to another cluster, node, or (the metadata's) topic.
        DirectoryLockedError: another process uses one.
        CorruptBatchError, CorruptFileError, UnknownRecordError: something in it is damaged or from newer software.
        OSError: it cannot be read or written.
    """
    directories = dict.fromkeys((*config.log_dirs, config.metadata_log_dir))
    metas = {path: _identity(files, path, config, cluster_id) for path in directories}
    meta = metas[config.metadata_log_dir]
    for path, other in metas.items():
        other.check_own(path, cluster_id=meta.cluster_id)
    locks: list[DirectoryLock] = []
    try:
        locks.extend(DirectoryLock(files, path) for path in directories)
        return _open_locked(files, config, meta, locks)
    except BaseException:
        for lock in reversed(locks):
            lock.release()
        raise


def _identity(files: Files, path: str, config: NodeConfig, cluster_id: str | None) -> MetaProperties:
    meta = read_meta_properties(files, path)
    meta.check_own(path, cluster_id=cluster_id, node_id=config.node_id)
    return meta


def _open_locked(files: Files, config: NodeConfig, meta: MetaProperties, locks: list[DirectoryLock]) -> OpenedReplica:
    directory = f"{config.metadata_log_dir}/{METADATA_DIRECTORY}"
    files.mkdirs(directory)
    remove_unfinished(files, directory)
    _check_topic_id(files, directory)
    quorum_state = read_quorum_state(files, directory)
    snapshot_id = newest_checkpoint(files, directory)
    checkpoint = None if snapshot_id is None else read_checkpoint(files, f"{directory}/{checkpoint_name(snapshot_id)}")
    try:
        log, recovery = open_log(files, directory, config=config.log, recover=True)
    except CorruptBatchError as damage:
        raise damage.in_file(f"{directory}/{damage.file}") from damage
    end = _check_end(log, snapshot_id, directory)
    bootstrap_records = _bootstrap_records(files, config.metadata_log_dir)
    if config.is_controller and end.offset == 0 and not bootstrap_records:
        raise NotFormattedError(
            f"{config.metadata_log_dir}/{BOOTSTRAP_CHECKPOINT} is missing: a first controller has nothing to begin "
            "with. Run `kraft storage format` for this directory"
        )
    storage = StorageState(
        quorum_state=None if quorum_state is None else _state_of(quorum_state),
        log_start_offset=log.start_offset,
        end=end,
        epochs=log.epochs,
        voters=_voters(log, snapshot_id, checkpoint),
        snapshot_id=snapshot_id,
    )
    writer = LogWriter(files, directory)
    return OpenedReplica(
        meta=meta,
        replica=ReplicaKey(node_id=NodeId(config.node_id), directory_id=meta.directory_id or ZERO_DIRECTORY_ID),
        directory=directory,
        storage=storage,
        log=log,
        writer=writer,
        disk=ReplicaDisk(files, directory, writer),
        replayer=Replayer.start(_image(snapshot_id, checkpoint)),
        bootstrap_records=bootstrap_records,
        recovery=recovery,
        locks=tuple(locks),
    )


def _check_topic_id(files: Files, directory: str) -> None:
    """The metadata topic's directory is marked by the sentinel, for ever, as Kafka marks it."""
    path = f"{directory}/{PARTITION_METADATA_FILE}"
    if not files.exists(path):
        write_partition_metadata(files, directory, METADATA_TOPIC_ID)
        return
    found = read_partition_metadata(files, directory)
    if found != METADATA_TOPIC_ID:
        raise ForeignDirectoryError(
            f"{path} names topic id {id_text(found)}, not the metadata topic's {id_text(METADATA_TOPIC_ID)}"
        )


def _check_end(log: FileLog, snapshot_id: OffsetAndEpoch | None, directory: str) -> OffsetAndEpoch:
    """The log's end; right behind a checkpoint it has the checkpoint's epoch."""
    if snapshot_id is None:
        if log.start_offset > 0:
            raise DirectoryError(
                f"{directory}: the log begins at {log.start_offset}, and no checkpoint holds what was before"
            )
        return log.end()
    if log.log_end_offset < snapshot_id.offset or log.start_offset > snapshot_id.offset:
        raise DirectoryError(
            f"{directory}: the log holds {log.start_offset} to {log.log_end_offset}, which does not meet the newest "
            f"checkpoint, {checkpoint_name(snapshot_id)}"
        )
    return log.end() if log.last_epoch >= 0 or snapshot_id.offset == 0 else snapshot_id


def _state_of(state: QuorumState) -> QuorumStateData:
    return QuorumStateData(
        leader_id=NodeId(state.leader_id) if state.leader_id >= 0 else None,
        leader_epoch=state.leader_epoch,
        voted=state.voted_key,
    )


def _voters(log: FileLog, snapshot_id: OffsetAndEpoch | None, checkpoint: Checkpoint | None) -> VoterHistory:
    """Voter sets by offset. One from the checkpoint at offset 0 was in no record yet: the first leader writes it."""
    history, begin = VoterHistory(), log.start_offset
    if snapshot_id is not None and checkpoint is not None:
        begin = snapshot_id.offset
        if checkpoint.voters is not None:
            history = VoterHistory.start(VoterSet.from_record(checkpoint.voters), Offset(snapshot_id.offset - 1))
    for offset, record in _voters_records(log, begin):
        history = history.append(offset, VoterSet.from_record(record))
    return history


def _voters_records(log: FileLog, begin: Offset) -> Iterator[tuple[Offset, VotersRecord]]:
    offset = begin
    while offset < log.log_end_offset:
        data = log.read(offset, _READ_BYTES)
        for position, header in iter_batches(data):
            offset = header.next_offset
            if not header.is_control or header.next_offset <= begin:
                continue
            for record in batch_records(data, header, position):
                control = decode_control(record.key or b"", record.value or b"")
                if isinstance(control, VotersRecord):
                    yield record.offset, control


def _image(snapshot_id: OffsetAndEpoch | None, checkpoint: Checkpoint | None) -> MetadataImage:
    if snapshot_id is None or checkpoint is None or snapshot_id.offset == 0:
        return MetadataImage.empty()
    builder = ImageBuilder(MetadataImage.empty())
    for index, value in enumerate(checkpoint.values()):
        builder.apply(decode_record(value), index)
    return builder.build(snapshot_id.offset, snapshot_id.epoch, checkpoint.header.last_contained_log_timestamp)


def _bootstrap_records(files: Files, log_dir: str) -> tuple[MetadataRecord, ...]:
    path = f"{log_dir}/{BOOTSTRAP_CHECKPOINT}"
    if not files.exists(path):
        return ()
    return tuple(decode_record(value) for value in read_checkpoint(files, path).values())
