"""Signs of a broker's disk and of a topic's partition, for directories without meta.properties.

Decides: which files only a broker leaves in a log directory. Must not know: which broker's they are.
"""

from __future__ import annotations

import os
from typing import Final

from metadata_log.directory import PARTITION_METADATA_FILE, read_partition_metadata
from metadata_log.errors import CorruptFileError
from metadata_log.files.port import Files
from metadata_log.ids import METADATA_TOPIC_ID, METADATA_TOPIC_NAME
from metadata_log.reconcile import facts_of

OFFSET_FILES: Final = (
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
"""Files that Kafka's `LogManager`, `ReplicaManager` and `LogCleaner` write in each of log.dirs, never in
metadata.log.dir."""


def is_topics_partition(files: Files, path: str) -> bool:
    """Return True if name and partition.metadata show that a directory is a topic's partition, and no metadata log."""
    name = os.path.basename(path)
    if facts_of(name, None).topic_name in (None, METADATA_TOPIC_NAME):
        return False
    try:
        return files.exists(f"{path}/{PARTITION_METADATA_FILE}") and (
            read_partition_metadata(files, path) != METADATA_TOPIC_ID
        )
    except (CorruptFileError, FileNotFoundError):
        return False  # without a readable topic id it may be a metadata log


def is_brokers_disk(files: Files, path: str) -> bool:
    """Return True if a directory holds, or once held, a broker's partitions."""
    names = files.listdir(path)
    return not frozenset(OFFSET_FILES).isdisjoint(names) or any(
        is_topics_partition(files, f"{path}/{name}") for name in names
    )
