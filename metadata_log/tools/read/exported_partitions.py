"""`partitions.json`: the names and topic ids of the partition directories beside an exported log.

Decides: its fields and their JSON. Must not know: which directories are listed, and how they are judged.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.errors import CorruptFileError
from metadata_log.files.json_files import decode_json
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import Files, read_file
from metadata_log.ids import InvalidIdError, parse_topic_id

PARTITIONS_FILE: Final = "partitions.json"


class ExportedPartition(msgspec.Struct, frozen=True, kw_only=True):
    """One partition directory.

    Attributes:
        name: of the directory.
        topic_id: from its partition.metadata, as text; None if the file has no usable id.
        complaint: why `topic_id` is missing, if the file is corrupt or unreadable.
        is_closed: the file exists, but cannot be read.
    """

    name: str
    topic_id: str | None = None
    complaint: str | None = None
    is_closed: bool = False


class _Listed(msgspec.Struct, frozen=True, kw_only=True):
    partitions: tuple[ExportedPartition, ...]


def write_exported_partitions(export: Path, partitions: Sequence[ExportedPartition]) -> None:
    """Write the list into an export."""
    text = json.dumps(msgspec.to_builtins(_Listed(partitions=tuple(partitions))), indent=1) + "\n"
    (export / PARTITIONS_FILE).write_text(text, encoding="utf-8")


def read_exported_partitions(export: Path, files: Files | None = None) -> tuple[ExportedPartition, ...] | None:
    """Return the list in an export, or None if the export predates this file.

    Raises:
        CorruptFileError: the file is no such list.
        OSError: the file cannot be read.
    """
    path = export / PARTITIONS_FILE
    try:
        listed = decode_json(read_file(OsFiles() if files is None else files, str(path)), _Listed).partitions
        for one in listed:
            if one.topic_id is not None:
                parse_topic_id(one.topic_id)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, InvalidIdError) as error:
        raise CorruptFileError(str(path), f"it is no list of partition directories: {error}") from error
    if any("/" in one.name or one.name.startswith(".") for one in listed):
        raise CorruptFileError(str(path), "it names a directory elsewhere")
    return listed
