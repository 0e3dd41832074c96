"""Each disk's own `bootstrap.checkpoint`, which formatting puts on all of a node's disks.

Decides: which of them a start reads. Must not know: what such a file must hold (`verify_checkpoint`).
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from metadata_log.files import Files
from metadata_log.snapshot import BOOTSTRAP_CHECKPOINT
from metadata_log.tools.finding_advice import UNREAD_BOOTSTRAP
from metadata_log.tools.finding_sink import FindingSink
from metadata_log.tools.findings import Finding
from metadata_log.tools.sources import NodeSource
from metadata_log.tools.verify_checkpoint import verify_checkpoint
from metadata_log.tools.verify_depth import Depth


def check_bootstrap(files: Files, disk: str, sink: FindingSink, depth: Depth) -> None:
    """What is wrong with that of one disk, if it has one."""
    path = f"{disk}/{BOOTSTRAP_CHECKPOINT}"
    if not files.exists(path):
        return
    try:
        verify_checkpoint(files, path, sink, depth)
    except OSError as error:
        sink.add_unreadable(path, error)


def check_unread_bootstraps(files: Files, source: NodeSource, depth: Depth = Depth.REPLAY) -> Iterator[Finding]:
    """What is wrong with those of the disks without the metadata log: no start reads them."""
    read = None if source.metadata is None else source.metadata.parent
    sink = FindingSink(source.node_id)
    for disk in source.log_directories:
        if disk.path not in (read, source.metadata):
            check_bootstrap(files, str(disk.path), sink, depth)
    for found in sink.findings:
        yield msgspec.structs.replace(found, advice=UNREAD_BOOTSTRAP)
