"""Verifies one replica's metadata directory, or a single segment or checkpoint, from end to end.

Decides: when the directory is read again. Must not know: the checks.

This only reads, and takes no lock, so a running node may change the files meanwhile. If there is a finding and the
directory has changed, it is read again, up to `_TRIES` times in all.

Measured on one core of a small machine, Python 3.11:

- checksums, framing and order of batches of 64 KiB (records of 82 bytes): 1.5 GB/s;
- NoOp batches: 1.3 to 2.4 million a second;
- decoding and replay: 6 to 13 µs a record, NoOps apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.directory.repair_audits import held_when_cut
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import Files
from metadata_log.storage.checkpoint import CHECKPOINT_SUFFIX
from metadata_log.tools.findings.consequences import without_changed_files
from metadata_log.tools.findings.finding import sort_findings
from metadata_log.tools.read.consistent_read import directory_signature
from metadata_log.tools.read.log_reader import LogListener
from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.verify.bootstrap_checkpoint import check_unread_bootstraps
from metadata_log.tools.verify.broker_advice import advised
from metadata_log.tools.verify.depth import Depth
from metadata_log.tools.verify.export_files import check_export
from metadata_log.tools.verify.log_facts import LogFacts
from metadata_log.tools.verify.log_verification import Verification
from metadata_log.tools.verify.voters import against_own_log

__all__ = ["Depth", "LogFacts", "directory_signature", "verify_file", "verify_log"]

_TRIES: Final = 4


def verify_log(
    source: NodeSource,
    *,
    depth: Depth = Depth.REPLAY,
    probes: frozenset[int] = frozenset(),
    files: Files | None = None,
    listening: Callable[[], Sequence[LogListener]] = tuple,
) -> LogFacts:
    """Verify a node's metadata directory.

    Args:
        probes: offsets at which the report keeps the image, at `Depth.REPLAY` only.
        listening: makes further listeners to the events of a pass; each pass gets new ones.

    Raises:
        OSError: the directory cannot be listed, or a file of an export cannot be read.
        CorruptFileError: the manifest of an export changed meanwhile.
        ValueError: the source has no metadata directory.
    """
    if source.metadata is None:
        raise ValueError(f"{source.path} has no metadata log")
    port = OsFiles() if files is None else files
    directory = str(source.metadata)
    for _ in range(_TRIES):
        before = directory_signature(source.metadata)
        report = Verification(port, directory, source, depth=depth, probes=probes, listeners=listening()).run()
        wrong = [*against_own_log(report, source.node_id), *check_unread_bootstraps(port, source, depth)]
        wrong += check_export(source, report.end_offset)
        if report.findings or wrong:
            found = advised((*report.findings, *wrong), source, report)
            report = msgspec.structs.replace(report, findings=sort_findings(without_changed_files(found)))
        if not report.findings or directory_signature(source.metadata) == before:
            break
    held = held_when_cut(port, str(source.metadata.parent), source.identity, report.last_epoch)
    return msgspec.structs.replace(report, held_when_cut=held) if held else report


def verify_file(path: Path, *, depth: Depth = Depth.REPLAY, files: Files | None = None) -> LogFacts:
    """Verify a single segment or checkpoint by itself.

    Raises:
        OSError: the file cannot be read.
    """
    port = OsFiles() if files is None else files
    source = NodeSource(path=path, node_id=None, metadata=path.parent)
    check = Verification(port, str(path.parent), source, depth=depth, probes=frozenset())
    if path.name.endswith(CHECKPOINT_SUFFIX):
        check.read_checkpoint(path.name)
    else:
        check.read_segments([int(path.name[:20])])
        check.check_reach(None)
    return check.report(None)
