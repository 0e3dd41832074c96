"""Finds the offsets at which replicas' logs hold different batches.

Must not know: which side is right, and the records. The comparison is a stream: memory does not grow with the logs, and
only the ranges of offsets that differ are read again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec

from metadata_log.tools.read.batch_sums import BatchSums, Summed, ranges_apart

_Sides: TypeAlias = tuple[tuple[int, frozenset[int], int], ...]
"""For each side its epoch, its holders, and the index of the first side with the same checksum."""


class Held(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A batch that some replicas hold. `checksum`: the one in its header; None if it was not compared."""

    epoch: int
    holders: frozenset[int]
    checksum: int | None = None


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """One grouping of replicas into sides that hold different batches at the same offsets.

    Two sides have either equal checksums at all of these offsets, or at none.

    Attributes:
        offset: the first of these base offsets.
        end: the end of the last batch that differs, exclusive.
        count: the number of these base offsets.
        sides: by rising epoch; within one epoch, the side with the fewest holders first.
        places: file and position of the batch at `offset`, by replica.
    """

    offset: int
    end: int
    count: int
    sides: tuple[Held, ...]
    places: dict[int, tuple[str, int]]


def compare(logs: Sequence[BatchSums]) -> list[Conflict]:
    """Return the conflicts between these logs, by offset.

    Damage and gaps are skipped. So are batches of a segment that a running node removed after it was read.

    Raises:
        OSError: a segment cannot be read.
    """
    apart = list(ranges_apart(logs))
    streams = [log.batches(apart) for log in logs]
    heads: dict[int, Summed] = {}
    for index, stream in enumerate(streams):
        _advance(heads, index, stream)
    found: dict[_Sides, Conflict] = {}
    while len(heads) > 1:
        low = min(head[0] for head in heads.values())
        here = {index: head for index, head in heads.items() if head[0] == low}
        prints = {head[1:5] for head in here.values()}
        if len(prints) > 1:
            _note(found, low, here)
        for index in here:
            _advance(heads, index, streams[index])
    return sorted(found.values(), key=lambda conflict: conflict.offset)


def _advance(heads: dict[int, Summed], index: int, stream: Iterator[Summed]) -> None:
    following = next(stream, None)
    if following is None:
        heads.pop(index, None)
    else:
        heads[index] = following


def _note(found: dict[_Sides, Conflict], offset: int, here: dict[int, Summed]) -> None:
    holders: dict[tuple[int, ...], set[int]] = {}
    for index, head in here.items():
        holders.setdefault(head[1:5], set()).add(index)
    held = sorted(
        ((key[1], frozenset(indexes), key[2]) for key, indexes in holders.items()),
        key=lambda side: (side[0], len(side[1]), sorted(side[1])),
    )
    checksums = [checksum for _, _, checksum in held]
    sides = tuple((epoch, indexes, checksums.index(checksum)) for epoch, indexes, checksum in held)
    end = max(head[1] for head in here.values())
    known = found.get(sides)
    if known is None:
        found[sides] = Conflict(
            offset=offset,
            end=end,
            count=1,
            sides=tuple(Held(epoch=epoch, holders=indexes, checksum=checksum) for epoch, indexes, checksum in held),
            places={index: (head[5], head[6]) for index, head in here.items()},
        )
    else:
        found[sides] = msgspec.structs.replace(known, end=end, count=known.count + 1)
