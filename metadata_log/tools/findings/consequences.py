"""Folds findings that only follow from another finding under it, as its consequences.

Decides: which finding is the root of which. Must not know: how a finding was detected.

- A topic that must not be created is left out of replay. So its later records and its directories are wrong, too.
- A checkpoint that is not whole covers nothing: no checkpoint covers the log's start, though the file exists.
- An impossible record is left out of replay. So the image after it differs from checkpoints and other replicas. The
  quorum, the name and the end of a checkpoint do not depend on the image.
- A batch at the wrong offset in one log differs from the batch that other logs have at that offset.
- A batch with an impossible record at the end of one log is a tail that other logs lack. With it, the log seems to go
  on past an election that its node voted in.
- A log that is gone, emptied or damaged from its first batch on leaves its voter without a log. A log that ends at
  damage ends before what it once reached.
- Records that all logs have lost, as partition directories prove, are one loss: on every voter, and for each directory.
- A batch whose epoch was changed does not follow the batch before it, nor is it followed by the one behind it. The
  files beside the log deny that epoch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from metadata_log.storage.checkpoint import parse_checkpoint_name
from metadata_log.tools.findings.advice import KEEP_DIRECTORIES
from metadata_log.tools.findings.epoch_facts import ChangedEpoch, EpochWentBack
from metadata_log.tools.findings.facts import CheckpointFrame, EpochDiffers, LongerThanElected
from metadata_log.tools.findings.finding import Cause, Finding, Severity, with_advice
from metadata_log.tools.findings.kinds import FILE_CHANGED
from metadata_log.tools.findings.partition_facts import LostWithTheLogs

_REFUSED: Final = ("topic_name_reused", "topic_id_reused", "topic_id_null", "topic_id_sentinel")
_OF_ITS_TOPIC: Final = (
    "unknown_topic",
    "unknown_partition",
    "change_after_removal",
    "partition_repeated",
    "partition_gap",
    "topic_without_partitions",
    "config_of_nothing",
    "impossible_record",
    "partition_wrong_id",
    "partition_stale",
    "partition_beyond_logs",
)
_OF_THE_IMAGE: Final = ("checkpoint_disagrees", "metadata_differs")
_OF_FILES: Final = ("missing_checkpoint", *_OF_THE_IMAGE)
_OF_THE_EPOCH: Final = (
    "epoch_without_leader",
    "foreign_batch",
    "two_leaders",
    "epoch_file_wrong",
    "quorum_state_behind",
)
_MISPLACED: Final = ("offset_gap", "offset_repeated")
_OF_MISPLACED: Final = ("committed_prefix_differs", "log_mismatch", "uncommitted_tail")
_LOST_LOG: Final = ("log_missing", "corrupt_batch", "log_cut", "voter_without_log")
"""Kinds that say of one place that the log ends too early there, the likeliest root first."""
_SHOWN: Final = 20


def folded(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings; those that follow from another become consequences of their root."""
    every = list(findings)
    roots: dict[Finding, Finding] = {}
    refused, beside = _possible_roots(every)
    misplaced = {(one.file, one.position): one for one in every if one.kind in _MISPLACED}
    changed = [(one, one.facts) for one in every if isinstance(one.facts, ChangedEpoch)]
    follow = {**_impossible_tails(every), **_of_one_loss(every)}
    for one in every:
        of_epoch = [root for root, facts in changed if _directory(one) == _directory(root) and _is_of(facts, one)]
        if of_epoch:
            above = of_epoch
        elif one.kind in _OF_ITS_TOPIC:
            above = [root for root in refused.get(one.topic_id, ()) if not _is_before(one, root)]
            if not above and one in follow:
                above = [follow[one]]
        elif one.kind in _OF_FILES:
            above = [root for root in beside.get(_directory(one), ()) if root is not one and _follows(one, root)]
        elif one.kind in _OF_MISPLACED and (one.file, one.position) in misplaced:
            above = [misplaced[one.file, one.position]]
        elif one.kind in _LOST_LOG:
            above = _roots_of_lost_log(one, every)
        elif one in follow:
            above = [follow[one]]
        else:
            continue
        if above:
            roots[one] = min(above, key=lambda root: (root.file != one.file, root.node_id != one.node_id))
    children: dict[Finding, list[Finding]] = {}
    for one, root in roots.items():
        # A root may itself follow from another: consequences go to the first one, which alone is shown.
        first = root
        while first in roots:
            first = roots[first]
        children.setdefault(first, []).append(one)
    return [_with(one, children.get(one, ())) for one in every if one not in roots]


def _roots_of_lost_log(one: Finding, every: Iterable[Finding]) -> list[Finding]:
    """Return the root of a lost end: of the findings by which the log ends at this place, the gravest and likeliest.

    A voter that lost its whole log, and with it committed records, is one fault, too.
    """
    same = [other for other in every if _place_of(other) == _place_of(one)]
    found = sorted((other for other in same if other.kind in _LOST_LOG), key=_likelihood)
    if found[0] is not one:
        return found[:1]
    return [other for other in same if other.kind == "committed_lost" and one.kind == "voter_without_log"]


def _place_of(one: Finding) -> tuple[int | None, str | None, int]:
    return one.node_id, one.file, one.offset or 0


def _likelihood(one: Finding) -> tuple[int, int]:
    return list(Severity).index(one.severity), _LOST_LOG.index(one.kind)


def _impossible_tails(every: Sequence[Finding]) -> dict[Finding, Finding]:
    """Return the findings that follow from a tail that begins with an impossible record, each with that record's."""
    impossible = {
        (one.file, one.position): one
        for one in every
        if one.cause is Cause.RECORDS and one.severity is Severity.ERROR and (one.file or "").endswith(".log")
    }
    found: dict[Finding, Finding] = {}
    begin: dict[tuple[str | None, int | None], Finding] = {}
    for one in every:
        if one.kind == "uncommitted_tail" and (one.file, one.position) in impossible:
            found[one] = impossible[one.file, one.position]
            begin[_directory(one), one.offset] = found[one]
    for one in every:
        if isinstance(one.facts, LongerThanElected) and (_directory(one), one.offset) in begin:
            found[one] = begin[_directory(one), one.offset]
    return found


def _of_one_loss(every: Sequence[Finding]) -> dict[Finding, Finding]:
    """Return the findings on records that all logs have lost, as directories prove, each with the first voter's."""
    lost = [one for one in every if one.kind == "committed_lost"]
    beyond = [one for one in every if isinstance(one.facts, LostWithTheLogs)]
    return dict.fromkeys([*lost[1:], *beyond], lost[0]) if lost and beyond else {}


def without_changed_files(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings without `file_changed` for files on which another finding says more."""
    each = list(findings)
    named = {one.file for one in each if one.counts and one.kind != FILE_CHANGED}
    return [one for one in each if one.kind != FILE_CHANGED or one.file not in named]


def _may_be_root(one: Finding) -> bool:
    return one.cause is Cause.RECORDS or _end_by_name(one.file or "") > 0


def _possible_roots(
    every: Iterable[Finding],
) -> tuple[dict[str | None, list[Finding]], dict[str | None, list[Finding]]]:
    """Return the refused topics by their ids, and the possible roots in files by their directories."""
    refused: dict[str | None, list[Finding]] = {}
    beside: dict[str | None, list[Finding]] = {}
    for one in every:
        if one.severity is Severity.ERROR and _may_be_root(one):
            if one.kind in _REFUSED and one.topic_id is not None:
                refused.setdefault(one.topic_id, []).append(one)
            if one.file is not None:
                beside.setdefault(_directory(one), []).append(one)
    return refused, beside


def _directory(one: Finding) -> str | None:
    return None if one.file is None else one.file.rpartition("/")[0]


def _follows(one: Finding, root: Finding) -> bool:
    """Return True if `one` would not exist without `root`, a finding on a file in the same directory."""
    if one.kind == "missing_checkpoint":
        end = _end_by_name(root.file or "")
        return end > 0 and end >= (one.offset or 0) and root.kind not in _OF_THE_IMAGE
    is_left_out = root.cause is Cause.RECORDS and (root.file or "").endswith(".log")
    is_after = root.offset is None or one.offset is None or root.offset < one.offset
    return is_left_out and is_after and not isinstance(one.facts, CheckpointFrame)


def _is_of(changed: ChangedEpoch, one: Finding) -> bool:
    """Return True if a finding in the same directory would not exist without the batch whose epoch was changed."""
    if isinstance(one.facts, EpochWentBack):
        return changed.epoch == one.facts.after or (changed.epoch, changed.offset) == (one.facts.epoch, one.offset)
    if isinstance(one.facts, EpochDiffers):
        return one.facts.in_log == changed.epoch
    if one.kind == "epoch_without_leader" and one.epoch == changed.right:  # the changed batch had its LeaderChange
        return (one.offset or 0) > changed.offset
    return one.kind in _OF_THE_EPOCH and one.offset == changed.offset


def _end_by_name(file: str) -> int:
    """Return the end offset in a checkpoint's name; -1 for any other file."""
    end = parse_checkpoint_name(file.rpartition("/")[2])
    return -1 if end is None else int(end.offset)


def _is_before(one: Finding, root: Finding) -> bool:
    """Return True if both have an offset, and that of `one` is lower."""
    return one.offset is not None and root.offset is not None and one.offset < root.offset


def _with(root: Finding, children: Sequence[Finding]) -> Finding:
    if not children:
        return root
    said = [_sentence(one, root) for one in children[:_SHOWN]]
    if len(children) > _SHOWN:
        said.append(f"{len(children) - _SHOWN} more like these")
    if any(isinstance(one.facts, LostWithTheLogs) for one in children):
        root = with_advice(root, KEEP_DIRECTORIES)
    return msgspec.structs.replace(root, consequences=tuple(said))


def _sentence(one: Finding, root: Finding) -> str:
    parts = [one.kind]
    if one.node_id is not None and one.node_id != root.node_id:
        parts.append(f"node {one.node_id}")
    if one.file is not None and one.file != root.file:
        parts.append(one.file)
    if one.offset is not None:
        parts.append(f"offset {one.offset}")
    return f"{', '.join(parts)}: {one.meaning}"
