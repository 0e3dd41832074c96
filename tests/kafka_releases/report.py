"""The comparison as text and as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

import msgspec

from tests.kafka_releases.comparison import Difference
from tests.kafka_releases.left_out import LeftOut
from tests.kafka_releases.schemas import DEFAULT_OF


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One run of `python -m tests.kafka_releases`.

    Attributes:
        changes: from the older release to the newer one.
        lacking: differences between the newer release and the tables that no row of `left_out` explains.
        left_out: the rows, each with the differences that it explains.
    """

    older: str
    newer: str
    changes: tuple[Difference, ...]
    lacking: tuple[Difference, ...]
    left_out: Mapping[LeftOut, tuple[Difference, ...]]

    @property
    def unused(self) -> tuple[LeftOut, ...]:
        """Rows that explain nothing."""
        return tuple(row for row, explained in self.left_out.items() if not explained)


def as_json(found: Comparison) -> dict[str, Any]:
    """Return the comparison as JSON has it."""
    return {
        "older": found.older,
        "newer": found.newer,
        "changes": msgspec.to_builtins(found.changes),
        "lacking": msgspec.to_builtins(found.lacking),
        "left_out": [
            {**msgspec.to_builtins(row), "differences": msgspec.to_builtins(explained)}
            for row, explained in found.left_out.items()
        ],
    }


def as_text(found: Comparison) -> str:
    """Return the comparison for a person, in three parts."""
    lines = [f"What Kafka {found.newer} changes since {found.older}:"]
    lines += _sections(found.changes, "new", "gone") or ["  nothing"]
    if found.lacking:
        lines += ["", f"Our tables lack, or have otherwise than Kafka {found.newer}:"]
        lines += _sections(found.lacking, "lacking", f"not in Kafka {found.newer}")
    else:
        lines += ["", "Our tables lack: nothing."]
    lines += ["", "Left out on purpose (tests/kafka_releases/left_out.py):"]
    for row, explained in found.left_out.items():
        names = list(dict.fromkeys(difference.name for difference in explained))
        shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        if names:
            lines.append(f"  {row.area}: {shown}: {row.reason}")
    for row in found.unused:
        lines.append(f"  {row.area}: {row.names}: nothing differs there, so this row can go")
    return "\n".join(lines)


def _sections(differences: Iterable[Difference], new: str, gone: str) -> list[str]:
    lines: list[str] = []
    for area, of_area in groupby(_without_details(differences), key=lambda difference: difference.area):
        lines.append(f"  {area}")
        lines += [f"    {_line(difference, new, gone)}" for difference in of_area]
    return lines


def _without_details(differences: Iterable[Difference]) -> Iterator[Difference]:
    """Leave out a field inside a field that differs as a whole, and its default: their line says enough."""
    found = list(differences)
    whole = {
        (difference.area, difference.name, difference.attribute): (difference.before is None, difference.after is None)
        for difference in found
        if difference.attribute is not None
    }
    for difference in found:
        attribute = difference.attribute or ""
        bare = attribute.removeprefix(DEFAULT_OF)
        parents = {bare.rsplit(".", count)[0] for count in range(1, bare.count(".") + 1)}
        parents |= {bare} if bare != attribute else set()
        where = (difference.area, difference.name)
        if not any(any(whole.get((*where, parent), ())) for parent in parents):
            yield difference


def _line(difference: Difference, new: str, gone: str) -> str:
    subject = difference.name if difference.attribute is None else f"{difference.name}, {difference.attribute}"
    if difference.before is None:
        return re.sub(r": $", "", f"{subject}: {new}: {difference.after}")
    if difference.after is None:
        return re.sub(r": $", "", f"{subject}: {gone}: {difference.before}")
    return f"{subject}: {difference.before} -> {difference.after}"
