"""`partition.metadata`: the topic id of a partition's directory (KIP-516).

Decides: its text. `metadata_log.reconcile` judges the directory by it.
"""

from __future__ import annotations

import base64
import re
from typing import Final

from metadata_log.errors import CorruptFileError
from metadata_log.files.port import Files, read_small_file, replace_file
from metadata_log.ids import ZERO_TOPIC_ID, TopicId, id_text
from metadata_log.java_text import java_int

PARTITION_METADATA_FILE: Final = "partition.metadata"
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_SEPARATOR: Final = re.compile(r":[ \t\n\v\f\r]+")
_ID: Final = re.compile(r"([A-Za-z0-9_-]{22})(==)?")
_BUFFER_CHARS: Final = 8192
"""Kafka's reader decodes so many characters before it parses a line: bytes after them need not be UTF-8."""


def format_partition_metadata(topic_id: TopicId) -> bytes:
    """Return the file's two lines. The second has no line feed, as Kafka writes it."""
    return f"version: 0\ntopic_id: {id_text(topic_id)}".encode("ascii")


def parse_partition_metadata(data: bytes, path: str) -> TopicId:
    """Return the topic id that the file's bytes name, as Kafka's `PartitionMetadataFile.read` does.

    Only the first two lines are read, each a name, a colon, blanks and a value. Names are not compared. The version may
    be any number from 0 on.

    Raises:
        CorruptFileError: Kafka rejects the file.
    """
    lines = _lines(data, path)
    version = java_int(_value(lines, 0, path), 32)
    if version is None or version < 0:
        raise CorruptFileError(path, f"its first line names no version: {lines[0][:80]!r}")
    found = _ID.fullmatch(_value(lines, 1, path))
    if found is None:
        raise CorruptFileError(path, f"its second line names no topic id: {lines[1][:80]!r}")
    topic_id = TopicId(base64.urlsafe_b64decode(f"{found[1]}=="))
    if topic_id == ZERO_TOPIC_ID:
        raise CorruptFileError(path, "it names the null topic id")
    return topic_id


def _lines(data: bytes, path: str) -> list[str]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        text = data[: error.start].decode("utf-8")
        if len(text) < _BUFFER_CHARS:
            raise CorruptFileError(path, f"the byte at position {error.start} is no UTF-8") from error
    return _LINE_END.split(text)


def _value(lines: list[str], number: int, path: str) -> str:
    """Return the value after the colon of a line. Like Java's split, it drops empty strings at the end.

    Raises:
        CorruptFileError: the line has another form.
    """
    parts = _SEPARATOR.split(lines[number]) if number < len(lines) else []
    while parts and not parts[-1]:
        parts.pop()
    if len(parts) != 2:
        raise CorruptFileError(path, f"line {number + 1} is not a name, a colon, a blank and a value")
    return parts[1]


def read_partition_metadata(files: Files, directory: str) -> TopicId:
    """Return the topic id of a partition's directory.

    Raises:
        FileNotFoundError: the directory has no such file.
        CorruptFileError: Kafka rejects the file.
    """
    path = f"{directory}/{PARTITION_METADATA_FILE}"
    return parse_partition_metadata(read_small_file(files, path), path)


def write_partition_metadata(files: Files, directory: str, topic_id: TopicId) -> None:
    """Replace the file durably. A crash leaves the old or the new file, complete."""
    replace_file(files, f"{directory}/{PARTITION_METADATA_FILE}", format_partition_metadata(topic_id))
