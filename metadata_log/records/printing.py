"""Conversion of a record's bytes to the JSON text of Kafka's tools, with the generated functions.

It finds the functions by the record's first bytes; `printers` and `json_values` decide the text. Must not know: batches
and files. `json_form` has the same data as Python values.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from metadata_log.errors import MalformedRecordError
from metadata_log.records.codec import READERS
from metadata_log.records.json_form import type_name
from metadata_log.records.printers import PRINTERS
from metadata_log.records.registry import METADATA_RECORDS, ControlRecord, MetadataRecord
from metadata_log.records.serde import decode_versioned

_Read = Callable[[bytes], MetadataRecord]
_Print = Callable[[Any], str]

READ_ERRORS: Final = (struct.error, IndexError, UnicodeDecodeError, MalformedRecordError)
"""The errors of a reader of BY_FRAME for malformed bytes; `metadata_text` of the same bytes raises with a message."""


def _by_frame() -> dict[bytes, tuple[_Read, str, _Print]]:
    table: dict[bytes, tuple[_Read, str, _Print]] = {}
    for frame, read in READERS.items():
        record_type, version = METADATA_RECORDS[frame[1]], frame[2]
        head = f'{{"type":"{type_name(record_type)}","version":{version},"data":'
        table[frame] = (read, head, PRINTERS[record_type][version])
    return table


BY_FRAME: Final = _by_frame()
"""By a value's first three bytes: its reader, the text before its fields, the printer of its fields."""


def metadata_text(value: bytes) -> str:
    """Return type, version and data of a metadata record as one JSON object.

    Raises:
        UnknownRecordError, MalformedRecordError: as `decode_versioned`.
    """
    record, version = decode_versioned(value)
    return f'{{"type":"{type_name(type(record))}","version":{version},"data":{data_text(record, version)}}}'


def data_text(record: MetadataRecord | ControlRecord, version: int) -> str:
    """Return the fields of a record in this version as one JSON object."""
    return PRINTERS[type(record)][version](record)
