"""The partition directories on nodes' disks, and what each says of itself.

Decides: which entries of a log directory are partitions'. Must not know: the metadata. They are listed before the logs
are read: what a broker has made by then is in the logs that are read after it, unless these have lost it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

from metadata_log.directory import read_partition_metadata
from metadata_log.errors import CorruptFileError
from metadata_log.ids import METADATA_TOPIC_NAME, TopicId
from metadata_log.os_files import OsFiles
from metadata_log.reconcile import DirectoryFacts, facts_of
from metadata_log.tools.sources import LogDirectory, NodeSource


class PartitionDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """One, with why its topic id cannot be read, if so."""

    path: Path
    facts: DirectoryFacts
    complaint: str | None = None

    @property
    def is_in_use(self) -> bool:
        """Whether a broker has neither marked it for deletion nor set it aside."""
        return not self.facts.is_deleted and not self.facts.is_stray


HeldPartitions: TypeAlias = Mapping[Path, tuple[PartitionDirectory, ...]]
"""By the path of the disk, those of topics; the metadata log's is none."""


def list_partitions(nodes: Iterable[NodeSource]) -> HeldPartitions:
    """Those on all disks of these nodes."""
    return {disk.path: tuple(_on_disk(disk)) for node in nodes for disk in node.log_directories}


def _on_disk(disk: LogDirectory) -> Iterator[PartitionDirectory]:
    try:
        children = sorted(child for child in disk.path.iterdir() if child.is_dir())
    except FileNotFoundError:
        return
    for child in children:
        facts = facts_of(child.name, None)
        if facts.topic_name in (None, METADATA_TOPIC_NAME):
            continue
        try:
            yield PartitionDirectory(path=child, facts=facts_of(child.name, _topic_id(child)))
        except CorruptFileError as error:
            yield PartitionDirectory(path=child, facts=facts, complaint=error.what)
        except OSError as error:
            complaint = f"it cannot be read: {error.strerror or error}"
            yield PartitionDirectory(path=child, facts=facts, complaint=complaint)


def _topic_id(directory: Path) -> TopicId | None:
    try:
        return read_partition_metadata(OsFiles(), str(directory))
    except FileNotFoundError:
        return None
