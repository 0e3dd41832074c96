"""The directories that a repair changes: one, or those of all voters of a new set.

Decides: which of several logs is the best, and whether each directory is its voter's. Must not know: where the repair
writes the voter set.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from metadata_log.files.port import Files
from metadata_log.storage.segment import segment_bases
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.copies.read_copies import read_copies
from quorum.recovery.evidence.judged_records import judged_evidence
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.guards.request import (
    files_in,
    refuse_broker,
    refuse_conflicts,
    refuse_damaged,
    refuse_nameless,
    refuse_strange_topic,
    refuse_unusable,
)
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.log_directories import Place, find_target
from quorum.recovery.journal.repair_record import refuse_pending
from quorum.recovery.repairs.new_log import is_just_opened


class Targets(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence, the directories to change, and the copy whose log all of them get."""

    known: RepairEvidence
    owned: tuple[Copy, ...]
    source: Copy

    @property
    def is_begun(self) -> bool:
        """Return True if an interrupted run of the same repair has written the source, but not yet the others."""
        return is_just_opened(self.source) and self.known.greatest_epoch == self.source.end.epoch


def read_target(files: Files, target: str, copies: Sequence[str]) -> tuple[RepairEvidence, Copy]:
    """Read the directory to change and the further copies. Return the evidence of all and the copy of that directory.

    Raises:
        RefusedError: a path is no copy, or the directory to change is in the middle of a repair.
        OSError: a copy cannot be read.
    """
    place = find_target(files, target)
    refuse_pending(files, place.log_dir)
    known = judged_evidence(files, read_copies(files, [target], copies))
    refuse_conflicts(known)
    own = next(copy for copy in known.copies if copy.place == place)
    refuse_strange_topic(own)
    return known, own


def read_targets(files: Files, targets: Sequence[str], copies: Sequence[str], named: Sequence[object]) -> Targets:
    """Read the directories of all voters of the new set `named`, and the further copies.

    Raises:
        RefusedError: none is named, a path is no log directory, none holds a log, or the best log is damaged.
        OSError: a copy cannot be read.
    """
    if not targets or not named:
        raise RefusedError("name the directories to change (--dir) and the new voters (--set)")
    places = [find_target(files, path) for path in targets]
    for place in places:
        refuse_pending(files, place.log_dir)
    blank = [place for place in places if not segment_bases(list(files_in(files, place.log_dir)))]
    with_log = [place for place in places if place not in blank]
    if not with_log:
        raise RefusedError("none of the --dir holds a metadata log: make one with `kraft recover from-broker` first")
    known = judged_evidence(files, read_copies(files, [place.metadata for place in with_log], copies))
    refuse_conflicts(known)
    owned = tuple(_owned(files, known, place, is_blank=place in blank) for place in places)
    source = max(owned, key=lambda copy: copy.rank)
    refuse_damaged(known, source)
    refuse_unusable(source)
    for copy in owned:
        refuse_strange_topic(copy)
        refuse_broker(copy)
        _refuse_foreign(known, owned, copy)
    return Targets(known=known, owned=owned, source=source)


def _owned(files: Files, known: RepairEvidence, place: Place, *, is_blank: bool) -> Copy:
    if is_blank:
        return read_copy(files, place, may_be_blank=True)
    return next(copy for copy in known.copies if copy.place == place)


def _refuse_foreign(known: RepairEvidence, owned: Sequence[Copy], copy: Copy) -> None:
    identity = refuse_nameless(copy.place)
    if known.cluster_id is not None and identity.cluster_id != known.cluster_id:
        raise RefusedError(
            f"{copy.label} is of cluster {identity.cluster_id}, and the others of {known.cluster_id}: name directories "
            "of one cluster only"
        )
    if [other.node_id for other in owned].count(copy.node_id) > 1:
        raise RefusedError(f"two --dir are of node {copy.node_id}: name one")
