"""Checks the `bootstrap.checkpoint` that formatting writes to every disk of a node.

Decides: which of these files a starting node reads, and what the file must hold beyond being a sound checkpoint
(`verify.checkpoint`). Must not know: the log in the same directory.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from metadata_log.files.port import Files
from metadata_log.storage.checkpoint import BOOTSTRAP_CHECKPOINT
from metadata_log.tools.findings.advice import NEEDLESS_BOOTSTRAP, RESTORE_FILE, UNREAD_BOOTSTRAP
from metadata_log.tools.findings.finding import Finding, with_advice
from metadata_log.tools.findings.sink import FindingSink
from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.verify.checkpoint import CheckpointReport, verify_checkpoint
from metadata_log.tools.verify.depth import Depth


def check_bootstrap(files: Files, disk: Path, sink: FindingSink, depth: Depth, *, is_needed: bool) -> None:
    """Add the faults of one disk's `bootstrap.checkpoint` to `sink`. A missing file is no fault.

    `is_needed`: False if the log beside it is sound and has records. A start reads the file, and needs nothing from it.
    """
    own = FindingSink(sink.node_id)
    _check(files, f"{disk}/{BOOTSTRAP_CHECKPOINT}", own, depth)
    sink.take_from(own, None if is_needed else NEEDLESS_BOOTSTRAP)


def _check(files: Files, path: str, sink: FindingSink, depth: Depth) -> None:
    try:
        if not files.exists(path):
            return
        report = verify_checkpoint(files, path, sink, depth)
    except OSError as error:
        sink.add_unreadable(path, error)
        return
    fault = _unusable(report) if report.is_whole else None
    if fault is not None:
        sink.add("checkpoint_malformed", fault, file=path, position=0, offset=0, advice=RESTORE_FILE)


def _unusable(report: CheckpointReport) -> str | None:
    """Return why no node starts with this whole checkpoint, or None (KIP-778)."""
    if report.voters is not None or report.kraft_version > 0:
        what = "voters" if report.voters is not None else "a kraft.version"
        return f"it holds {what}, as the checkpoint of a log does: no node starts with it"
    if not report.records or (report.image is not None and report.image.features.metadata_version is None):
        return "it holds no metadata.version: no node starts with it"
    return None


def check_unread_bootstraps(files: Files, source: NodeSource, depth: Depth = Depth.REPLAY) -> Iterator[Finding]:
    """Yield the faults of `bootstrap.checkpoint` on disks without the metadata log, which a start does not read."""
    read = None if source.metadata is None else source.metadata.parent
    sink = FindingSink(source.node_id)
    for disk in source.log_directories:
        if disk.path not in (read, source.metadata):
            check_bootstrap(files, disk.path, sink, depth, is_needed=True)
    for found in sink.findings:
        yield with_advice(found, UNREAD_BOOTSTRAP)
