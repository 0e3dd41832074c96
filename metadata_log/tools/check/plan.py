"""All that a check reads, as it was found before any log was read, and until it holds still.

Decides: what is read, and when it is read again. Must not know: how a log is read or judged.

Running nodes write while they are read one after the other, so that the first may look as if it lacked what the last
has. When something is found and a log changed meanwhile, all is read again before anything is said; of a quorum that
never rests, the logs of those that seem to lack what is committed (`reread_lagging`).
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
    """All that a check reads, as it was found before any log was read.

    Attributes:
        unread: a finding for each node that cannot be read.
        parents: directories that hold several nodes, and were named in their place.
        held: listed before the logs are read (see `partitions.directories`).
        probes: the offsets at which the logs' metadata is compared.
        signatures: the state of each log's directory.
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
        """The nodes whose metadata log is there; `judge` takes a replica for each of these."""
        return tuple(node for node in self.nodes if node.metadata is not None)


_Result = TypeVar("_Result")


def until_settled(
    paths: Sequence[Path], check: Callable[[Plan], _Result], is_sound: Callable[[_Result], bool]
) -> _Result:
    """Return what `check` makes of these paths, again where it finds something and a log changed meanwhile.

    Raises:
        SourceError: there is no metadata log at one of them.
        OSError, CorruptFileError: nothing of it can be read.
    """
    for _ in range(_TRIES):
        plan = _plan(only_readable(find_sources(paths, past_unreadable=True, with_bare=True)))
        result = check(plan)
        if is_sound(result) or _signatures(plan) == plan.signatures:
            break
    return result


def holding_now(plan: Plan, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return the findings; if a log of the plan has changed since, without the notes that hold only of logs at rest."""
    kept = tuple(found for found in findings if found.kind != LEADER_BEHIND)
    return findings if kept == findings or _signatures(plan) == plan.signatures else kept


def _signatures(sources: Sources | Plan) -> tuple[object, ...]:
    return tuple(directory_signature(node.metadata) for node in sources.nodes if node.metadata is not None)


def _plan(sources: Sources) -> Plan:
    return Plan(
        signatures=_signatures(sources),  # first: what changes from here on is seen
        nodes=sources.nodes,
        files=sources.files,
        unread=tuple(map(finding_of, sources.unread)),
        parents=sources.parents,
        probes=probes_of(sources.nodes) if len(sources.nodes) > 1 else frozenset[int](),
        held=list_partitions(sources.nodes),
    )
