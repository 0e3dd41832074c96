"""`committed-state`: the committed end of an agent's metadata log, and the metadata topic's own id.

Decides: its JSON. Kafka has no such file and skips it. An agent keeps it beside `quorum-state`: after a restart it
knows below which offset it must not truncate.
"""

from __future__ import annotations

import json
from typing import Final

import msgspec

from metadata_log.errors import CorruptFileError, NewerFileError
from metadata_log.files.port import Files, read_small_file, replace_file
from metadata_log.ids import InvalidIdError, TopicId, id_text, parse_topic_id
from metadata_log.offsets import LARGEST_OFFSET, Offset
from metadata_log.quoting import quoted

COMMITTED_STATE_FILE: Final = "committed-state"


class CommittedState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The content of the file.

    Attributes:
        high_watermark: the committed end, exclusive. 0: nothing is committed, and the agent accepts only a leader
            whose log has `topic_id`.
        topic_id: the metadata topic's own id, or None if none was committed.
        received_end: end offset of the last received snapshot that replaced the log, or None. Nothing proves that the
            former log and the snapshot are of one log.
        held: the reason for which the agent holds, or None.
    """

    high_watermark: Offset
    topic_id: TopicId | None = None
    received_end: Offset | None = None
    held: str | None = None

    def is_reached_by(self, image_end: Offset, topic_id: TopicId | None) -> bool:
        """Return True if an image with this end and own id covers the committed state."""
        return topic_id is not None if self.high_watermark == 0 else image_end >= self.high_watermark


def format_committed_state(state: CommittedState) -> bytes:
    """Return the file's bytes: one line of JSON, without spaces."""
    content = {
        "highWatermark": state.high_watermark,
        "metadataTopicId": None if state.topic_id is None else id_text(state.topic_id),
        "data_version": 0,
        **({} if state.received_end is None else {"receivedSnapshotEnd": state.received_end}),
        **({} if state.held is None else {"held": state.held}),
    }
    return json.dumps(content, separators=(",", ":")).encode()


def parse_committed_state(data: bytes, path: str) -> CommittedState:
    """Return the content of the file's bytes. `path` is for messages.

    Raises:
        NewerFileError: the file has an unknown, later version.
        CorruptFileError: the bytes are not such a file.
    """
    try:
        content = json.loads(data.decode())
        version, offset, topic_id = content["data_version"], content["highWatermark"], content["metadataTopicId"]
        if type(version) is int and version > 0:
            raise NewerFileError(path, f"data_version {quoted(version)} is not known: it was written by newer software")
        received, held = content.get("receivedSnapshotEnd"), content.get("held")
        if version != 0 or not _is_offset(offset) or not (received is None or _is_offset(received)):
            raise ValueError(offset)
        if held is not None and type(held) is not str:
            raise ValueError(held)
        return CommittedState(
            high_watermark=Offset(offset),
            topic_id=None if topic_id is None else parse_topic_id(topic_id),
            received_end=received,
            held=held,
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, InvalidIdError) as error:
        raise CorruptFileError(
            path, "it is no committed state: move the metadata log's directory aside, so that it is fetched again"
        ) from error


def _is_offset(value: object) -> bool:
    return type(value) is int and 0 <= value <= LARGEST_OFFSET


def read_committed_state(files: Files, directory: str) -> CommittedState | None:
    """Return the state in a metadata log's directory, or None if there is no such file.

    Raises:
        CorruptFileError, NewerFileError: as `parse_committed_state`.
    """
    path = f"{directory}/{COMMITTED_STATE_FILE}"
    return parse_committed_state(read_small_file(files, path), path) if files.exists(path) else None


def write_committed_state(files: Files, directory: str, state: CommittedState) -> None:
    """Replace the state durably. A crash leaves the old or the new file, complete.

    Raises:
        OSError: a call failed.
    """
    replace_file(files, f"{directory}/{COMMITTED_STATE_FILE}", format_committed_state(state))
