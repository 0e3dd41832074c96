"""The epoch of a log that a repair has begun, as the audit files beside its directory tell.

Decides: which of them the log itself bears out, and which were not taken back. Must not know: what a repair
wrote besides.

At kraft.version 0 the batch of a repair is like that of any elected leader: only what lies beside the directory
tells one from the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from metadata_log.files import Files
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.tools.contents import EpochSpan
from quorum.recovery.journal import audits, standing, work_root_of
from quorum.recovery.places import Place


def told_repair(files: Files, place: Place, spans: Sequence[EpochSpan]) -> OffsetAndEpoch | None:
    """The last epoch in `spans` that a repair is said to have begun, at the very offset; None where there is none."""
    facts = [record.facts for record in audits(files, work_root_of(place.log_dir)).records]
    begun = {(said.get("new_epoch"), said.get("kept_end_offset")) for said in facts}
    for span in reversed(spans):
        if (span.epoch, span.start_offset) in begun:
            return OffsetAndEpoch(offset=Offset(span.start_offset), epoch=Epoch(span.epoch))
    return None


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A repair that an audit file tells of and nobody took back: of `log_dir`, which began `epoch`."""

    log_dir: str
    work_dir: str
    at: str
    epoch: int


def told_repairs(files: Files, roots: Iterable[str], cluster_id: str | None) -> Iterator[Told]:
    """Those of this cluster that the audit files below `roots` tell of, whatever the logs here say."""
    for root in sorted(set(roots)):
        records = audits(files, root).records if files.exists(root) and files.is_dir(root) else ()
        for one in standing(records):
            epoch = one.facts.get("new_epoch")
            if isinstance(epoch, int) and one.facts.get("cluster_id") == cluster_id:
                yield Told(log_dir=one.log_dir, work_dir=one.work_dir, at=one.at, epoch=epoch)
