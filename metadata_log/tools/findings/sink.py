"""Gathering findings so that one cause is said once.

Decides: that findings of one group are one, with a count, and that there is a bound. Must not know: what is found.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

import msgspec

from metadata_log.files.links import remedy
from metadata_log.records.newer import NOTHING_NEWER, NewerPart
from metadata_log.tools.findings.advice import Advice
from metadata_log.tools.findings.facts import Facts
from metadata_log.tools.findings.finding import Finding, Severity, finding, why_unreadable
from metadata_log.tools.findings.kinds import KINDS, NEWER_RELEASE

_BOUND_A_KIND: Final = 1000
_OFFSETS_SHOWN: Final = 5


class Taken:
    """A finding that was taken, how many more of its kind there were, and the offsets of the first of those."""

    def __init__(self, first: Finding) -> None:
        self.first = first
        self.more = 0
        self.offsets: list[int] = []

    def reword(self, meaning: str) -> None:
        """Put another sentence, as more is known by now; not if it is also that of others."""
        if not self.more:
            self.first = msgspec.structs.replace(self.first, meaning=meaning)

    def finding(self) -> Finding:
        """Return the finding, with the number of others that have its sentence."""
        if not self.more:
            return self.first
        places = ", ".join(map(str, self.offsets))
        dots = " ..." if self.more > len(self.offsets) else ""
        at = f", at offsets {places}{dots}" if len(self.offsets) > 1 else f", at offset {places}" if places else ""
        return msgspec.structs.replace(self.first, meaning=f"{self.first.meaning} (and {self.more} more{at})")


class FindingSink:
    """Takes findings of one node's files. `findings` gives one for each group, in the order of their first."""

    def __init__(self, node_id: int | None = None) -> None:
        self.node_id = node_id
        self._groups: dict[Hashable, Taken] = {}
        self._kinds: dict[str, int] = {}
        self.errors = 0
        """How many errors were added, each of a group."""
        self.newer = NOTHING_NEWER
        """All that a later release has written, and that is not judged."""
        self._newer_note: Finding | None = None

    def add_unreadable(self, path: str, error: OSError) -> None:
        """Take one of a file that cannot be read."""
        self.add("unreadable_file", why_unreadable(error), file=path, advice=remedy(error))

    def add_newer(
        self,
        *parts: NewerPart,
        file: str,
        position: int | None = None,
        offset: int | None = None,
        epoch: int | None = None,
    ) -> None:
        """Take parts of a later release; one note names all of them, and the place of the first."""
        if self._newer_note is None:
            self._newer_note = finding(
                NEWER_RELEASE, "", node_id=self.node_id, file=file, position=position, offset=offset, epoch=epoch
            )
        self.newer = self.newer.plus(*parts)

    def take_from(self, inner: FindingSink) -> None:
        """Take all that another sink holds."""
        for group in inner._groups.values():
            self.take(group.finding())
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
        """Take facts, or a kind and its sentence; return the one that it became part of.

        Of findings of one kind and `group` the first speaks for all; without a group each is its own.
        """
        kind = what if isinstance(what, str) else what.kind
        self.errors += (severity or KINDS[kind].severity) is Severity.ERROR
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
        """Take one that is made already."""
        self._groups[("made", len(self._groups))] = Taken(found)

    @property
    def findings(self) -> list[Finding]:
        """One for each group; its meaning says how many there were, and where the next of them are."""
        found = [group.finding() for group in self._groups.values()]
        note = self._newer_note
        return found if note is None else [*found, msgspec.structs.replace(note, meaning=self.newer.text())]

    def has(self, *kinds: str) -> bool:
        """Whether any of these kinds was found."""
        return any(kind in self._kinds for kind in kinds)
