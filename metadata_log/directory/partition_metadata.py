"""`partition.metadata`: the topic id of a partition's directory (KIP-516).

Decides: its text. Must not know: what is concluded from it (`reconcile` does).
"""

from __future__ import annotations

import re
from typing import Final

from metadata_log.errors import CorruptFileError, NewerFileError
from metadata_log.files.port import Files, read_small_file, replace_file
from metadata_log.ids import ZERO_TOPIC_ID, InvalidIdError, TopicId, id_text, parse_topic_id

PARTITION_METADATA_FILE: Final = "partition.metadata"
_TEXT = re.compile(r"version: (?P<version>\d+)\ntopic_id: (?P<topic_id>\S+)\n?", re.ASCII)


def format_partition_metadata(topic_id: TopicId) -> bytes:
    """Two lines, the second without a line feed, as Kafka leaves them."""
    return f"version: 0\ntopic_id: {id_text(topic_id)}".encode("ascii")


def parse_partition_metadata(data: bytes, path: str) -> TopicId:
    """The topic id that the file's bytes name.

    Raises:
        NewerFileError: it is of another version.
        CorruptFileError: it is no such file, or names the null id.
    """
    match = _TEXT.fullmatch(data.decode("ascii", "replace"))
    if match is None:
        raise CorruptFileError(path, "it does not consist of `version: ` and `topic_id: ` lines")
    if match["version"] != "0":
        raise NewerFileError(path, f"it is of version {match['version']}, and we know 0")
    try:
        topic_id = parse_topic_id(match["topic_id"])
    except InvalidIdError as error:
        raise CorruptFileError(path, str(error)) from error
    if topic_id == ZERO_TOPIC_ID:
        raise CorruptFileError(path, "it names the null topic id")
    return topic_id


def read_partition_metadata(files: Files, directory: str) -> TopicId:
    """The topic id of a partition's directory.

    Raises:
        FileNotFoundError: there is none.
        CorruptFileError: it cannot be right.
    """
    path = f"{directory}/{PARTITION_METADATA_FILE}"
    return parse_partition_metadata(read_small_file(files, path), path)


def write_partition_metadata(files: Files, directory: str, topic_id: TopicId) -> None:
    """Write the file, durably and whole."""
    replace_file(files, f"{directory}/{PARTITION_METADATA_FILE}", format_partition_metadata(topic_id))
