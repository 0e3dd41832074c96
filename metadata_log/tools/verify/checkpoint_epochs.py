"""Finds snapshot ids that the epochs in a log or in `leader-epoch-checkpoint` rule out.

Decides: whether the log or the file is the witness at an offset. Must not know: the content of a checkpoint.

A checkpoint of a later epoch than any in the log may be right: it was received, and the log is not yet replaced.
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
    """Return the epoch in `spans` that rules out that the record before `end.offset` is of `end.epoch`, or None.

    Epochs never fall along a log. So missing records are of an epoch from that of the record before them to that of
    the record behind them.
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
    """Yield the ends that the log rules out. Outside of the log's range, `leader-epoch-checkpoint` counts.

    Args:
        beside: the lines of `leader-epoch-checkpoint`.
    """
    lines = _spans_of(beside)
    # A file with one line that the log rules out is of another log, or corrupt: believe none of its lines.
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
