"""The advice on findings in a broker's replica of the metadata log, where it differs from a controller's.

Decides: which replica belongs to a node that is only a broker, and its advice. Must not know: how faults are found.

A broker has no vote to forget, and its topics' data may be in the same directory: it is never formatted or emptied. It
fetches a missing log from the controllers. If the broker's own log does not name the voters, those of other logs
count. If no log names them, the advice covers both roles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.errors import CorruptFileError
from metadata_log.files.os_files import OsFiles
from metadata_log.ids import ReplicaKey
from metadata_log.tools.findings.advice import (
    EMPTIED,
    KEEP_PROOF,
    KEEP_PROOF_FIRST,
    MAY_VOTE_TWICE,
    RESTORE,
    RESTORE_VOTES,
)
from metadata_log.tools.findings.finding import Finding, with_advice
from metadata_log.tools.findings.remedy import Advice, no_start
from metadata_log.tools.read.disks import is_brokers_disk
from metadata_log.tools.read.exported_partitions import read_exported_partitions
from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.verify.log_facts import LogFacts

REFETCH: Final = Advice(
    "look whether the controllers' logs are sound (kraft check on them): where none is, this copy may be the best that "
    "is left. Where they are, stop this broker, move its metadata log's directory (__cluster_metadata-0), whole, out "
    "of the log directory, and start the broker: it fetches the log again. Partitions that this log lacks are renamed "
    "to -stray, and stay"
)
KEEP_COPY: Final = Advice(
    f"remove nothing beside the log, no index either: these files are the proof of what it held; {REFETCH}. A copy "
    "that was made while the node ran may only hold its files as of different moments: copy again, the *.log files last"
)
EITHER: Final = no_start(
    f"{KEEP_PROOF}. That is a controller's, and nothing here says whether this broker is one, too. If it is not "
    f"(process.roles=broker): {REFETCH}"
)
EITHER_FIRST: Final = msgspec.structs.replace(EITHER, until_compared=True)
_OF_BROKERS: Final[Mapping[Advice, Advice]] = {
    EITHER: KEEP_COPY,
    EITHER_FIRST: KEEP_COPY,
    KEEP_PROOF: KEEP_COPY,
    KEEP_PROOF_FIRST: KEEP_COPY,
    RESTORE: REFETCH,
    RESTORE_VOTES: REFETCH,
    MAY_VOTE_TWICE: REFETCH,
    EMPTIED: Advice(""),
}
"""A broker's advice, by the advice that the checks give on any replica."""


def advised(
    found: Iterable[Finding], source: NodeSource, report: LogFacts, voters: Sequence[ReplicaKey] = ()
) -> list[Finding]:
    """Return the findings of a replica, with a broker's advice if the node is not a voter.

    Args:
        voters: those that other logs name, for a replica that names none itself.

    Raises:
        OSError: one of its disks cannot be listed.
    """
    listed = list(found)
    if all(_replaced(one, _OF_BROKERS) == one for one in listed) or not _is_broker(source):
        return listed
    voting = _voting(report, voters)
    if not voting:
        others: Mapping[Advice, Advice] = {KEEP_PROOF: EITHER, KEEP_PROOF_FIRST: EITHER_FIRST}
    else:
        others = {EITHER: KEEP_PROOF, EITHER_FIRST: KEEP_PROOF_FIRST} if source.node_id in voting else _OF_BROKERS
    return [_replaced(one, others) for one in listed]


def _replaced(found: Finding, others: Mapping[Advice, Advice]) -> Finding:
    return with_advice(found, found.remedy.with_other(others)) if isinstance(found.remedy, Advice) else found


def _voting(report: LogFacts, others: Sequence[ReplicaKey]) -> set[int]:
    """Return the node ids of the voters that its own directory names; if it names none, those of `others`."""
    keys = report.voters.voters if report.voters else report.static_voters
    voters = {int(voter.node_id) for voter in keys}
    voters |= {int(voter) for voter in (report.elections[-1].voters if report.elections else ())}
    return voters or {int(voter.node_id) for voter in others}


def _is_broker(source: NodeSource) -> bool:
    """Return True if a disk of the node holds or held partitions of topics. An export lists them in a file."""
    return source.node_id is not None and any(
        _lists_partitions(disk.path) or is_brokers_disk(OsFiles(), str(disk.path)) for disk in source.log_directories
    )


def _lists_partitions(path: Path) -> bool:
    """Return False for a damaged list, too: `export_files` reports it."""
    try:
        return bool(read_exported_partitions(path))
    except CorruptFileError:
        return False
