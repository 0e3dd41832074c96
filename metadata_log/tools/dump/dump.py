"""The content of a segment or checkpoint, as the text of `kafka-dump-log --cluster-metadata-decoder`, or as rows.

The text is byte for byte that of Kafka 4.4, or 3.9, so that runbooks and scripts work on it. Only the texts about
damage differ. A record that cannot be read shows as "Error at <offset>, skipping." with this software's reason. Where
Kafka ends with a stack trace, this raises an error, after everything before the damage. Rows, one for each record, are
for JSON and tables.

Decides: the form of the output. Must not know: the effect of records on an image, or who prints. Memory does not grow
with the file: it is read and shown in pieces.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator
from typing import Final

import msgspec

from metadata_log.errors import CorruptBatchError, MetadataLogError, RecordError, UnsupportedBatchError
from metadata_log.format.batch import BatchHeader, Record, batch_records, computed_checksum, parse_header
from metadata_log.offsets import Epoch, Offset
from metadata_log.records.json_form import JsonValue, data_of, type_name
from metadata_log.records.serde import decode_control, decode_versioned
from metadata_log.tools.dump.lines import CONTROL_NAMES, Style, batch_lines, key_of, require_uncompressed, value_of
from metadata_log.tools.dump.pieces import Piece, pieces
from metadata_log.tools.dump.selection import Selection

_SEGMENT_NAME: Final = re.compile(r"(\d+)\.log")
_CHECKPOINT_NAME: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_BOOTSTRAP_NAME: Final = "bootstrap.checkpoint"
_EVERYTHING: Final = Selection()


class DumpRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One record. `position` is that of its batch in the file, in bytes. If it cannot be read, `data` is `None` and
    `error` is the reason."""

    position: int
    offset: Offset
    epoch: Epoch
    timestamp_ms: int
    is_control: bool
    type: str
    version: int | None
    data: dict[str, JsonValue] | None
    error: str | None = None


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A piece as text. `error`: the fault after that text, if nothing more can be shown."""

    text: str
    error: MetadataLogError | None = None


class _InMemory:
    """Bytes, as a file to read from."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def pread(self, count: int, position: int) -> bytes:
        return self._content[position : position + count]


def dump_text(path: str, buffer: bytes, style: Style = Style.KAFKA_4_3) -> Iterator[str]:
    """Yield the lines, without line ends, that kafka-dump-log prints of the file `path` with the bytes `buffer`.

    Raises:
        CorruptBatchError: a batch or its records cannot be framed.
        UnsupportedBatchError: a batch is compressed or older than format 2.
    """
    handle = _InMemory(buffer)
    yield from title_lines(path)
    end = 0
    for piece in pieces(handle, len(buffer)):
        shown = show_text(piece, style)
        yield from shown.text.split("\n")[:-1]
        if shown.error is not None:
            raise shown.error
        end = piece.end
    yield from tail_lines(path, len(buffer) - end)


def show_text(
    piece: Piece, style: Style = Style.KAFKA_4_3, selection: Selection = _EVERYTHING, *, sealed: bool = False
) -> Shown:
    """Return the lines of a piece's batches as one text. With `sealed`, a wrong checksum is an error, selected or
    not."""
    lines: list[str] = []
    everything = selection.is_everything
    try:
        for at, header in batches_of(piece):
            chosen = None
            if not everything:
                if sealed:
                    require_sealed(piece, header, at)
                chosen = selection.of_batch(header)
                if chosen is None:
                    continue
            first = len(lines)
            lines += batch_lines(piece.buffer, piece.position + at, header, at, style, chosen)
            if sealed and everything and lines[first].endswith("false"):
                require_sealed(piece, header, at)
    except (CorruptBatchError, UnsupportedBatchError) as error:
        return Shown(text=joined(lines), error=placed(error, piece))
    return Shown(text=joined(lines))


def dump_rows(buffer: bytes) -> Iterator[DumpRow]:
    """Yield a row for each record of a segment or checkpoint, in order. Bytes after the last whole batch are ignored.

    Raises:
        CorruptBatchError, UnsupportedBatchError: as `dump_text`.
    """
    for piece in pieces(_InMemory(buffer), len(buffer)):
        try:
            for at, header in batches_of(piece):
                require_uncompressed(header, piece.position + at)
                for record in batch_records(piece.buffer, header, at):
                    yield _row(piece.position + at, header, record)
        except CorruptBatchError as error:
            raise placed(error, piece) from error


def batches_of(piece: Piece) -> Iterator[tuple[int, BatchHeader]]:
    """Yield each batch's position in a piece's buffer, and its header."""
    at = 0
    while at < piece.size:
        header = parse_header(piece.buffer, at)
        yield at, header
        at += header.size_in_bytes


def require_sealed(piece: Piece, header: BatchHeader, at: int) -> None:
    """Check a batch's checksum.

    Raises:
        CorruptBatchError: the checksum is wrong; the error has the position in the piece.
    """
    checksum = computed_checksum(piece.buffer, header, at)
    if checksum != header.crc:
        what = f"its checksum is {checksum:#010x}, but {header.crc:#010x} is written"
        raise CorruptBatchError(what, position=at, base_offset=header.base_offset)


def title_lines(path: str) -> Iterator[str]:
    """Yield the lines before the first batch of a file."""
    name = os.path.basename(path)
    yield f"Dumping {path}"
    if segment := _SEGMENT_NAME.fullmatch(name):
        yield f"Log starting offset: {int(segment[1])}"
    elif name == _BOOTSTRAP_NAME:
        yield "KRaft bootstrap snapshot"
    elif checkpoint := _CHECKPOINT_NAME.fullmatch(name):
        yield f"Snapshot end offset: {int(checkpoint[1])}, epoch: {int(checkpoint[2])}"


def first_offset_of(path: str) -> int | None:
    """Return the first offset of a file, by its name, or None."""
    name = os.path.basename(path)
    if segment := _SEGMENT_NAME.fullmatch(name):
        return int(segment[1])
    return 0 if name == _BOOTSTRAP_NAME or _CHECKPOINT_NAME.fullmatch(name) else None


def tail_lines(path: str, size: int) -> Iterator[str]:
    """Yield the lines after the last batch, if `size` bytes follow that are no batch."""
    if size > 0:
        yield f"Found {size} invalid bytes at the end of {os.path.basename(path)}"


def joined(lines: list[str]) -> str:
    """Return the lines as one text with a line end after each."""
    return "\n".join([*lines, ""])


def placed(error: MetadataLogError, piece: Piece) -> MetadataLogError:
    """Return the error with its position in the file in place of that in the piece."""
    if isinstance(error, CorruptBatchError) and error.position is not None:
        return CorruptBatchError(error.what, position=piece.position + error.position, base_offset=error.base_offset)
    return error


def _row(position: int, header: BatchHeader, record: Record) -> DumpRow:
    kind, version, data, reason = "UNREADABLE", None, None, None
    try:
        if header.is_control:
            control = decode_control(key_of(record), value_of(record))
            kind, version = CONTROL_NAMES[type(control)][0], control.version
            data = data_of(control, version)
        else:
            decoded, version = decode_versioned(value_of(record))
            kind, data = type_name(type(decoded)), data_of(decoded, version)
    except RecordError as error:
        reason = str(error)
    return DumpRow(
        position=position,
        offset=record.offset,
        epoch=header.partition_leader_epoch,
        timestamp_ms=record.timestamp_ms,
        is_control=header.is_control,
        type=kind,
        version=version,
        data=data,
        error=reason,
    )
