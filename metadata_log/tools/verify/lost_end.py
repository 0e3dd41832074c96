"""The provably lost end of a log, for tools that would otherwise copy or show the shorter log without a warning.

Decides: which findings of a verification prove a lost end. Must not know: the tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.errors import CorruptFileError, DirectoryError
from metadata_log.files.port import Files
from metadata_log.storage.checkpoint import parse_checkpoint_name
from metadata_log.storage.segment import segment_bases
from metadata_log.tools.findings.facts import CorruptBatch, LogCut
from metadata_log.tools.findings.finding import Finding, Severity
from metadata_log.tools.read.contents import read_identity
from metadata_log.tools.read.gaps import Gap, hidden_state
from metadata_log.tools.read.history import LogHistory
from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.verify.depth import Depth
from metadata_log.tools.verify.verify_log import verify_file, verify_log

SHORT_LOG: Final = ("log_cut", "log_missing")
"""Kinds of findings that mean: the log ends before the offset that it provably reached."""


class LostEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The lost end of one log.

    Attributes:
        findings: the proofs; none if nothing proves that the log reached more.
        proved_end: the offset (exclusive) that the log provably reached.
        gaps: the missing offsets before the log's end.
        misnamed: by name of each misnamed checkpoint, the reason.
    """

    findings: tuple[Finding, ...]
    proved_end: int
    gaps: tuple[Gap, ...] = ()
    misnamed: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def is_certain(self) -> bool:
        """True if the end is certainly lost. Otherwise a node that was killed at a certain moment leaves the same."""
        return any(found.severity is Severity.ERROR for found in self.findings)


def lost_end(path: Path, files: Files | None = None) -> LostEnd:
    """Return the lost end of the log in a metadata directory, or of one segment. Records are not decoded.

    Raises:
        OSError: the directory cannot be listed, or the file cannot be read.
    """
    if path.is_dir():
        report = verify_log(
            NodeSource(path=path, node_id=_node_id(path), metadata=path), depth=Depth.BYTES, files=files
        )
    else:
        report = verify_file(path, depth=Depth.BYTES)
    found = tuple(found for found in report.findings if _says_so(found))
    if report.proved_end <= _named_end(path):  # the newest checkpoint covers all that was proven
        found = tuple(one for one in found if one.kind != "log_missing")
    return LostEnd(findings=found, proved_end=report.proved_end, gaps=report.gaps, misnamed=report.misnamed)


class SoundHistory(LogHistory, frozen=True, kw_only=True):
    """The history of a log that was verified as it was opened; `lost`: what that pass found of its end."""

    lost: LostEnd


def lost_end_of(history: LogHistory) -> LostEnd:
    """Return the lost end of a history's log, without another pass if opening it took one. A checkpoint has none.

    Raises:
        OSError: see `lost_end`.
    """
    if isinstance(history, SoundHistory):
        return history.lost
    if not history.path.is_dir() and not history.segments:
        return LostEnd(findings=(), proved_end=0)
    return lost_end(history.path)


def hidden_end(history: LogHistory, end: int, limit: int | None = None, lost: LostEnd | None = None) -> str | None:
    """Return a sentence on the gap that hides a log's states behind offset `end`, up to `limit`; None if none does.

    `limit`: by default the proved end. `lost`: the result of `lost_end`, if the caller has it.

    Raises:
        OSError: see `lost_end`.
    """
    if not history.path.is_dir() and not history.segments:
        return None
    known = lost or lost_end_of(history)
    checkpoints = (int(each.offset) for each, _ in history.checkpoints)
    return hidden_state(known.gaps, end, known.proved_end if limit is None else limit, checkpoints)


def missing_segments(directory: Path) -> str | None:
    """Return a sentence on the missing log if a metadata directory has checkpoints but no segment, or None.

    A checkpoint of offset 0 does not count: formatting writes it before there is a log.

    Raises:
        OSError: the directory cannot be listed.
    """
    end = _named_end(directory)
    if end <= 0 or segment_bases([child.name for child in directory.iterdir()]):
        return None
    proof = next((found.meaning for found in lost_end(directory).findings), "there is no segment")
    return f"{proof}. Checkpoints are left, the newest up to offset {end}: what was written from there on is missing"


def proof_of_more(found: Finding) -> str:
    """Return the sentence without its claim about commits: other replicas may prove more than this log does."""
    return found.facts.proof_of_more() if isinstance(found.facts, LogCut) else found.meaning


def of_one_log(found: Finding) -> str:
    """Return the meaning for a tool that reads one replica only: others may prove that the records were committed."""
    if not is_unproven_end(found):
        return found.meaning
    check = "`kraft check` of all voters' and brokers' directories at once says whether they were committed"
    return f"{proof_of_more(found)}: records are missing, and {check}"


def is_unproven_end(found: Finding) -> bool:
    """Return True if the finding is a note: the end is lost, but nothing in the directory proves it committed."""
    return isinstance(found.facts, LogCut) and found.facts.is_unproven


def _says_so(found: Finding) -> bool:
    """Return True if the finding means a lost end. Every reader reports a file without a single batch itself."""
    if found.kind == "corrupt_batch":
        return isinstance(found.facts, CorruptBatch) and found.facts.is_destroyed and bool(found.position)
    return found.kind in SHORT_LOG


def _named_end(path: Path) -> int:
    """Return the end offset in the name of the newest checkpoint; -1 without a checkpoint."""
    names = [child.name for child in path.iterdir()] if path.is_dir() else [path.name]
    return max((int(end.offset) for name in names if (end := parse_checkpoint_name(name)) is not None), default=-1)


def _node_id(directory: Path) -> int | None:
    try:
        identity = read_identity(directory)
    except (CorruptFileError, DirectoryError):
        return None  # the node id matters only for the check of quorum-state
    return None if identity is None else identity.node_id
