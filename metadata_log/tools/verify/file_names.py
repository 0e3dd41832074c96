"""Files beside a log that a start of Kafka's takes for part of it, or fails at, by their names.

Decides: which names those are. Must not know: what is in the files; those with well-formed names are read elsewhere.

Source: Kafka 4.3's LogLoader (a `.swap` is put in the place of what it is named after), LogFileUtils and Snapshots (a
name that ends as a segment's, an index' or a snapshot's must begin with its offset); all were tried.
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
    """Whether a name begins as one of a log's files does, with an offset, or an epoch, that is none: it tells nothing
    of the log."""
    found = _NUMBERS.fullmatch(name)
    return found is not None and not is_possible(int(found[1]), int(found[2] or 0))


def check_file_names(directory: str, names: Iterable[str], sink: FindingSink) -> None:
    """A finding for each."""
    for name in sorted(names):
        if name.endswith(_SWAP):
            what = f"a start of Kafka's puts it in the place of {name.removesuffix(_SWAP)} and of what that overlaps"
        elif name.endswith(_TAKEN) and is_beyond_offsets(name):
            what = "its name begins with more than any offset or epoch is: Kafka does not start"
        elif name.endswith(_TAKEN) and not _KNOWN.fullmatch(name):
            what = "its name ends as that of a part of the log, and is none: Kafka does not start, or takes it for one"
        else:
            continue
        sink.add("strange_file", what, file=f"{directory}/{name}")
