"""The metadata topic's own id in the files of a log directory, which changes with the cluster id.

Decides: which files hold it, and which bytes change: ids and checksums. Offsets, sizes and indexes stay. Must not know:
how the files are written. An agent's `agent-journal` stays as it is: an agent that meets another own id voids its
entries, so that they remove no directory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.directory.committed_state import (
    COMMITTED_STATE_FILE,
    format_committed_state,
    read_committed_state,
)
from metadata_log.errors import CorruptFileError, MetadataLogError
from metadata_log.files.port import Files
from metadata_log.format.batch import batch_values
from metadata_log.ids import METADATA_TOPIC_NAME, TopicId, id_text
from metadata_log.own_id import NewIds, batch_patches, own_id_in_cluster, own_ids_named
from metadata_log.storage.checkpoint import CHECKPOINT_SUFFIX, checkpoint_ends, checkpoint_name
from metadata_log.storage.segment import LocatedBatch, segment_bases, segment_file
from metadata_log.tools.read.log_reader import LogReader
from metadata_log.tools.read.scan import Damage, Fault
from quorum.recovery.journal.changes import Content, FileChange
from quorum.recovery.journal.log_directories import Place


class OwnIds(msgspec.Struct, frozen=True, kw_only=True):
    """The new own ids of the logs of one command.

    Attributes:
        new_ids: by the former ones; empty if no log has one, or one of them cannot be changed.
        changes: to the files of each log directory.
        problems: sentences about logs that cannot be changed. Then no log is changed.
    """

    new_ids: NewIds = {}
    changes: dict[str, tuple[FileChange, ...]] = {}
    problems: tuple[str, ...] = ()

    def new_names(self, log_dir: str) -> dict[str, str]:
        """Return the new ids by the former ones, as text; empty if nothing in this directory changes."""
        if not self.changes.get(log_dir):
            return {}
        return {id_text(former): id_text(new) for former, new in self.new_ids.items()}

    def sentences(self) -> Iterator[str]:
        """Yield sentences about the new own ids."""
        if any(self.changes.values()):
            for former, new in self.new_ids.items():
                yield (
                    f"the metadata topic's own id {id_text(former)} becomes {id_text(new)}, the same on every node of "
                    "the new cluster: a node whose log has the former one does not follow it, and cuts nothing"
                )


def new_own_ids(files: Files, places: Sequence[Place], cluster_id: str) -> OwnIds:
    """Find the own ids in these directories' metadata logs, and the changes for another cluster id.

    All logs are changed or none: a node whose own id differs from its leader's stops following and holds.

    Raises:
        OSError: a file cannot be read.
    """
    with_log = [place for place in places if files.exists(place.metadata)]
    found: dict[TopicId, TopicId] = {}
    problems = []
    for place in with_log:
        try:
            found |= {own_id: own_id_in_cluster(own_id, cluster_id) for own_id in _own_ids(files, place)}
        except MetadataLogError as error:
            problems.append(_problem(place, error))
    changes: dict[str, tuple[FileChange, ...]] = {}
    if found and not problems:
        for place in with_log:
            try:
                changes[place.log_dir] = tuple(_changes(files, place, found))
            except MetadataLogError as error:
                problems.append(_problem(place, error))
    return OwnIds(problems=tuple(problems)) if problems else OwnIds(new_ids=found, changes=changes)


def _problem(place: Place, error: MetadataLogError) -> str:
    return (
        f"the metadata topic's own id, if there is one, is not changed, as {place.label} cannot be read as a whole "
        f"({error}): the cluster id alone fences these directories, and a node with another own id does not follow "
        "them. To change it, repair the log first (`kraft recover inspect`), then change the cluster id on every node"
    )


def _own_ids(files: Files, place: Place) -> list[TopicId]:
    """Return all own ids in the log and in `committed-state`, each once."""
    committed = read_committed_state(files, place.metadata)
    ids = [] if committed is None or committed.topic_id is None else [committed.topic_id]
    for name in _log_files(files, place.metadata):
        for batch in _sound_batches(files, place.metadata, name):
            if not batch.header.is_control and _bytes_of(batch).find(METADATA_TOPIC_NAME.encode()) >= 0:
                ids += own_ids_named(batch_values(batch.buffer, batch.header, batch.at))
    return list(dict.fromkeys(ids))


def _log_files(files: Files, metadata: str) -> list[str]:
    checkpoints = [checkpoint_name(end) for end in checkpoint_ends(files, metadata)]
    return [*checkpoints, *(segment_file(base) for base in segment_bases(files.listdir(metadata)))]


def _sound_batches(files: Files, metadata: str, name: str) -> Iterator[LocatedBatch]:
    """Yield all batches, without an unfinished write at the end of the log.

    Raises:
        CorruptFileError: the file is damaged.
    """
    is_last = name == _log_files(files, metadata)[-1] and not name.endswith(CHECKPOINT_SUFFIX)
    for found in LogReader(files, [f"{metadata}/{name}"]).seen():
        if isinstance(found, LocatedBatch):
            yield found
        elif isinstance(found, Damage) and (found.fault is not Fault.TORN or not is_last):
            raise CorruptFileError(name, f"position {found.position}: {found.what}")


def _bytes_of(batch: LocatedBatch) -> bytes:
    return batch.buffer[batch.at : batch.at + batch.header.size_in_bytes]


def _changes(files: Files, place: Place, new_ids: NewIds) -> Iterator[FileChange]:
    for name in _log_files(files, place.metadata):
        patches = tuple(
            (batch.position + at, data)
            for batch in _sound_batches(files, place.metadata, name)
            for at, data in batch_patches(_bytes_of(batch), batch.header, new_ids)
        )
        if patches:
            path = f"{place.metadata}/{name}"
            content = Content(source=path, size=_size(files, path), patches=patches)
            yield FileChange(name=f"{METADATA_DIRECTORY}/{name}", content=content)
    committed = read_committed_state(files, place.metadata)
    if committed is not None and committed.topic_id is not None:
        state = msgspec.structs.replace(committed, topic_id=new_ids[committed.topic_id])
        content = Content(data=format_committed_state(state))
        yield FileChange(name=f"{METADATA_DIRECTORY}/{COMMITTED_STATE_FILE}", content=content)


def _size(files: Files, path: str) -> int:
    handle = files.open(path, read_only=True)
    try:
        return handle.size()
    finally:
        handle.close()
