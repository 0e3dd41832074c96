"""Compares the files of an export with its manifest. Must not know: the content of the files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from metadata_log.counts import counted
from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.errors import CorruptFileError
from metadata_log.tools.findings.advice import EXPORT_AGAIN
from metadata_log.tools.findings.finding import Finding, Severity, finding
from metadata_log.tools.findings.kinds import FILE_CHANGED
from metadata_log.tools.read.exported_partitions import read_exported_partitions
from metadata_log.tools.read.manifest import MANIFEST_FILE, ManifestFile, is_export, read_manifest
from metadata_log.tools.read.sources import NodeSource

_HASH_CHUNK: Final = 4 << 20


def check_export(source: NodeSource, end: int) -> Iterator[Finding]:
    """Yield the faults of an export as such; nothing for any other directory. `end`: the log end offset.

    Raises:
        CorruptFileError: the manifest is corrupt.
        OSError: the manifest or a file cannot be read.
    """
    if source.metadata is None or not is_export(source.metadata):
        return
    manifest = read_manifest(source.metadata)
    if manifest.cut_tail_bytes:
        what = f"the export left out {counted(manifest.cut_tail_bytes, 'byte')} of a write that was not finished"
        place = str(source.metadata / MANIFEST_FILE)
        yield finding("torn_tail", what, severity=Severity.NOTE, node_id=source.node_id, file=place, offset=end)
    try:
        read_exported_partitions(source.metadata)
    except CorruptFileError as error:
        yield finding("corrupt_file", error.what, node_id=source.node_id, file=error.path, advice=EXPORT_AGAIN)
    for one in manifest.files:
        path = source.metadata / one.name
        difference = _difference(path, one)
        if difference is not None:
            meaning = f"it differs from the manifest: {difference}"
            yield finding(FILE_CHANGED, meaning, node_id=source.node_id, file=str(path))


def check_manifests(nodes: Sequence[NodeSource]) -> Iterator[Finding]:
    """Yield a finding for each log without a manifest or node, if another log is an export.

    If none is an export, the logs were copied by hand, and no manifest is missing.
    """
    logs = [(node, node.metadata) for node in nodes if node.metadata is not None]
    if not any(is_export(metadata) for _, metadata in logs):
        return
    for node, metadata in logs:
        if node.identity is None and metadata.name != METADATA_DIRECTORY and not is_export(metadata):
            what = (
                f"it holds a metadata log and no {MANIFEST_FILE}: its node, its high watermark and the sums of its "
                "files are not known"
            )
            yield finding("manifest_missing", what, node_id=node.node_id, file=str(metadata))


def _difference(path: Path, named: ManifestFile) -> str | None:
    """Return how a file differs from its entry in the manifest, or None."""
    if not path.is_file():
        return "it is gone"
    size = path.stat().st_size
    if size != named.size:
        return f"it has {counted(size, 'byte')}, not {named.size}"
    digest = hashlib.sha256()
    with path.open("rb") as reading:
        while chunk := reading.read(_HASH_CHUNK):
            digest.update(chunk)
    return None if digest.hexdigest() == named.sha256 else "its sha256 is another"
