"""The facts of findings on partition directories. Must not know: how a fault is detected."""

from __future__ import annotations

from typing import ClassVar

from metadata_log.tools.findings.facts import Facts


class LostWithTheLogs(Facts, frozen=True, kw_only=True):
    """A partition directory of records that were committed, and that all logs here have lost.

    `name`: of the directory. `end`: of the furthest log. `never`: the record that no log has, as the end of a clause.
    """

    kind: ClassVar[str] = "partition_beyond_logs"
    name: str
    end: int
    never: str

    def meaning(self) -> str:
        """Return the sentence."""
        return (
            f"{self.name}: no log or checkpoint here, up to offset {self.end}, ever {self.never}, and a broker makes a "
            "directory only for what is committed"
        )
