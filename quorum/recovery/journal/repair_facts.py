"""The facts of a repair that its audit file keeps: lost records, and the steps that follow.

Decides: their form, and the sentences that are rendered from them.
"""

from __future__ import annotations

from typing import Final

import msgspec

OF_LATER_RELEASE: Final = "of a later release"
"""In place of the type of records that are not known."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Something to do: in words, and the command where one does it."""

    text: str
    commands: tuple[str, ...] = ()


class LostRecords(msgspec.Struct, frozen=True, kw_only=True):
    """Records that a copy holds and the one that is kept does not: offsets `start` to `end` (exclusive).

    Attributes:
        records: how many of each type, NoOps and elections left out: they say nothing. A checkpoint counts as one
            where segments do not reach back to `start`.
        topics: names of topics created there, the first of them.
        committed: `was` (all of it), `partly` (the beginning), `may` or `never`.
        proof: that records once stood there which no copy here holds; None where the copy holds them.
        epoch: of the last record; None where that is not known.
        is_uncompared: nothing shows that the copy is of the log that is kept.
    """

    label: str
    node_id: int | None
    start: int
    end: int
    records: dict[str, int]
    topics: tuple[str, ...]
    committed: str
    proof: str | None = None
    epoch: int | None = None
    is_uncompared: bool = False

    @property
    def says_something(self) -> bool:
        """Whether it is more than NoOps and elections of the same log."""
        return bool(self.records) or self.proof is not None or self.is_uncompared

    def __str__(self) -> str:
        said = ", ".join(f"{count} {name}" for name, count in self.records.items()) or "NoOps and elections only"
        topics = f", topics {', '.join(self.topics)}" if self.topics else ""
        topics += "; what those of a later release say is not known" if OF_LATER_RELEASE in self.records else ""
        words = {
            "was": "committed", "partly": "committed in part", "may": "which may have been committed",
            "never": "never committed",
        }  # fmt: skip
        if self.proof is not None:
            held = f"this log reached {self.end} ({self.proof}), and no copy here holds them"
            return f"offsets {self.start} to {self.end} on {self.label}: {held}; {words[self.committed]}"
        if self.is_uncompared:
            alone = "which nothing shows to be of the log that is kept: the two cannot be compared"
            return f"offsets {self.start} to {self.end} on {self.label}: {said}{topics}, {alone}"
        return f"offsets {self.start} to {self.end} on {self.label}: {said}{topics}; {words[self.committed]}"
