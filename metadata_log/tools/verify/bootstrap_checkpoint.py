"""Each disk's own `bootstrap.checkpoint`, which formatting puts on all of a node's disks.

Decides: which of them a start reads, and what it must hold beyond being a sound checkpoint (`verify.checkpoint`).
Must not know: the log beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

from metadata_log.files.port import Files
from metadata_log.storage.checkpoint import BOOTSTRAP_CHECKPOINT
from metadata_log.tools.findings.advice import RESTORE_FILE, UNREAD_BOOTSTRAP
from metadata_log.tools.findings.finding import Finding, with_advice
from metadata_log.tools.findings.sink import FindingSink
from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.verify.checkpoint import CheckpointReport, verify_checkpoint
from metadata_log.tools.verify.depth import Depth


def check_bootstrap(files: Files, disk: str, sink: FindingSink, depth: Depth) -> None:
    """What is wrong with that of one disk, if it has one."""
    path = f"{disk}/{BOOTSTRAP_CHECKPOINT}"
    if not files.exists(path):
        return
    try:
        report = verify_checkpoint(files, path, sink, depth)
    except OSError as error:
        sink.add_unreadable(path, error)
        return
    fault = _unusable(report) if report.is_whole else None
    if fault is not None:
        sink.add("checkpoint_malformed", fault, file=path, position=0, offset=0, advice=RESTORE_FILE)


def _unusable(report: CheckpointReport) -> str | None:
    """What a start finds in a whole checkpoint that is not what its first records are read from (KIP-778)."""
    if report.voters is not None or report.kraft_version > 0:
        what = "voters" if report.voters is not None else "a kraft.version"
        return f"it holds {what}, as the checkpoint of a log does: no node starts with it"
    if not report.records or (report.image is not None and report.image.features.metadata_version is None):
        return "it holds no metadata.version: no node starts with it"
    return None


def check_unread_bootstraps(files: Files, source: NodeSource, depth: Depth = Depth.REPLAY) -> Iterator[Finding]:
    """What is wrong with those of the disks without the metadata log: no start reads them."""
    read = None if source.metadata is None else source.metadata.parent
    sink = FindingSink(source.node_id)
    for disk in source.log_directories:
        if disk.path not in (read, source.metadata):
            check_bootstrap(files, str(disk.path), sink, depth)
    for found in sink.findings:
        yield with_advice(found, UNREAD_BOOTSTRAP)
