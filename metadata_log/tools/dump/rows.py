"""Records as rows with JSON data, for programs: one line for each record.

Decides: the columns, and the form of a row in JSON and in CSV. Must not know: files beyond their names, or who prints.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from metadata_log.errors import CorruptBatchError, RecordError, UnsupportedBatchError
from metadata_log.format.batch import BatchHeader, Record, batch_records, computed_checksum
from metadata_log.records.json_form import type_name
from metadata_log.records.json_values import string_text
from metadata_log.records.printing import data_text
from metadata_log.records.serde import decode_control, decode_versioned
from metadata_log.tools.dump.dump import Shown, batches_of, placed, require_sealed
from metadata_log.tools.dump.lines import CONTROL_NAMES, key_of, require_uncompressed, value_of
from metadata_log.tools.dump.pieces import Piece
from metadata_log.tools.dump.selection import Selection

COLUMNS: Final = (
    "file", "position", "offset", "epoch", "timestamp_ms", "is_control", "type", "version", "data", "error",
)  # fmt: skip
WRONG_CHECKSUM: Final = "the checksum of its batch is wrong"
CSV_HEAD: Final = ",".join(COLUMNS) + "\n"


class TextRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One record. `position` is that of its batch in the file, in bytes.

    `data` has its fields as a JSON object, or is `None` if it cannot be read. `error` is the reason, or says that its
    batch is damaged.
    """

    position: int
    offset: int
    epoch: int
    timestamp_ms: int
    is_control: bool
    type: str
    version: int | None
    data: str | None
    error: str | None = None


def text_rows(piece: Piece, selection: Selection, *, sealed: bool = False) -> Iterator[TextRow]:
    """Yield the selected records of a piece. With `sealed`, a wrong checksum is an error, selected or not.

    Raises:
        CorruptBatchError, UnsupportedBatchError: as `dump_text`, after the rows before it.
    """
    try:
        for at, header in batches_of(piece):
            if sealed:
                require_sealed(piece, header, at)
            chosen = selection.of_batch(header)
            if chosen is None:
                continue
            require_uncompressed(header, piece.position + at)
            wrong = None if sealed or computed_checksum(piece.buffer, header, at) == header.crc else WRONG_CHECKSUM
            for record in batch_records(piece.buffer, header, at):
                if chosen(record):
                    yield _row(piece.position + at, header, record, wrong)
    except CorruptBatchError as error:
        raise placed(error, piece) from error


def show_json_lines(
    piece: Piece, file: str, selection: Selection, separator: str = "\n", *, begin: str = "", sealed: bool = False
) -> Shown:
    """Return a JSON object for each record of a piece, each followed by `separator`. `begin`: the first fields of
    each."""
    head = f'{{{begin}"file":{json.dumps(file)},"position":'
    return show_rows(piece, selection, lambda row: f"{head}{_json_rest(row)}{separator}", sealed=sealed)


def show_csv(piece: Piece, file: str, selection: Selection, *, sealed: bool = False) -> Shown:
    """Return a line of CSV for each record of a piece, in the order of COLUMNS."""
    name = _cell(file)
    return show_rows(piece, selection, lambda row: f"{name},{_csv_rest(row)}\n", sealed=sealed)


def show_rows(piece: Piece, selection: Selection, line: Callable[[TextRow], str], *, sealed: bool = False) -> Shown:
    """Return the selected records of a piece, each in the form of `line`."""
    lines: list[str] = []
    try:
        for row in text_rows(piece, selection, sealed=sealed):
            lines.append(line(row))
    except (CorruptBatchError, UnsupportedBatchError) as error:
        return Shown(text="".join(lines), error=error)
    return Shown(text="".join(lines))


def _json_rest(row: TextRow) -> str:
    version = "null" if row.version is None else row.version
    error = "null" if row.error is None else string_text(row.error)
    return (
        f'{row.position},"offset":{row.offset},"epoch":{row.epoch},"timestamp_ms":{row.timestamp_ms}'
        f',"is_control":{"true" if row.is_control else "false"},"type":"{row.type}","version":{version}'
        f',"data":{row.data or "null"},"error":{error}}}'
    )


def _csv_rest(row: TextRow) -> str:
    control = "true" if row.is_control else "false"
    version = "" if row.version is None else row.version
    return (
        f"{row.position},{row.offset},{row.epoch},{row.timestamp_ms},{control},{row.type},{version}"
        f",{_cell(row.data or '')},{_cell(row.error or '')}"
    )


def _cell(text: str) -> str:
    if any(character in text for character in '",\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def _row(position: int, header: BatchHeader, record: Record, wrong: str | None) -> TextRow:
    kind, version, data, reason = "UNREADABLE", None, None, wrong
    try:
        if header.is_control:
            control = decode_control(key_of(record), value_of(record))
            kind, version = CONTROL_NAMES[type(control)][0], control.version
            data = data_text(control, version)
        else:
            decoded, version = decode_versioned(value_of(record))
            kind, data = type_name(type(decoded)), data_text(decoded, version)
    except RecordError as error:
        reason = str(error)
    return TextRow(
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
