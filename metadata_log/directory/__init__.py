"""The sidecar files of log directories, under one name to import: identity, vote, committed state, topic ids, lock."""

from __future__ import annotations

from typing import Final

from metadata_log.directory.committed_state import (
    COMMITTED_STATE_FILE,
    CommittedState,
    read_committed_state,
    write_committed_state,
)
from metadata_log.directory.lock import LOCK_FILE, DirectoryLock
from metadata_log.directory.meta_properties import (
    META_PROPERTIES_FILE,
    MetaProperties,
    format_meta_properties,
    give_directory_id,
    parse_meta_properties,
    read_meta_properties,
    write_meta_properties,
)
from metadata_log.directory.partition_metadata import (
    PARTITION_METADATA_FILE,
    format_partition_metadata,
    parse_partition_metadata,
    read_partition_metadata,
    write_partition_metadata,
)
from metadata_log.directory.quorum_state import (
    NO_LEADER,
    QUORUM_STATE_FILE,
    QuorumState,
    format_quorum_state,
    parse_quorum_state,
    read_quorum_state,
    write_quorum_state,
)
from metadata_log.ids import METADATA_TOPIC_NAME

METADATA_DIRECTORY: Final = f"{METADATA_TOPIC_NAME}-0"
"""The directory of the metadata log's only partition, in `metadata.log.dir`."""

__all__ = [
    "COMMITTED_STATE_FILE",
    "LOCK_FILE",
    "METADATA_DIRECTORY",
    "META_PROPERTIES_FILE",
    "NO_LEADER",
    "PARTITION_METADATA_FILE",
    "QUORUM_STATE_FILE",
    "CommittedState",
    "DirectoryLock",
    "MetaProperties",
    "QuorumState",
    "format_meta_properties",
    "format_partition_metadata",
    "format_quorum_state",
    "give_directory_id",
    "parse_meta_properties",
    "parse_partition_metadata",
    "parse_quorum_state",
    "read_committed_state",
    "read_meta_properties",
    "read_partition_metadata",
    "read_quorum_state",
    "write_committed_state",
    "write_meta_properties",
    "write_partition_metadata",
    "write_quorum_state",
]
