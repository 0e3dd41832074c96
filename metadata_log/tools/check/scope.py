"""The kinds of findings that the given files cannot show, with the reason.

Decides: which kinds depend on which files. Must not know: how a finding is detected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from metadata_log.directory import META_PROPERTIES_FILE, PARTITION_METADATA_FILE, QUORUM_STATE_FILE
from metadata_log.format.epoch_file import EPOCH_FILE
from metadata_log.storage.segment import segment_bases, segment_file
from metadata_log.tools.findings.finding_kind import Cause
from metadata_log.tools.findings.kinds import KINDS
from metadata_log.tools.read.exported_partitions import PARTITIONS_FILE
from metadata_log.tools.read.manifest import is_export
from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.words import count_of, join_names

_OF_ITS_FILE: Final = {
    QUORUM_STATE_FILE: (
        "quorum_state_behind",
        "quorum_state_ahead",
        "two_votes",
        "vote_for_stranger",
        "vote_of_stranger",
        "vote_forgotten",
        "voter_set_back",
        "static_voters_differ",
    ),
    EPOCH_FILE: ("epoch_file_wrong",),
    PARTITION_METADATA_FILE: ("foreign_metadata_topic",),
}
"""Kinds of findings by the sidecar file that shows them."""
_INDEXES: Final = ("index_wrong", "index_remnant", "producer_file_wrong")
_OF_SEVERAL: Final = (
    "log_mismatch",
    "committed_prefix_differs",
    "metadata_differs",
    "uncommitted_tail",
    "nothing_in_common",
    "duplicate_directory_id",
)
_OF_IDENTITY: Final = ("foreign_cluster", "foreign_node", "not_the_voter", "no_majority_of_voters")
_OF_DISKS: Final = ("directory_not_registered", "disk_absent", "two_metadata_logs", "missing_directory_id")


class NotJudged(msgspec.Struct, frozen=True, kw_only=True):
    """Kinds of findings that were not judged, for some logs or for all; `reason` is half a sentence."""

    kinds: tuple[str, ...]
    reason: str


def not_judged_lines(parts: Sequence[NotJudged]) -> tuple[str, ...]:
    """Return one line for each reason."""
    return tuple(
        f"Not judged: {count_of(len(one.kinds), 'kind')} of findings ({one.reason}). "
        f"-o json lists {'it' if len(one.kinds) == 1 else 'them'}."
        for one in parts
    )


def kinds_not_judged(nodes: Sequence[NodeSource], brokers: Sequence[NodeSource]) -> tuple[NotJudged, ...]:
    """Return the kinds that could not be judged. `brokers`: the nodes whose partition directories were checked."""
    return tuple(_not_judged([node for node in nodes if node.metadata is not None], brokers))


def _not_judged(logs: Sequence[NodeSource], brokers: Sequence[NodeSource]) -> Iterator[NotJudged]:
    exports = [log for log in logs if log.metadata is not None and is_export(log.metadata)]
    for name, kinds in _OF_ITS_FILE.items():
        without = [log for log in exports if not _has(log, name)]
        if without:
            yield NotJudged(kinds=kinds, reason=f"{_exports_of(without)} without {name}")
    bare = [log for log in exports if not _has_index(log)]
    if bare:
        yield NotJudged(kinds=_INDEXES, reason=f"{_exports_of(bare)} without indexes")
    if exports:
        yield NotJudged(kinds=("partition_missing",), reason="an export lists one disk of its node")
    if exports and len(exports) == len(logs):
        yield NotJudged(kinds=_OF_DISKS, reason="an export says nothing of its node's other disks")
    unnamed = [log for log in logs if log.identity is None]
    if unnamed:
        names = join_names([str(log.path) for log in unnamed])
        yield NotJudged(kinds=_OF_IDENTITY, reason=f"there is no {META_PROPERTIES_FILE} that says whose {names} is")
    if len(logs) < 2:
        yield NotJudged(kinds=_OF_SEVERAL, reason="there is one log alone, and nothing to compare it with")
    if not any(_lists_partitions(node) for node in brokers):
        kinds = tuple(kind.name for kind in KINDS.values() if kind.cause is Cause.PARTITIONS)
        yield NotJudged(kinds=kinds, reason="there is no broker's log directory")


def _lists_partitions(broker: NodeSource) -> bool:
    """Return True unless all its directories are exports of an earlier release, which list no partitions."""
    return any(not is_export(disk.path) or (disk.path / PARTITIONS_FILE).exists() for disk in broker.log_directories)


def _has(log: NodeSource, name: str) -> bool:
    return log.metadata is not None and (log.metadata / name).is_file()


def _has_index(log: NodeSource) -> bool:
    """Return True if a segment of the log has an index, or the log has no segment."""
    if log.metadata is None:
        return False
    names = [path.name for path in log.metadata.iterdir()]
    bases = segment_bases(names)
    return not bases or any(segment_file(base, ".index") in names for base in bases)


def _exports_of(logs: Sequence[NodeSource]) -> str:
    names = join_names([log.label for log in logs])
    return f"the export of {names} is" if len(logs) == 1 else f"the exports of {names} are"
