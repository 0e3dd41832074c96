"""Finds file names with which a starting Kafka node fails, or takes a foreign file for a part of the log.

Must not know: the content of files. Files with well-formed names are read elsewhere.

Sources: Kafka 4.3's LogLoader replaces a file by the `.swap` file of its name. LogFileUtils and Snapshots parse an
offset from each name with the suffix of a segment, an index or a checkpoint. All three were tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from metadata_log.offsets import is_possible
from metadata_log.tools.findings.sink import FindingSink

_KNOWN: Final = re.compile(r"\d{20}(\.(log|index|timeindex|txnindex|snapshot)|-\d{10}\.checkpoint)", re.ASCII)
_NUMBERS: Final = re.compile(r"(\d{20})(?:-(\d{10})\.checkpoint)?.*", re.ASCII | re.DOTALL)
_TAKEN: Final = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint")
_SWAP: Final = ".swap"


def is_beyond_offsets(name: str) -> bool:
    """Return True if a name has the form of a log's file, but its offset or epoch is beyond the largest possible."""
    found = _NUMBERS.fullmatch(name)
    return found is not None and not is_possible(int(found[1]), int(found[2] or 0))


def check_file_names(directory: str, names: Iterable[str], sink: FindingSink) -> None:
    """Add a finding for each such name."""
    for name in sorted(names):
        if name.endswith(_SWAP):
            what = f"a start of Kafka's puts it in the place of {name.removesuffix(_SWAP)} and of what that overlaps"
        elif name.endswith(_TAKEN) and is_beyond_offsets(name):
            what = "its name begins with more than any offset or epoch is: Kafka does not start"
        elif name.endswith(_TAKEN) and not _KNOWN.fullmatch(name):
            what = "its name ends like that of a log's file, but is no such name: Kafka does not start, or reads it"
        else:
            continue
        sink.add("strange_file", what, file=f"{directory}/{name}")
