"""Records of a later release in the logs that are analysed: one note names them, and no topic is judged past them.

Decides: which records can still be judged. Must not know: Spark, and how such a record is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from metadata_log.analysis.findings import Finding, Severity
from metadata_log.analysis.inputs import ReplicaInput
from metadata_log.analysis.record_checks import Range
from metadata_log.analysis.wording import row_finding
from metadata_log.records.newer import NOTHING_NEWER, NewerPart
from metadata_log.tools.findings.kinds import NEWER_RELEASE


def newer_findings(counts: Sequence[Any], replicas: Mapping[int, ReplicaInput]) -> Iterator[Finding]:
    """Yield the one note that names all parts of a later release in the rows of `record_checks.counts`, if any.

    Its place is that of the first part.
    """
    rows = sorted((row for row in counts if row["newer"] is not None), key=_place)
    if not rows:
        return
    meaning = NOTHING_NEWER.plus(*map(_part, rows)).text()
    yield row_finding(NEWER_RELEASE, Severity.NOTE, rows[0], replicas[rows[0]["replica"]], meaning)


def known_ranges(ranges: Sequence[Range], counts: Sequence[Any]) -> list[Range]:
    """Return the ranges up to the first record of each that was passed over: what follows may refer to it.

    A range upon a checkpoint with such a record is left out.
    """
    passed = [row for row in counts if row["newer"] is not None and _part(row).hides_metadata]
    return [known for judged in ranges if (known := _known(judged, passed)) is not None]


def _known(judged: Range, passed: Sequence[Any]) -> Range | None:
    own = [row for row in passed if row["replica"] == judged.replica]
    if any(row["is_checkpoint"] and row["file"] == judged.checkpoint for row in own):
        return None
    ends = [max(judged.start, row["first"]["offset"]) for row in own if not row["is_checkpoint"]]
    if not ends:
        return judged
    return msgspec.structs.replace(judged, end=min(ends) if judged.end is None else min(*ends, judged.end))


def _part(row: Any) -> NewerPart:
    return msgspec.json.decode(row["newer"], type=NewerPart)


def _place(row: Any) -> tuple[bool, int, int]:
    return row["is_checkpoint"], row["first"]["offset"], row["replica"]
