"""The columns of many metadata records: one group for each record type, and the errors of those that cannot be read.

Decides: which records go one by one through the codec, so that every record is a row and every error has the codec's
own words. Must not know: batches and files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

from metadata_log.columnar.decode import decode
from metadata_log.columnar.objects import records_array
from metadata_log.columnar.spans import Ints, Rows
from metadata_log.errors import RecordError
from metadata_log.records.registry import METADATA_RECORDS, MetadataRecord
from metadata_log.records.serde import decode_versioned

_FRAME_BYTES: Final = 3
_FRAME_VERSION: Final = 1


class Columns(msgspec.Struct, frozen=True, kw_only=True):
    """The records of one type, of all versions.

    Attributes:
        record: the class; None for values of which not even the type can be read.
        rows: the index of each record among the values, ascending.
        versions: the version of each; -1 if it cannot be read.
        data: a struct of the class's fields for each; None if `record` is None.
    """

    record: type[MetadataRecord] | None
    rows: Ints
    versions: npt.NDArray[np.int16]
    data: pa.StructArray | None
    errors: tuple[str, ...] = ()
    """Why each value cannot be read, if `record` is None."""


def decode_values(values: Sequence[bytes], wanted: Collection[type] | None = None) -> Iterator[Columns]:
    """Yield the columns of these encoded records, by type in ascending order of api keys; unreadable ones are last.

    With `wanted`, records of other types are left out, undecoded.
    """
    rows = Rows.of_values(list(values))
    left = [np.flatnonzero(rows.end - rows.at <= _FRAME_BYTES)]
    frames = rows.frames()
    frames[left[0]] = -1
    by_type: dict[type[MetadataRecord], list[tuple[Ints, int, pa.StructArray]]] = {}
    for frame in map(int, np.unique(frames)):
        first, key, version = frame >> 16 & 0xFF, frame >> 8 & 0xFF, frame & 0xFF
        kind = METADATA_RECORDS.get(key)
        chosen = np.flatnonzero(frames == frame)
        if frame < 0 or first != _FRAME_VERSION or kind is None or version not in kind.VERSIONS:
            if frame >= 0:
                left.append(chosen)
            continue
        if wanted is not None and kind not in wanted:
            continue
        part = rows.part(chosen, at=rows.at[chosen] + _FRAME_BYTES)
        data = decode(kind, version, part)
        if part.bad.any():
            left.append(chosen[part.bad])
            sound = np.flatnonzero(~part.bad)
            chosen, data = chosen[sound], data.take(pa.array(sound))
        by_type.setdefault(kind, []).append((chosen, version, data))
    unreadable = _one_by_one(values, np.sort(np.concatenate(left)), by_type)
    for kind in sorted(by_type, key=lambda one: one.API_KEY):
        yield _merged(kind, by_type[kind])
    if unreadable is not None:
        yield unreadable


def _one_by_one(
    values: Sequence[bytes], left: Ints, by_type: dict[type[MetadataRecord], list[tuple[Ints, int, pa.StructArray]]]
) -> Columns | None:
    """Decode what is left with the codec, add it by its type, and return the values that the codec rejects."""
    rows: list[int] = []
    errors: list[str] = []
    found: dict[tuple[type[MetadataRecord], int], list[tuple[int, MetadataRecord]]] = {}
    for index in map(int, left):
        try:
            record, version = decode_versioned(values[index])
        except RecordError as error:
            rows.append(index)
            errors.append(str(error))
        else:
            found.setdefault((type(record), version), []).append((index, record))
    for (of, version), records in found.items():
        data = records_array(of, [record for _, record in records])
        by_type.setdefault(of, []).append((np.array([index for index, _ in records], np.int64), version, data))
    if not rows:
        return None
    return Columns(
        record=None,
        rows=np.array(rows, np.int64),
        versions=np.full(len(rows), -1, np.int16),
        data=None,
        errors=tuple(errors),
    )


def _merged(record: type[MetadataRecord], pieces: list[tuple[Ints, int, pa.StructArray]]) -> Columns:
    rows = np.concatenate([chosen for chosen, _, _ in pieces])
    versions = np.concatenate([np.full(len(chosen), version, np.int16) for chosen, version, _ in pieces])
    data = pieces[0][2] if len(pieces) == 1 else pa.concat_arrays([one for _, _, one in pieces])
    if len(pieces) > 1:
        order = np.argsort(rows, kind="stable")
        rows, versions, data = rows[order], versions[order], data.take(pa.array(order))
    return Columns(record=record, rows=rows, versions=versions, data=data)
