"""Columns without secrets: keys of SCRAM credentials are null, and a mark is in place of a config's secret value.

Decides: the mark. It is four digits of a hash, so that a change can be seen, and too short to recognize a password by.
Must not know: which tables there are.
"""

from __future__ import annotations

import hashlib
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped]

from metadata_log.records import ConfigRecord, UserScramCredentialRecord
from metadata_log.secret_names import may_be_secret

_KEYS: Final = ("salt", "stored_key", "server_key")


def without_secrets(record: type, data: pa.StructArray) -> pa.StructArray:
    """Return the records of one class without their secrets."""
    if record is UserScramCredentialRecord:
        fields = list(data.type)
        columns = [
            pa.nulls(len(data), field.type) if field.name in _KEYS else column
            for field, column in zip(fields, data.flatten(), strict=True)
        ]
        return pa.StructArray.from_arrays(columns, fields=fields)
    if record is ConfigRecord:
        return _without_values(data)
    return data


def _without_values(data: pa.StructArray) -> pa.StructArray:
    names = data.field("name")
    secret = {name for name in names.unique().to_pylist() if name is not None and may_be_secret(name)}
    if not secret:
        return data
    values = [
        hidden(value) if name in secret and value is not None else value
        for name, value in zip(names.to_pylist(), data.field("value").to_pylist(), strict=True)
    ]
    fields = list(data.type)
    columns = [
        pa.array(values, field.type) if field.name == "value" else column
        for field, column in zip(fields, data.flatten(), strict=True)
    ]
    return pa.StructArray.from_arrays(columns, fields=fields)


def hidden(value: str) -> str:
    """Return the mark of a secret value."""
    return f"hidden-{hashlib.blake2b(value.encode(), digest_size=2).hexdigest()}"
