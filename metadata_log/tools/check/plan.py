"""The files that a check reads, listed before any log is read, and the decision to read them again.

Decides: the files, and when they are read again. Must not know: how a log is read or judged.

Directories are read one after the other while nodes may write. So the first log may seem to lack records that the last
one has. If there is a finding and a log has changed, everything is read again, up to `_TRIES` times in all. In a quorum
that always writes, only the logs that seem to lack committed records are read again (`reread_lagging`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from metadata_log.tools.check.leaders import LEADER_BEHIND
from metadata_log.tools.check.metadata_hashes import probes_of
from metadata_log.tools.findings.finding import Finding
from metadata_log.tools.partitions.directories import HeldPartitions, list_partitions
from metadata_log.tools.read.consistent_read import directory_signature
from metadata_log.tools.read.readable import finding_of, only_readable
from metadata_log.tools.read.sources import NodeSource, Sources, find_sources

_TRIES: Final = 4


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The files that a check reads, listed before any log is read.

    Attributes:
        unread: a finding for each node that cannot be read.
        parents: the given directories that hold the directories of several nodes.
        held: the partition directories, listed before the logs are read (see `partitions.directories`).
        probes: the offsets at which the metadata of the logs is compared.
        signatures: the state of each log's directory, which shows a later change.
    """

    nodes: tuple[NodeSource, ...]
    files: tuple[Path, ...]
    unread: tuple[Finding, ...]
    parents: tuple[Path, ...]
    held: HeldPartitions
    probes: frozenset[int]
    signatures: tuple[object, ...]

    @property
    def logs(self) -> tuple[NodeSource, ...]:
        """The nodes with a metadata log; `Evidence` takes one replica for each."""
        return tuple(node for node in self.nodes if node.metadata is not None)


_Result = TypeVar("_Result")


def until_settled(
    paths: Sequence[Path], check: Callable[[Plan], _Result], is_sound: Callable[[_Result], bool]
) -> _Result:
    """Return the result of `check`, repeated if it has findings and a log changed meanwhile.

    Raises:
        SourceError: there is no metadata log at a path.
        OSError: a file cannot be read.
        CorruptFileError: a file that the check cannot do without is corrupt.
    """
    for _ in range(_TRIES):
        plan = _plan(only_readable(find_sources(paths, past_unreadable=True, with_bare=True)))
        result = check(plan)
        if is_sound(result) or _signatures(plan) == plan.signatures:
            break
    return result


def holding_now(plan: Plan, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return the findings, without the notes that hold only of logs at rest if a log of the plan has changed."""
    kept = tuple(found for found in findings if found.kind != LEADER_BEHIND)
    return findings if kept == findings or _signatures(plan) == plan.signatures else kept


def _signatures(sources: Sources | Plan) -> tuple[object, ...]:
    return tuple(directory_signature(node.metadata) for node in sources.nodes if node.metadata is not None)


def _plan(sources: Sources) -> Plan:
    return Plan(
        signatures=_signatures(sources),  # taken before anything is read, so that every later change shows
        nodes=sources.nodes,
        files=sources.files,
        unread=tuple(map(finding_of, sources.unread)),
        parents=sources.parents,
        probes=probes_of(sources.nodes) if len(sources.nodes) > 1 else frozenset[int](),
        held=list_partitions(sources.nodes),
    )
