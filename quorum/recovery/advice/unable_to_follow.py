"""Nodes that cannot follow the kept log from the log that they have.

Decides: which copies here are such nodes', and what is done about them. Must not know: which repair it is.

No replica truncates below its newest checkpoint, since a checkpoint holds committed records. Kafka then fails at each
start: "Attempt to truncate to offset ..., which is below the current high watermark ...". After a truncation, Apache
Kafka 4.3 does not read the control records that replace those it cut (KRaftControlRecordStateMachine,
truncateNewEntries). So a longer log would hide the new voters from its node.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from metadata_log.directory import METADATA_DIRECTORY
from quorum.recovery.advice.commands import set_log_aside_line
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.conflicts import joined_end
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.evidence.same_log import shows_one_log
from quorum.recovery.journal.next_steps import Step, step_of


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """A node that cannot follow. Its newest checkpoint ends at `offset`, past `kept`; without one, its log does."""

    label: str
    node_id: int | None
    offset: int
    kept: int
    is_checkpoint: bool

    def __str__(self) -> str:
        if self.kept == 0:
            return f"{self.label} cannot be compared with the kept log: whether it can follow is not known"
        if self.is_checkpoint:
            why = f"has a checkpoint that ends at offset {self.offset}, past {self.kept}, where the kept log"
            return f"{self.label} {why} diverges, and cannot go back below it"
        why = f"ends at offset {self.offset}, past the record of the new voters"
        return f"{self.label} {why}: Kafka then cuts its log, and overlooks that record"


def left_behind(
    known: RepairEvidence, kept: Copy, *, changed: Collection[str] = (), adds_voters: bool = True
) -> tuple[Left, ...]:
    """Return the nodes whose copies here cannot follow once the quorum goes on from `kept`.

    Args:
        changed: log directories that the repair itself changes.
        adds_voters: True if a repair writes a voter set at the end of `kept`. An earlier one may have done so, too.
    """
    voters_at = _voters_at(kept, adds_voters=adds_voters)
    found = []
    for copy in known.copies:
        if copy.place == kept.place or copy.place.log_dir in changed:
            continue
        common = joined_end(known.copies, kept, copy)
        newest = max((int(one.end.offset) for one in copy.prefix.checkpoints if not one.is_misnamed), default=0)
        is_told = common is not None and shows_one_log(kept, copy)
        common = 0 if common is None else common
        is_checkpoint = newest > common
        if not is_told or is_checkpoint or (voters_at is not None and common <= voters_at < copy.end.offset - 1):
            found.append(
                Left(
                    label=copy.label,
                    node_id=copy.node_id,
                    offset=newest if is_checkpoint else int(copy.end.offset),
                    kept=common,
                    is_checkpoint=is_checkpoint,
                )
            )
    return tuple(found)


def _voters_at(kept: Copy, *, adds_voters: bool) -> int | None:
    """Return the offset of the batch with the new voters, or None without one."""
    if kept.kraft_version == 0:
        return None
    if adds_voters:
        return int(kept.end.offset)
    return None if kept.repair is None else int(kept.repair.offset)


def warning_of(one: Left) -> str:
    """Return the warning about one of these nodes."""
    return f"{one}. Before it starts again, move its {METADATA_DIRECTORY} away (a broker fetches it again)"


def set_aside(left: Sequence[Left]) -> list[Step]:
    """Return the step for these nodes before they start again."""
    if not left:
        return []
    names = ", ".join(one.label for one in left)
    return [
        step_of(
            text=f"Stop {names}. Before {'any of them' if len(left) > 1 else 'it'} starts again, move its "
            f"{METADATA_DIRECTORY} away, on its own host: it cannot follow from there, and fetches the log again. A "
            "broker renames the topics that the kept log lacks to -stray, and keeps them",
            commands=(set_log_aside_line(),),
        )
    ]


def who_holds(end_offset: int) -> str:
    """Return a sentence about nodes that hold, because the kept log lacks records that they know to be committed."""
    return (
        f"agents hold (kraft_held) if they know records from offset {end_offset} on to be committed, and so do "
        "controllers with a checkpoint past it: `kraft agent release` lets such an agent follow. Such a controller's "
        "metadata log is moved aside, and formatted again with --no-initial-controllers"
    )
