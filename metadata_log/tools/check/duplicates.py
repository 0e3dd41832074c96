"""Finds directories that share a directory id, and advises which one keeps it.

Decides: which directory keeps the id, by its owner in the log or by which copy of a node's disk is newer. Must not
know: how the directories were read.

Kafka's behaviour: a node does not start if two of its disks have one id. A controller rejects the registration of a
broker with a directory id of another broker. If two voters have one id, one of them uses the other's vote. A node whose
`meta.properties` lacks `directory.id` makes a new id when it starts (KIP-858), with which it is no voter (KIP-853).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.directory import META_PROPERTIES_FILE, MetaProperties
from metadata_log.ids import DirectoryId, id_text
from metadata_log.tools.findings.advice import AUDIT
from metadata_log.tools.findings.finding import Finding, Severity, finding
from metadata_log.tools.findings.remedy import Advice, no_start
from metadata_log.tools.read.sources import LogDirectory, NodeSource

_KEEPS: Final = "this one keeps the id: leave it as it is"
_AND_OTHERS: Final = ", and start none of the others that have it before they are set right"
_NEW_ID: Final = (
    "while its node is stopped, take the line directory.id out of its meta.properties: at the start the node makes a "
    "new one. A broker's replicas in it are assigned to the new id then; a voter has to be added again with it "
    "(kraft quorum add-controller, or Kafka's kafka-metadata-quorum), and until then it has no vote"
)
_OWN_ID: Final = (
    "while its node is stopped, write directory.id={own} into its meta.properties: the log has that id for node "
    "{node}, and no directory here has it. Is the directory no disk of that node at all, move it away, whole"
)
_COPY_OF_NODE: Final = (
    "never start both: they would vote, and register, as one node. Keep the one that the node ran on last, by its "
    "configured log.dirs; move the other away, whole, as evidence, or give it a new cluster id "
    "(`kraft docs runbooks/cloned-volume`)"
)


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """A directory with an id. `progress`: that of the metadata log in it (`progress_of`), or None without a log."""

    node: NodeSource
    disk: LogDirectory
    identity: MetaProperties
    progress: tuple[int, int, int] | None


def check_duplicates(holders: Sequence[Holder], owners: Mapping[DirectoryId, int]) -> Iterator[Finding]:
    """Yield a finding for each directory that shares its id; a note for the only one of the node that owns the id.

    `owners`: the node of each id, by the log.
    """
    by_id: dict[DirectoryId, dict[Path, Holder]] = {}
    for holder in holders:
        if holder.identity.directory_id is not None:
            by_id.setdefault(holder.identity.directory_id, {}).setdefault(holder.disk.path.resolve(), holder)
    for directory_id, places in by_id.items():
        for path, holder in places.items() if len(places) > 1 else ():
            others = [other for at, other in places.items() if at != path]
            names = " and ".join(str(other.disk.path) for other in others)
            mine = int(holder.identity.node_id)
            lost = [known for known, node_id in owners.items() if node_id == mine and known not in by_id]
            why, advice, severity = _judged(holder, others, owners.get(directory_id), lost)
            what = f"it has the directory id {id_text(directory_id)}, as {names} has; {why}"
            yield finding(
                "duplicate_directory_id",
                what,
                severity=severity,
                node_id=holder.node.node_id,
                file=str(holder.disk.path / META_PROPERTIES_FILE),
                advice=advice,
            )


def _judged(
    holder: Holder, others: Sequence[Holder], owner: int | None, lost: Sequence[DirectoryId]
) -> tuple[str, Advice | str, Severity]:
    """Return half a sentence on the id's owner, and the advice and the severity for this directory.

    Args:
        lost: ids that the log has for this node, but that no given directory has.
    """
    mine = int(holder.identity.node_id)
    rivals = [other for other in others if int(other.identity.node_id) == mine]
    if owner is not None and owner != mine:
        why = f"the log knows it as node {owner}'s, so that this one, of node {mine}, took it over"
        own_id = _OWN_ID.format(own=id_text(lost[0]), node=mine) if len(lost) == 1 else _NEW_ID
        return why, own_id, Severity.ERROR
    if not rivals:
        if owner is None:
            why = "the log names no owner of it: neither is a voter or a registered broker with it"
            return why, f"one of them is a copy. Of the copy: {_NEW_ID}", Severity.ERROR
        return f"the log knows it as node {owner}'s, which this one is of", f"{_KEEPS}{_AND_OTHERS}", Severity.NOTE
    if any(rival.node is holder.node for rival in rivals):
        why = f"both are disks of node {mine}, which does not start with both"
        return why, _of_two_disks(holder, rivals), Severity.ERROR
    return *_of_copies(holder, rivals, mine), Severity.ERROR


def _of_two_disks(holder: Holder, rivals: Sequence[Holder]) -> Advice | str:
    if holder.progress is not None and all(rival.progress is None for rival in rivals):
        return no_start(
            f"{_KEEPS}, and do not start the node before the other is set right. It holds the metadata log, and its id "
            "may be a voter's"
        )
    which = "the one whose partitions the log places there keeps the id ("
    return Advice(which, AUDIT, f" says which these are). Of the other: {_NEW_ID}")


def _of_copies(holder: Holder, rivals: Sequence[Holder], mine: int) -> tuple[str, Advice | str]:
    """Return half a sentence and the advice for copies of one node's disk.

    Both have the owner's id, so the log does not show which is the copy. But the node ran on with one of them only: its
    log or its `quorum-state` went further.
    """
    both = f"both are node {mine}'s, which is one and the same disk twice"
    ends = [rival.progress for rival in rivals]
    if holder.progress is None or not all(end is not None and are_in_order(holder.progress, end) for end in ends):
        return f"{both}, and nothing shows on which of them the node ran last", no_start(_COPY_OF_NODE)
    _, end, epoch = holder.progress
    place = f"its quorum-state is of epoch {epoch} and its log ends at offset {end}"
    if all(end is not None and holder.progress > end for end in ends):
        return (
            f"{both}: the node went on with this one ({place})",
            f"this one keeps the id, as it seems: {_COPY_OF_NODE}",
        )
    older = no_start(f"this is the older one, as it seems: {_COPY_OF_NODE}")
    return f"{both}: the node went on with the other ({place})", older


def are_in_order(one: tuple[int, int, int], other: tuple[int, int, int]) -> bool:
    """Return True if one of two copies went further, and its `quorum-state` is not of an earlier epoch.

    Each argument is the log's last epoch and end offset, and the epoch of `quorum-state`.
    """
    earlier, later = sorted((one, other))
    return earlier < later and earlier[2] <= later[2]
