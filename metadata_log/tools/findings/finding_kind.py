"""The form of a kind of finding: its cause, severity, title and advice.

Decides: the causes, in the order in which they are shown, and the severities. Must not know: the kinds (`kinds`).
"""

from __future__ import annotations

import enum

import msgspec

from metadata_log.tools.findings.remedy import Advice


class Severity(enum.StrEnum):
    """The severity of a finding. Errors and warnings make the verdict "findings"; a note does not."""

    ERROR = "error"
    """A replica or the quorum is certainly wrong."""
    WARNING = "warning"
    """It may be harmless, or the next start may correct it, but an operator should know."""
    NOTE = "note"
    """Nothing is wrong; it explains a difference that an operator may notice."""


class Cause(enum.StrEnum):
    """The heading under which findings are shown together."""

    READING = "files could not be read, and nothing is known of what they hold"
    BYTES = "the log's bytes are damaged"
    ORDER = "the log's batches are not in order"
    RECORDS = "records say what cannot be"
    CHECKPOINTS = "checkpoints are not what the log says"
    FILES = "files beside the log do not fit it"
    IDENTITY = "directories are not whose they should be"
    VOTES = "votes and leaders contradict each other"
    REPLICAS = "replicas differ"
    PARTITIONS = "partition directories do not fit the metadata"
    NEWER = "a release that this software does not know wrote a part of it"
    OLDER = "a release wrote it that no node of this software can follow"


class FindingKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of finding. A check may give a finding another severity or advice than its kind has."""

    name: str
    cause: Cause
    severity: Severity
    title: str
    remedy: Advice

    @property
    def advice(self) -> str:
        """Return the kind's advice as text."""
        return str(self.remedy)
