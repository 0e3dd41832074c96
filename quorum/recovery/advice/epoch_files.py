"""A copy's `leader-epoch-checkpoint` that Kafka cannot read, beside a log that tells it anew.

Decides: which copies have one, and the step that mends it. Must not know: how it is written, and what else is wrong.
"""

from __future__ import annotations

from metadata_log.format.epoch_file import EPOCH_FILE
from quorum.recovery.advice.commands import Step, command, cut_line
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.copies.sidecar_files import Unread
from quorum.recovery.evidence.repair_evidence import Survey


def unread_epochs(copy: Copy) -> tuple[Unread, ...]:
    """Of newer software's nothing is known: that is not written over."""
    return tuple(one for one in copy.unread if one.is_epochs and not one.is_newer)


def rebuild_epochs(known: Survey) -> list[Step]:
    """What is done before a node starts beside such a file: no record is lost by it."""
    return [
        Step(
            text=f"{copy.label} does not start: {found.path}: {found.why}. Its log tells as much, and nothing is lost: "
            f"make {EPOCH_FILE} anew from it first",
            commands=(_line(known, copy),),
        )
        for copy in known.copies
        if copy.place.identity is not None and not copy.held_more and copy.passed_over is None
        for found in unread_epochs(copy)
    ]


def _line(known: Survey, copy: Copy) -> str:
    """Behind a torn write that is cut, it is made anew, too."""
    if copy.stop is not None:
        return f"{cut_line(known, copy)} --apply"
    return command("kraft", "recover", "rebuild-indexes", "--dir", copy.place.log_dir, "--apply")
