"""The opening of a formatted directory by a starting node: identity, locks, vote, checkpoint, log, voters.

Decides: which directories belong to this node, which it refuses, and the initial state of the Raft core. Must not know:
how the node runs afterwards. The caller logs `recovery.warnings`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping

from metadata_log.directory import (
    META_PROPERTIES_FILE,
    METADATA_DIRECTORY,
    PARTITION_METADATA_FILE,
    DirectoryLock,
    MetaProperties,
    QuorumState,
    give_directory_id,
    read_committed_state,
    read_meta_properties,
    read_partition_metadata,
    read_quorum_state,
    write_partition_metadata,
)
from metadata_log.directory.clean_shutdown import registered_end
from metadata_log.errors import (
    CorruptFileError,
    ForeignDirectoryError,
    LostDirectoryIdError,
    NotFormattedError,
    UnknownRecordError,
)
from metadata_log.files.port import Files
from metadata_log.format.batch import BatchHeader, batch_records, batch_values, iter_batches
from metadata_log.ids import (
    ID_BYTES,
    METADATA_TOPIC_ID,
    ZERO_DIRECTORY_ID,
    DirectoryId,
    NodeId,
    ReplicaKey,
    as_random_uuids,
    id_text,
    is_assignable,
)
from metadata_log.image import MetadataImage
from metadata_log.image.newer_release import check_known_kraft_version, check_known_levels, check_known_records
from metadata_log.image.older_release import check_low_records, refuse_older_release, why_older
from metadata_log.image.replayer import Replayer
from metadata_log.offsets import Offset
from metadata_log.records import (
    FeatureLevelRecord,
    KRaftVersionRecord,
    MetadataRecord,
    NoOpRecord,
    VotersRecord,
    decode_control,
    decode_record,
)
from metadata_log.records.codec import READERS
from metadata_log.records.levels import FEATURE_NAME
from metadata_log.storage.checkpoint import BOOTSTRAP_CHECKPOINT, read_checkpoint
from metadata_log.storage.file_log import FileLog
from metadata_log.storage.loaded_checkpoint import LoadedSnapshot
from metadata_log.storage.no_ops import is_no_op
from metadata_log.storage.other_logs import check_log_in_place, check_vote_kept
from metadata_log.voters import VoterHistory, VoterSet
from quorum.node.config.node_config import NodeConfig
from quorum.node.core.named_batch import named_batch_of
from quorum.node.core.opened import OpenedReplica
from quorum.node.core.replica_disk import ReplicaDisk
from quorum.node.storage.startup import StartingLog, open_starting_log
from quorum.raft.config import Snapshot, StorageState
from quorum.raft.ready import QuorumStateData

_READ_BYTES = 1 << 20
_NS_PER_MS = 1_000_000
_NO_OP = NoOpRecord()
_NO_OP_FRAME = bytes((1, NoOpRecord.API_KEY, 0))
_FEATURE_FRAME = bytes((1, FeatureLevelRecord.API_KEY, 0))


def open_replica(files: Files, config: NodeConfig, *, cluster_id: str | None = None) -> OpenedReplica:
    """Open a directory of `kraft storage format`, or of a node's earlier run, and lock all directories of the node.

    Raises:
        MisplacedLogError: another of its directories holds the metadata log, and the configured one is empty.
        NotFormattedError: a directory has no meta.properties.
        ForeignDirectoryError: a directory belongs to another cluster, node, or (the metadata's) topic.
        DirectoryLockedError: another process uses one.
        LostEndError: a controller's log lacks records that its own directories prove to be committed.
        LostDirectoryIdError: a voter's directory has lost the id that the log has for it.
        LostVoteError: a controller's has records or a checkpoint of them, and no quorum-state.
        CorruptBatchError, CorruptFileError, UnknownRecordError: something in it is damaged or from newer software.
        NewerLevelError: its log is of a later release.
        OlderReleaseError: its log is of Kafka before 3.3-IV3.
        OSError: it cannot be read or written.
    """
    directories = _directories(config)
    check_log_in_place(files, directories, config.metadata_log_dir, is_controller=config.is_controller)
    metas = {path: _identity(files, path, config, cluster_id) for path in directories}
    cluster_id = metas[config.metadata_log_dir].cluster_id
    for path, other in metas.items():
        other.check_own(path, cluster_id=cluster_id)
    locks: list[DirectoryLock] = []
    try:
        locks.extend(DirectoryLock(files, path) for path in directories)
        return _open_locked(files, config, metas, locks)
    except BaseException:
        for lock in reversed(locks):
            lock.release()
        raise


def _directories(config: NodeConfig) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*config.log_dirs, config.metadata_log_dir)))


def _identity(files: Files, path: str, config: NodeConfig, cluster_id: str | None) -> MetaProperties:
    meta = read_meta_properties(files, path)
    meta.check_own(path, cluster_id=cluster_id, node_id=config.node_id)
    return meta


def _open_locked(
    files: Files, config: NodeConfig, metas: Mapping[str, MetaProperties], locks: list[DirectoryLock]
) -> OpenedReplica:
    directory = f"{config.metadata_log_dir}/{METADATA_DIRECTORY}"
    files.mkdirs(directory)
    _check_topic_id(files, directory)
    quorum_state = read_quorum_state(files, directory)
    if config.is_controller:
        check_vote_kept(files, directory)
    committed = None if config.is_controller else read_committed_state(files, directory)
    starting = _starting_log(files, config, directory)
    log, snapshot, writer = starting.log, starting.snapshot, starting.writer
    if snapshot is not None:
        check_known_levels(snapshot.image.features)
        check_known_kraft_version(snapshot.kraft_version)
    bootstrap_records = _bootstrap_records(files, config.metadata_log_dir, snapshot)
    no_ops, voters = _voters(directory, log, snapshot, config.static_voters)
    if starting.end.offset == 0:
        if config.is_controller and len(voters.latest) and not bootstrap_records:
            raise _nothing_to_begin_with(config)
        check_known_records(bootstrap_records)
        check_low_records(bootstrap_records)
    meta = _with_ids(files, config, metas, voters)
    storage = StorageState(
        quorum_state=None if quorum_state is None else _state_of(quorum_state),
        log_start_offset=log.start_offset,
        end=starting.end,
        epochs=log.epochs,
        voters=voters,
        snapshots=tuple(Snapshot(id=held.end, size=held.size) for held in starting.held),
        high_watermark=Offset(0) if committed is None else committed.high_watermark,
    )
    return OpenedReplica(
        meta=meta,
        replica=ReplicaKey(node_id=NodeId(config.node_id), directory_id=meta.directory_id or ZERO_DIRECTORY_ID),
        directory=directory,
        storage=storage,
        log=log,
        writer=writer,
        disk=ReplicaDisk(files, directory, writer),
        replayer=Replayer.follow(MetadataImage.empty() if snapshot is None else snapshot.image),
        bootstrap_records=bootstrap_records,
        recovery=starting.recovery,
        files=files,
        checkpoints=starting.held,
        locks=tuple(locks),
        committed=committed,
        no_ops=no_ops,
        named=named_batch_of(log, storage.high_watermark, is_agents=not config.is_controller),
    )


def _with_ids(
    files: Files, config: NodeConfig, metas: Mapping[str, MetaProperties], voters: VoterHistory
) -> MetaProperties:
    """Give each directory without an id a new one, before this node votes or fetches. Return the metadata log's
    properties.

    Raises:
        LostDirectoryIdError: the log has this node as a voter with an id, and its directory has none.
    """
    own = metas[config.metadata_log_dir]
    voter = voters.latest.get(NodeId(config.node_id)) if config.is_controller else None
    if own.directory_id is None and voter is not None and voter.key.directory_id != ZERO_DIRECTORY_ID:
        named = id_text(voter.key.directory_id)
        raise LostDirectoryIdError(
            f"{config.metadata_log_dir}/{META_PROPERTIES_FILE} has no directory.id, and the log has node "
            f"{config.node_id} as the voter with directory {named}. If this is the disk that voted, write "
            f"directory.id={named} into it. If that disk is lost or this is a copy, write a new id there (kraft "
            "storage random-uuid): the node starts as an observer, and is added as a voter then"
        )
    now_ms = time.time_ns() // _NS_PER_MS
    given = {path: give_directory_id(files, path, _new_directory_id, written_at_ms=now_ms) for path in metas}
    return given[config.metadata_log_dir]


def _new_directory_id() -> DirectoryId:
    while True:
        candidate = as_random_uuids(os.urandom(ID_BYTES))
        if is_assignable(candidate):
            return DirectoryId(candidate)


def _check_topic_id(files: Files, directory: str) -> None:
    """Check the topic id in the directory's partition.metadata, or write it: always the sentinel, as in Kafka."""
    path = f"{directory}/{PARTITION_METADATA_FILE}"
    if not files.exists(path):
        write_partition_metadata(files, directory, METADATA_TOPIC_ID)
        return
    found = read_partition_metadata(files, directory)
    if found != METADATA_TOPIC_ID:
        raise ForeignDirectoryError(
            f"{path} names topic id {id_text(found)}, not the metadata topic's {id_text(METADATA_TOPIC_ID)}"
        )


def _starting_log(files: Files, config: NodeConfig, directory: str) -> StartingLog:
    """Open the log. A controller's must have all records that its own directories prove to be committed."""
    if not config.is_controller:
        return open_starting_log(files, directory, config.log)
    registered = Offset(registered_end(files, _directories(config)))
    kept = _kept_committed(files, directory)
    return open_starting_log(files, directory, config.log, committed=registered, kept=kept)


def _kept_committed(files: Files, directory: str) -> int:
    """Return the offset up to which a controller's log was committed when it was an agent's; 0 if that is unknown."""
    try:
        state = read_committed_state(files, directory)
    except CorruptFileError:
        return 0  #   # it proves nothing, and a controller does not need it otherwise
    return 0 if state is None else int(state.high_watermark)


def _nothing_to_begin_with(config: NodeConfig) -> NotFormattedError:
    return NotFormattedError(
        f"{config.metadata_log_dir} holds no bootstrap records: it has neither {BOOTSTRAP_CHECKPOINT} nor a checkpoint "
        "of offset 0 with records, so that a first controller has nothing to begin with. Run `kraft storage format` "
        "for this directory"
    )


def _state_of(state: QuorumState) -> QuorumStateData:
    return QuorumStateData(
        leader_id=NodeId(state.leader_id) if state.leader_id >= 0 else None,
        leader_epoch=state.leader_epoch,
        voted=state.voted_key,
        was_removed=state.was_removed,
    )


def _voters(
    directory: str, log: FileLog, snapshot: LoadedSnapshot | None, static: VoterSet
) -> tuple[int, VoterHistory]:
    """Return the number of NoOps after the checkpoint, and the voter sets by offset.

    A set in the checkpoint of offset 0 has no record yet: the first leader writes it. The configured voters count until
    a VotersRecord appears, and again if that record is truncated.

    Raises:
        NewerLevelError, UnknownRecordError: a later release has written a part of it. This node may not vote there.
        OlderReleaseError: Kafka before 3.3-IV3 has written it.
    """
    history, begin = VoterHistory.start(static) if len(static) else VoterHistory(), log.start_offset
    if snapshot is not None:
        begin, history = snapshot.end.offset, snapshot.voter_history(history)
    levels: list[FeatureLevelRecord] = []
    no_ops = 0
    for offset, record in _records_of_the_quorum(log, begin):
        if isinstance(record, NoOpRecord):
            no_ops += 1
        elif isinstance(record, VotersRecord):
            history = history.append(
                offset, VoterSet.from_record(record, f"{directory}: VotersRecord at offset {offset}")
            )
        elif isinstance(record, KRaftVersionRecord):
            check_known_kraft_version(record.kraft_version)
        else:
            levels = [record]
    check_known_records(levels)
    if levels:
        check_low_records(levels)
        return no_ops, history
    older = None if snapshot is None else why_older(snapshot.image)
    if older is not None:
        raise refuse_older_release(older)
    has_level = snapshot is not None and snapshot.image.features.metadata_version is not None
    if not has_level and _holds_metadata(log, begin):
        raise refuse_older_release()
    return no_ops, history


def _holds_metadata(log: FileLog, begin: Offset) -> bool:
    """Return True if a log has a metadata record from `begin` on. NoOps do not count."""
    return any(
        not value.startswith(_NO_OP_FRAME)
        for data, position, header in _batches(log, begin)
        if not header.is_control
        for value in batch_values(data, header, position)
    )


def _records_of_the_quorum(
    log: FileLog, begin: Offset
) -> Iterator[tuple[Offset, VotersRecord | KRaftVersionRecord | FeatureLevelRecord | NoOpRecord]]:
    """Yield the records from `begin` on that set voters, a kraft.version or a metadata.version, and lone NoOps.

    Raises:
        UnknownRecordError: a record of the log has an unknown type or version; the error names the offset.
    """
    for data, position, header in _batches(log, begin):
        if is_no_op(data, position, header):
            yield header.base_offset, _NO_OP
        elif header.is_control:
            yield from _controls(data, header, position)
        else:
            yield from _levels(data, header, position)


def _batches(log: FileLog, begin: Offset) -> Iterator[tuple[bytes, int, BatchHeader]]:
    """Yield the batches that reach past `begin`: the bytes that hold each, its position in them, and its header."""
    offset = begin
    while offset < log.log_end_offset:
        data = log.read(offset, _READ_BYTES)
        for position, header in iter_batches(data):
            offset = header.next_offset
            if offset > begin:
                yield data, position, header


def _controls(
    data: bytes, header: BatchHeader, position: int
) -> Iterator[tuple[Offset, VotersRecord | KRaftVersionRecord]]:
    for record in batch_records(data, header, position):
        control = decode_control(record.key or b"", record.value or b"")
        if isinstance(control, VotersRecord | KRaftVersionRecord):
            yield record.offset, control


def _levels(data: bytes, header: BatchHeader, position: int) -> Iterator[tuple[Offset, FeatureLevelRecord]]:
    """Yield the records of a batch that finalise a metadata.version. Only these are decoded."""
    for offset, value in enumerate(batch_values(data, header, position), header.base_offset):
        if value[:3] in READERS and not value.startswith(_FEATURE_FRAME):
            continue
        try:
            record = decode_record(value)
        except UnknownRecordError as error:
            raise UnknownRecordError(error.api_key, error.version, offset) from None
        if isinstance(record, FeatureLevelRecord) and record.name == FEATURE_NAME:
            yield Offset(offset), record


def _bootstrap_records(files: Files, log_dir: str, snapshot: LoadedSnapshot | None) -> tuple[MetadataRecord, ...]:
    """Return the records in the checkpoint of offset 0, or else those in `bootstrap.checkpoint`, as Kafka 4.4 does."""
    if snapshot is not None and snapshot.bootstrap_values:
        return tuple(map(decode_record, snapshot.bootstrap_values))
    path = f"{log_dir}/{BOOTSTRAP_CHECKPOINT}"
    if not files.exists(path):
        return ()
    return tuple(decode_record(value) for value in read_checkpoint(files, path).values())
