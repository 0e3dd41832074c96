"""The epochs of a directory, and the ends of checkpoints that they rule out.

Decides: whose epochs count where. Must not know: what a checkpoint holds.

One of a later epoch than any that the log has may be right: it was received, and the log is not yet replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from metadata_log.format.epoch_file import EPOCH_FILE
from metadata_log.format.epochs import EpochStart
from metadata_log.offsets import Offset, OffsetAndEpoch
from metadata_log.tools.findings.facts import EpochDenied
from metadata_log.tools.read.contents import EpochSpan
from metadata_log.tools.verify.chain import ChainCheck


def epoch_instead(spans: Sequence[EpochSpan], end: OffsetAndEpoch) -> int | None:
    """Return an epoch of these that rules out a record of the epoch of `end` right before it, or None.

    Epochs rise along a log. So what is missing between two records is of their epochs, or of one between them.
    """
    if not spans or end.epoch > spans[-1].epoch:
        return None
    last = int(end.offset) - 1
    before = next((span.epoch for span in reversed(spans) if span.start_offset <= last), None)
    if before is not None and end.epoch < before:
        return before
    after = next((span.epoch for span in spans if span.end_offset > last), None)
    return after if after is not None and end.epoch > after else None


def denied_epochs(
    ends: Iterable[OffsetAndEpoch], chain: ChainCheck, beside: Sequence[EpochStart]
) -> Iterator[tuple[OffsetAndEpoch, EpochDenied]]:
    """Yield those of the ends that the log denies, or what `leader-epoch-checkpoint` has where the log says nothing.

    `beside`: its lines. Where the log denies one of them, it is no witness.
    """
    lines = _spans_of(beside)
    is_witness = all(epoch_instead(chain.spans, _first_of(line)) is None for line in beside)
    for end in ends:
        there, by = epoch_instead(chain.spans, end), "the log"
        if there is None and is_witness and not (chain.start or 0) < end.offset <= chain.end:
            there, by = epoch_instead(lines, end), EPOCH_FILE
        if there is not None:
            said = f"{by} has epoch {there} there"
            yield end, EpochDenied(end=int(end.offset), epoch=int(end.epoch), there=said)


def _spans_of(lines: Sequence[EpochStart]) -> list[EpochSpan]:
    ends = [*(int(line.start_offset) for line in lines[1:]), *(int(line.start_offset) + 1 for line in lines[-1:])]
    return [
        EpochSpan(epoch=int(line.epoch), start_offset=int(line.start_offset), end_offset=end)
        for line, end in zip(lines, ends, strict=True)
    ]


def _first_of(line: EpochStart) -> OffsetAndEpoch:
    """Return the end of the epoch's first record."""
    return OffsetAndEpoch(offset=Offset(line.start_offset + 1), epoch=line.epoch)
