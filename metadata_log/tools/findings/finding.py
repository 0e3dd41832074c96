"""The finding: its kind, severity, place, meaning and advice; and the order in which findings are shown.

Must not know: which kinds there are (`kinds` has them), and how a fault is detected.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from metadata_log.files.links import remedy
from metadata_log.tools.findings.facts import Facts
from metadata_log.tools.findings.finding_kind import Cause, FindingKind, Severity
from metadata_log.tools.findings.kinds import KINDS, NO_DAMAGE
from metadata_log.tools.findings.remedy import Advice, as_advice

__all__ = [
    "KINDS",
    "Cause",
    "Finding",
    "FindingKind",
    "Severity",
    "by_cause",
    "finding",
    "is_well",
    "printed",
    "sort_findings",
]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One finding of a check.

    Attributes:
        kind: the name of its `FindingKind`.
        node_id: the node of the directory, by its `meta.properties`; None if unknown, or if several are concerned.
        file: path of the file or directory that shows it; None if it takes several.
        position: byte position in that file.
        offset: that of the record or batch, or the offset due there; in a checkpoint, the offset inside it.
        epoch: the epoch at that offset; None if the log has no record before it.
        topic_id: the topic concerned, in Kafka's text form.
        meaning: one sentence that says what was found.
        advice: the steps to take.
        consequences: a sentence for each fault that follows from it; unset without any.
        facts: the values behind the sentence; unset if no program reads them.
        remedy: the advice as an `Advice`, which programs read and complete. No output has `remedy` or `facts`: see
            `printed`.
    """

    kind: str
    severity: Severity
    node_id: int | None = None
    file: str | None = None
    position: int | None = None
    offset: int | None = None
    epoch: int | None = None
    topic_id: str | None = None
    meaning: str
    advice: str
    consequences: tuple[str, ...] | UnsetType = UNSET
    facts: Facts | UnsetType = UNSET
    remedy: Advice | UnsetType = UNSET

    @property
    def counts(self) -> bool:
        """True if it makes the verdict "findings": a note does not."""
        return self.severity is not Severity.NOTE

    @property
    def bars_start(self) -> bool:
        """True if the node must not start from this directory as it is, by the advice."""
        return isinstance(self.remedy, Advice) and self.remedy.bars_start

    @property
    def is_until_compared(self) -> bool:
        """True if the other replicas may show that the node can start nevertheless, by the advice."""
        return isinstance(self.remedy, Advice) and self.remedy.until_compared

    @property
    def doubts_vote(self) -> bool:
        """True if nothing that the directory shows of its node's votes is certain, by the advice."""
        return isinstance(self.remedy, Advice) and self.remedy.doubts_vote

    @property
    def cause(self) -> Cause:
        """The heading that it is shown under."""
        return KINDS[self.kind].cause


def why_unreadable(error: OSError) -> str:
    """Return the sentence of an `unreadable_file`."""
    return f"it cannot be read: {error.strerror or error}"


def printed(found: Finding) -> Finding:
    """Return the finding with the fields that JSON output has."""
    return msgspec.structs.replace(found, facts=UNSET, remedy=UNSET)


def with_facts(found: Finding, facts: Facts) -> Finding:
    """Return the finding with other facts and their sentence."""
    return msgspec.structs.replace(found, facts=facts, meaning=facts.meaning())


def with_advice(found: Finding, advice: Advice | str) -> Finding:
    """Return the finding with other advice."""
    return msgspec.structs.replace(found, advice=str(advice), remedy=as_advice(advice))


def finding(
    what: Facts | str,
    meaning: str = "",
    *,
    severity: Severity | None = None,
    node_id: int | None = None,
    file: str | None = None,
    position: int | None = None,
    offset: int | None = None,
    epoch: int | None = None,
    topic_id: str | None = None,
    advice: Advice | str | None = None,
) -> Finding:
    """Return a finding from facts, or from a kind and a sentence. By default it has the kind's severity and advice.

    Raises:
        KeyError: there is no such kind.
    """
    facts: Facts | UnsetType = UNSET
    if isinstance(what, Facts):
        facts = what
        what, meaning = facts.kind, facts.meaning()
    known = KINDS[what]
    remedy = known.remedy if advice is None else as_advice(advice)
    return Finding(
        kind=known.name,
        severity=known.severity if severity is None else severity,
        node_id=node_id,
        file=file,
        position=position,
        offset=offset,
        epoch=None if epoch is None or epoch < 0 else epoch,
        topic_id=topic_id,
        meaning=meaning,
        advice=str(remedy),
        remedy=remedy,
        facts=facts,
    )


def unreadable(error: OSError, file: str, *, node_id: int | None = None, more: str = "") -> Finding:
    """Return the finding that a file or a directory cannot be read, with the remedy."""
    meaning = f"{why_unreadable(error)}{more}"
    return finding("unreadable_file", meaning, node_id=node_id, file=file, advice=remedy(error))


def is_well(findings: Iterable[Finding]) -> bool:
    """Return True if a replica with these findings is undamaged, so that it may be a witness against others."""
    return not any(found.counts and found.kind not in NO_DAMAGE for found in findings)


_SEVERITY_ORDER: Final = {severity: number for number, severity in enumerate(Severity)}
_KIND_ORDER: Final = {name: number for number, name in enumerate(KINDS)}


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings, the gravest first, then by kind, node, file, offset and position."""
    return tuple(sorted(findings, key=_sort_key))


def _sort_key(found: Finding) -> tuple[int, int, int, str, int, int]:
    return (
        _SEVERITY_ORDER[found.severity],
        _KIND_ORDER[found.kind],
        -1 if found.node_id is None else found.node_id,
        found.file or "",
        -1 if found.offset is None else found.offset,
        -1 if found.position is None else found.position,
    )


def by_cause(findings: Iterable[Finding]) -> dict[Cause, tuple[Finding, ...]]:
    """Return the findings by cause; the cause with the gravest finding is first."""
    grouped: dict[Cause, list[Finding]] = {}
    for found in sort_findings(findings):
        grouped.setdefault(found.cause, []).append(found)
    return {cause: tuple(found) for cause, found in grouped.items()}
