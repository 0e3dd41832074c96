"""Checks the content of Kafka's producer state files (`NNN.snapshot`).

Beside a metadata log they have version 1, a CRC-32C of the rest, and no producers: no batch of this log has a producer
id. Must not know: what the file's name proves (`log_extent`).

Source: ProducerStateManager and ProducerSnapshot.json of Kafka 4.3.
"""

from __future__ import annotations

import re
import struct
from typing import Final

from metadata_log.counts import counted
from metadata_log.errors import CorruptFileError
from metadata_log.files.port import Files, read_small_file
from metadata_log.format.crc import crc32c
from metadata_log.tools.findings.sink import FindingSink
from metadata_log.tools.verify.sidecar_files import add_unusable

PRODUCERS_SUFFIX: Final = ".snapshot"
_NAME: Final = re.compile(r"\d{20}\.snapshot", re.ASCII)
_HEAD: Final = struct.Struct(">hIi")
"""Version, checksum, number of producers."""
_COVERED_FROM: Final = 6
_VERSION: Final = 1


def producer_files(names: list[str]) -> list[str]:
    """Return the producer state files among a directory's names, in the order of their offsets."""
    return sorted(name for name in names if _NAME.fullmatch(name))


def check_producers(files: Files, directory: str, names: list[str], sink: FindingSink) -> None:
    """Add a finding for each producer state file that is corrupt or has producers."""
    for name in producer_files(names):
        path = f"{directory}/{name}"
        try:
            fault = producer_fault(read_small_file(files, path))
        except CorruptFileError as error:
            fault = error.what
        except OSError as error:
            add_unusable(sink, path, error)
            continue
        if fault is not None:
            sink.add("producer_file_wrong", fault, file=path, offset=int(name[:20]))


def producer_fault(data: bytes) -> str | None:
    """Return the fault of a producer state file's content, or None."""
    if len(data) < _HEAD.size:
        return f"its {len(data)} bytes are fewer than the {_HEAD.size} of an empty one"
    version, crc, count = _HEAD.unpack_from(data)
    if version != _VERSION:
        return f"it is of version {version}, and only {_VERSION} is known"
    computed = crc32c(data[_COVERED_FROM:])
    if computed != crc:
        return f"its checksum is {computed:#010x}, and it says {crc:#010x}"
    if count or len(data) != _HEAD.size:
        return f"it has {counted(count, 'producer')} in {len(data)} bytes; no batch of this log has one"
    return None
