"""The partition directories on nodes' disks, with their names and topic ids.

Decides: which entries of a log directory are partitions. Must not know: the metadata. Callers list them before they
read the logs. So the logs hold every directory that a broker had created by then, unless they have lost records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

from metadata_log.directory import read_partition_metadata
from metadata_log.directory.staging import DELETING
from metadata_log.errors import CorruptFileError
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import Files
from metadata_log.ids import METADATA_TOPIC_NAME, TopicId, id_text, parse_topic_id
from metadata_log.reconcile import REMOTE_INDEX_CACHE, DirectoryFacts, facts_of
from metadata_log.tools.findings.finding import why_unreadable
from metadata_log.tools.read.exported_partitions import ExportedPartition, read_exported_partitions
from metadata_log.tools.read.manifest import MANIFEST_FILE
from metadata_log.tools.read.sources import LogDirectory, NodeSource


class PartitionDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """One partition directory. `complaint`: why its topic id cannot be read, or None."""

    path: Path
    facts: DirectoryFacts
    complaint: str | None = None
    is_closed: bool = False
    """The file partition.metadata exists, but cannot be read."""

    @property
    def is_in_use(self) -> bool:
        """Return True if the broker has neither marked it for deletion nor renamed it to -stray."""
        return not self.facts.is_deleted and not self.facts.is_stray


HeldPartitions: TypeAlias = Mapping[Path, tuple[PartitionDirectory, ...]]
"""By the path of the disk, the partition directories of topics; the metadata log's is left out."""


def list_partitions(nodes: Iterable[NodeSource], files: Files | None = None) -> HeldPartitions:
    """Return the partition directories on all disks of these nodes.

    Raises:
        OSError: a disk cannot be listed.
    """
    port = OsFiles() if files is None else files
    return {disk.path: tuple(_on_disk(port, disk)) for node in nodes for disk in node.log_directories}


def strange_directories(disk: LogDirectory) -> list[Path]:
    """Return the directories on a disk whose names are neither a partition's nor known to a broker or our agent.

    A broker that finds such a directory at its start ends with "not in the form of topic-partition" (Kafka:
    `LogManager.loadLogs`).
    """
    return [
        child
        for child in _children(OsFiles(), disk)
        if facts_of(child.name, None).topic_name is None and child.name not in (REMOTE_INDEX_CACHE, DELETING)
    ]


def _children(files: Files, disk: LogDirectory) -> list[Path]:
    if _is_export(files, disk):  # no broker starts from an export; its directories are tables
        return []
    try:
        return sorted(disk.path / name for name in files.listdir(str(disk.path)) if files.is_dir(f"{disk.path}/{name}"))
    except FileNotFoundError:
        return []


def _is_export(files: Files, disk: LogDirectory) -> bool:
    return files.exists(f"{disk.path}/{MANIFEST_FILE}")


def exported_partitions(disk: LogDirectory) -> Iterator[ExportedPartition]:
    """Yield the partition directories of a disk in the form of an export's list."""
    for held in _on_disk(OsFiles(), disk):
        topic_id = None if held.facts.topic_id is None else id_text(held.facts.topic_id)
        yield ExportedPartition(
            name=held.path.name, topic_id=topic_id, complaint=held.complaint, is_closed=held.is_closed
        )


def _in_export(files: Files, disk: LogDirectory) -> Iterator[PartitionDirectory]:
    """Yield the partition directories that an export lists, as they were beside its log."""
    try:
        listed = read_exported_partitions(disk.path, files)
    except CorruptFileError:
        return  # `verify.export_files` reports it
    for one in listed or ():
        topic_id = None if one.topic_id is None else parse_topic_id(one.topic_id)
        yield PartitionDirectory(
            path=disk.path / one.name,
            facts=facts_of(one.name, topic_id),
            complaint=one.complaint,
            is_closed=one.is_closed,
        )


def _on_disk(files: Files, disk: LogDirectory) -> Iterator[PartitionDirectory]:
    if _is_export(files, disk):
        yield from _in_export(files, disk)
        return
    for child in _children(files, disk):
        facts = facts_of(child.name, None)
        if facts.topic_name in (None, METADATA_TOPIC_NAME):
            continue
        try:
            yield PartitionDirectory(path=child, facts=facts_of(child.name, _topic_id(files, child)))
        except CorruptFileError as error:
            yield PartitionDirectory(path=child, facts=facts, complaint=error.what)
        except OSError as error:
            yield PartitionDirectory(path=child, facts=facts, complaint=why_unreadable(error), is_closed=True)


def _topic_id(files: Files, directory: Path) -> TopicId | None:
    try:
        return read_partition_metadata(files, str(directory))
    except FileNotFoundError:
        return None
