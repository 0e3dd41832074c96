"""Collects findings so that one cause is reported once.

Decides: when findings are merged into one with a count, and the bound for each kind. Must not know: the faults.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

import msgspec

from metadata_log.files.links import remedy
from metadata_log.records.newer import NOTHING_NEWER, NewerPart
from metadata_log.tools.findings.facts import Facts
from metadata_log.tools.findings.finding import Finding, Severity, finding, why_unreadable, with_advice
from metadata_log.tools.findings.kinds import KINDS, NEWER_RELEASE
from metadata_log.tools.findings.remedy import Advice

_BOUND_A_KIND: Final = 1000
_OFFSETS_SHOWN: Final = 5


class Taken:
    """The first finding of a group, the number of further ones, and the offsets of the first of these."""

    def __init__(self, first: Finding) -> None:
        self.first = first
        self.more = 0
        self.offsets: list[int] = []

    def reword(self, meaning: str) -> None:
        """Replace the sentence after a later batch showed more, unless other findings share it."""
        if not self.more:
            self.first = msgspec.structs.replace(self.first, meaning=meaning)

    def finding(self) -> Finding:
        """Return the finding; its sentence has the number of further ones."""
        if not self.more:
            return self.first
        places = ", ".join(map(str, self.offsets))
        dots = " ..." if self.more > len(self.offsets) else ""
        at = f", at offsets {places}{dots}" if len(self.offsets) > 1 else f", at offset {places}" if places else ""
        return msgspec.structs.replace(self.first, meaning=f"{self.first.meaning} (and {self.more} more{at})")


class FindingSink:
    """Collects the findings on one node's files, in groups, in the order of each group's first finding."""

    def __init__(self, node_id: int | None = None) -> None:
        self.node_id = node_id
        self._groups: dict[Hashable, Taken] = {}
        self._kinds: dict[str, int] = {}
        self.counted = 0
        """The number of errors and warnings added; each of a group counts."""
        self.newer = NOTHING_NEWER
        """The parts that a later release wrote, which no check judges."""
        self._newer_note: Finding | None = None

    def add_unreadable(self, path: str, error: OSError) -> None:
        """Add the finding that a file cannot be read."""
        self.add("unreadable_file", why_unreadable(error), file=path, advice=remedy(error))

    def add_newer(
        self,
        *parts: NewerPart,
        file: str,
        position: int | None = None,
        offset: int | None = None,
        epoch: int | None = None,
    ) -> None:
        """Add parts that a later release wrote; one note names all of them, with the place of the first."""
        if self._newer_note is None:
            self._newer_note = finding(
                NEWER_RELEASE, "", node_id=self.node_id, file=file, position=position, offset=offset, epoch=epoch
            )
        self.newer = self.newer.plus(*parts)

    def take_from(self, inner: FindingSink, advice: Advice | None = None) -> None:
        """Add all findings of another sink. `advice`: for those by which the node must not start."""
        for group in inner._groups.values():
            found = group.finding()
            self.take(with_advice(found, advice) if advice is not None and found.bars_start else found)
        self.newer = self.newer.plus(*inner.newer.parts)
        self._newer_note = self._newer_note or inner._newer_note

    def add(
        self,
        what: Facts | str,
        meaning: str = "",
        *,
        group: Hashable | None = None,
        severity: Severity | None = None,
        file: str | None = None,
        position: int | None = None,
        offset: int | None = None,
        epoch: int | None = None,
        topic_id: str | None = None,
        advice: Advice | str | None = None,
    ) -> Taken:
        """Add a finding from facts, or from a kind and its sentence; return the group that it is in.

        Findings of one kind and `group` are shown as the first of them, with a count. Without a `group`, a finding is
        not merged, up to the bound of its kind.
        """
        kind = what if isinstance(what, str) else what.kind
        self.counted += (severity or KINDS[kind].severity) is not Severity.NOTE
        number = self._kinds.get(kind, 0)
        beyond = number >= _BOUND_A_KIND
        key: Hashable = (kind, "beyond the bound") if beyond else (kind, number if group is None else ("group", group))
        known = self._groups.get(key)
        if known is not None:
            known.more += 1
            if offset is not None and len(known.offsets) < _OFFSETS_SHOWN and offset not in known.offsets:
                known.offsets.append(offset)
            return known
        self._kinds[kind] = number + 1
        first = finding(
            what,
            meaning,
            severity=severity,
            node_id=self.node_id,
            file=file,
            position=position,
            offset=offset,
            epoch=epoch,
            topic_id=topic_id,
            advice=advice,
        )
        self._groups[key] = taken = Taken(first)
        return taken

    def take(self, found: Finding) -> None:
        """Add a complete finding."""
        self._groups[("made", len(self._groups))] = Taken(found)

    @property
    def findings(self) -> list[Finding]:
        """One finding for each group; its sentence has the number and the first offsets of the further ones."""
        found = [group.finding() for group in self._groups.values()]
        note = self._newer_note
        return found if note is None else [*found, msgspec.structs.replace(note, meaning=self.newer.text())]

    def has(self, *kinds: str) -> bool:
        """Return True if a finding of any of these kinds was added with `add`."""
        return any(kind in self._kinds for kind in kinds)
