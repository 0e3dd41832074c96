"""What tells a broker's disk, and a topic's partition, where no meta.properties says so.

Decides: which files only a broker leaves in a log directory. Must not know: whose they are.
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
"""Kafka's `LogManager`, `ReplicaManager`, `LogCleaner` write them in each of log.dirs, and in no metadata.log.dir."""


def is_topics_partition(files: Files, path: str) -> bool:
    """Whether a directory is a topic's partition, by its name and its partition.metadata, and so no metadata log."""
    name = os.path.basename(path)
    if facts_of(name, None).topic_name in (None, METADATA_TOPIC_NAME):
        return False
    try:
        return files.exists(f"{path}/{PARTITION_METADATA_FILE}") and (
            read_partition_metadata(files, path) != METADATA_TOPIC_ID
        )
    except (CorruptFileError, FileNotFoundError):
        return False  # it does not tell


def is_brokers_disk(files: Files, path: str) -> bool:
    """Whether a broker's partitions are in a directory, or were."""
    names = files.listdir(path)
    return not frozenset(OFFSET_FILES).isdisjoint(names) or any(
        is_topics_partition(files, f"{path}/{name}") for name in names
    )
