"""The bytes that a power cut leaves of a simulated disk."""

from __future__ import annotations

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.storage.checkpoint import checkpoint_name, newest_checkpoint
from metadata_log.storage.file_log import LogConfig, open_log
from metadata_log.storage.loaded_checkpoint import load_snapshot
from tests.support.node_requests import DATA


def durable_copy(files: SimulatedFiles) -> SimulatedFiles:
    """Return a copy with only the durable bytes."""
    copy = SimulatedFiles()
    for path, directory in files._directories.items():
        copy.mkdirs(path)
        for name, inode in directory.durable.items():
            handle = copy.open(f"{path}/{name}", create=True)
            handle.pwrite(bytes(inode.durable), 0)
    return copy


def read_directory(files: SimulatedFiles) -> tuple[int, int, frozenset[str]]:
    """Return the log end, the epoch in quorum-state, and the names of the topics in log and checkpoint."""
    from metadata_log.directory import read_quorum_state  # noqa: PLC0415
    from metadata_log.format.batch import batch_values  # noqa: PLC0415
    from metadata_log.records import TopicRecord, decode_record  # noqa: PLC0415

    directory = f"{DATA}/{METADATA_DIRECTORY}"
    state = read_quorum_state(files, directory)
    log, _ = open_log(files, directory, config=LogConfig(), recover=False)
    names: set[str] = set()
    end = log.log_end_offset
    newest = newest_checkpoint(files, directory)
    if newest is not None and newest.offset > 0:
        names.update(load_snapshot(files, f"{directory}/{checkpoint_name(newest)}", newest).image.topics.by_name)
        end = max(end, newest.offset)
    for header, batch in log.iter_from(log.start_offset):
        if not header.is_control:
            for value in batch_values(batch, header):
                record = decode_record(value)
                if isinstance(record, TopicRecord):
                    names.add(record.name)
    return end, -1 if state is None else state.leader_epoch, frozenset(names)
