"""Which logs are replicas of one log, where the id of their cluster does not tell: two clusters may share it.

Decides: what tells them apart. Must not know: what is wrong with a log, and why it is asked.

Where both of two replicas have records, they have the same batches: of one log's first batches there the other has at
least one, however much is damaged or was never committed. Logs that share no offset may be replicas of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import dropwhile, islice
from typing import Final

import msgspec

from metadata_log.files.port import Files
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.read.log_reader import LogReader
from metadata_log.tools.verify.log_facts import LogFacts

_COMPARED: Final = 16
"""So many batches from where both have records."""


class _Batch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What tells a batch from others."""

    offset: int
    epoch: int
    crc: int


def are_kindred(files: Files, one: LogFacts, other: LogFacts) -> bool:
    """Whether nothing says that these are not replicas of one log."""
    start = max(one.start_offset, other.start_offset)
    if start >= min(one.end_offset, other.end_offset):
        return True
    ours, theirs = (set(islice(_batches_from(files, report, start), _COMPARED)) for report in (one, other))
    return not ours or not theirs or not ours.isdisjoint(theirs)


def _batches_from(files: Files, report: LogFacts, start: int) -> Iterator[_Batch]:
    bases = [int(path.rsplit("/", 1)[-1][:20]) for path in report.segments]
    first = max((number for number, base in enumerate(bases) if base <= start), default=0)
    # A segment that cannot be read, or that a running node has removed, shows nothing here.
    events = LogReader(files, report.segments[first:]).events(runs=False)
    headers = (event.header for event in events if isinstance(event, LocatedBatch))
    for header in dropwhile(lambda header: header.base_offset < start, headers):
        yield _Batch(offset=int(header.base_offset), epoch=int(header.partition_leader_epoch), crc=int(header.crc))


def kindred_groups(files: Files, reports: Sequence[LogFacts]) -> list[list[int]]:
    """The logs, by their numbers, in groups of those that may be replicas of one."""
    groups: list[list[int]] = []
    for number, report in enumerate(reports):
        own = (group for group in groups if all(are_kindred(files, report, reports[one]) for one in group))
        group = next(own, None)
        if group is None:
            groups.append([number])
        else:
            group.append(number)
    return groups
