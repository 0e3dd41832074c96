"""Whole commands in what is advised: where a finding is about a broker's partitions, with that broker's directories.

Decides: which directories those are. Must not know: what is found.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.tools.finding_advice import AUDIT
from metadata_log.tools.findings import Finding
from metadata_log.tools.sources import NodeSource

_PLACE: Final = "DIR..."


def with_places(findings: Iterable[Finding], nodes: Sequence[NodeSource]) -> Iterator[Finding]:
    """The findings, each audit that is advised with all log directories of the broker that it is about."""
    for found in findings:
        disks = _disks_of(found, nodes) if AUDIT in found.advice else ()
        named = AUDIT.replace(_PLACE, shlex.join(map(str, disks))) if disks else AUDIT
        yield msgspec.structs.replace(found, advice=found.advice.replace(AUDIT, named))


def _disks_of(found: Finding, nodes: Sequence[NodeSource]) -> tuple[Path, ...]:
    file = Path(found.file or "")
    for node in nodes:
        disks = tuple(disk.path for disk in node.log_directories)
        if any(file.is_relative_to(disk) for disk in disks):
            return disks
    return ()
