"""Repairs recorded in the audit files next to directories, also if the directories themselves are gone.

Decides: which of them still apply, because no other repair has undone them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from metadata_log.files.port import Files
from quorum.recovery.journal.next_steps import Command
from quorum.recovery.journal.repair_record import JOURNAL_FILE, PREPARED, RepairRecord, again, audits, standing


class AuditedRepair(msgspec.Struct, frozen=True, kw_only=True):
    """A repair by its audit file, which no other repair has undone. It began `epoch` at `offset` in `log_dir`.

    `unfinished`: the command that finishes an interrupted repair, which then begins the epoch.
    """

    log_dir: str
    work_dir: str
    at: str
    epoch: int
    offset: int
    unfinished: Command | None = None


def audited_repairs(files: Files, roots: Iterable[str], cluster_id: str | None) -> Iterator[AuditedRepair]:
    """Yield the repairs of this cluster in the audit files below `roots`, whatever the logs here show."""
    for root in sorted(set(roots)):
        records = audits(files, root).records if files.exists(root) and files.is_dir(root) else ()
        yield from finished_repairs(records, cluster_id)


def finished_repairs(records: Iterable[RepairRecord], cluster_id: str | None) -> Iterator[AuditedRepair]:
    """Yield those of `records` that began an epoch of this cluster."""
    for one in standing(records):
        yield from _repair_of_epoch(one, cluster_id)


def unfinished_repairs(
    files: Files, records: Iterable[RepairRecord], cluster_id: str | None
) -> Iterator[AuditedRepair]:
    """Yield those of `records` that were interrupted and will begin an epoch of this cluster."""
    for one in records:
        if one.state == PREPARED and one.undoes is None and files.exists(f"{one.log_dir}/{JOURNAL_FILE}"):
            for repair in _repair_of_epoch(one, cluster_id):
                yield msgspec.structs.replace(repair, unfinished=again(one, one.log_dir))


def _repair_of_epoch(one: RepairRecord, cluster_id: str | None) -> Iterator[AuditedRepair]:
    epoch, offset = one.facts.new_epoch, one.facts.kept_end_offset
    if epoch is not None and offset is not None and one.facts.cluster_id == cluster_id:
        yield AuditedRepair(log_dir=one.log_dir, work_dir=one.work_dir, at=one.at, epoch=epoch, offset=offset)
