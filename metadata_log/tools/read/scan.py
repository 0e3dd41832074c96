"""A pass over a file of batches, past its damage: it yields intact batches and damaged ranges.

Decides: which bytes are an intact batch, and which are damaged. Zeros up to the end of a file are neither: a writer
that preallocates leaves them. Must not know: whether offsets and epochs fit together.

`log_recovery` refuses where this module goes on: a node must stop at damage, and an examiner must not.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Final

import msgspec

from metadata_log.errors import CorruptBatchError, UnsupportedBatchError
from metadata_log.files.port import ReadHandle
from metadata_log.format.batch import (
    HEADER_SIZE,
    LARGEST_BATCH,
    LOG_OVERHEAD,
    check_batch,
    parse_header,
)
from metadata_log.storage.segment import (
    CheckBudget,
    LocatedBatch,
    TooManyCandidatesError,
    next_sealed_batch,
    only_zeros,
)
from metadata_log.storage.torn_write import may_be_one_write

_CHUNK_BYTES: Final = 4 << 20


class Fault(enum.StrEnum):
    """The kind of damage."""

    CORRUPT = "corrupt"
    """No intact batch: checksum, framing or counts are wrong."""
    TORN = "torn"
    """The file ends within a batch, and nothing intact follows: a crash in the middle of a write leaves this."""
    UNSUPPORTED = "unsupported"
    """An intact batch that is compressed; no metadata log has such."""


class Damage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Bytes `position` to `position + size` of a file. `base_offset`: from their header, or None if they have no
    header.

    `is_destroyed`: they end the file, and no interrupted write leaves such bytes.
    """

    position: int
    size: int
    fault: Fault
    what: str
    base_offset: int | None = None
    is_destroyed: bool = False

    @property
    def end(self) -> int:
        return self.position + self.size


def scan(
    handle: ReadHandle, start: int = 0, end: int | None = None, budget: CheckBudget | None = None
) -> Iterator[LocatedBatch | Damage]:
    """Yield every intact batch and every damaged range of bytes `start` to `end` (default: the file's size), in order.

    `start` is the beginning of a batch. Neighbouring batches share one `buffer`. `budget` is that of the whole pass;
    once it is spent, the rest of the bytes is one damaged range.
    """
    limit = handle.size() if end is None else end
    spare = CheckBudget(limit - start) if budget is None else budget
    buffer, begin = b"", start
    position = start
    while position < limit:
        at = position - begin
        if not _holds_batch(buffer, at):
            buffer, begin, at = _load(handle, position, limit), position, 0
        try:
            header = check_batch(buffer, at)
        except (CorruptBatchError, UnsupportedBatchError) as error:
            damage = _damage(handle, position, limit, error, spare)
            if damage is None:
                return
            yield damage
            position = damage.end
            buffer = b""
            continue
        yield LocatedBatch(position=position, header=header, buffer=buffer, at=at)
        position += header.size_in_bytes


def _holds_batch(buffer: bytes, at: int) -> bool:
    if len(buffer) - at < HEADER_SIZE:
        return False
    return LOG_OVERHEAD + int.from_bytes(buffer[at + 8 : at + 12], "big", signed=True) <= len(buffer) - at


def _load(handle: ReadHandle, position: int, limit: int) -> bytes:
    """Return the bytes from `position`: a chunk, or more if the batch there claims to be larger."""
    buffer = handle.pread(min(_CHUNK_BYTES, limit - position), position)
    claimed = LOG_OVERHEAD + int.from_bytes(buffer[8:12], "big", signed=True)
    if len(buffer) < claimed <= min(limit - position, LARGEST_BATCH):
        return handle.pread(claimed, position)
    return buffer


def _damage(
    handle: ReadHandle,
    position: int,
    limit: int,
    error: CorruptBatchError | UnsupportedBatchError,
    budget: CheckBudget,
) -> Damage | None:
    """Return the damage at `position`, up to the next intact batch, or None if only zeros follow."""
    claimed, base_offset = _claim(handle, position)
    if isinstance(error, UnsupportedBatchError):
        header = parse_header(handle.pread(HEADER_SIZE, position))
        what = str(UnsupportedBatchError.compressed(position, header.base_offset, header.compression))
        return Damage(position=position, size=claimed, fault=Fault.UNSUPPORTED, what=what, base_offset=base_offset)
    fits = 0 < claimed <= limit - position
    try:
        budget.spend(claimed if fits else 0)
        # Even with corrupt content the length may be right: then the next batch begins at its end.
        if fits and (position + claimed == limit or _is_sound(handle, position + claimed, limit, budget)):
            return Damage(
                position=position, size=claimed, fault=Fault.CORRUPT, what=error.what, base_offset=base_offset
            )
        sealed = next_sealed_batch(handle, position + 1, limit, budget)
    except TooManyCandidatesError as spent:
        what = f"{error.what}; {spent}: what follows was not read"
        return Damage(position=position, size=limit - position, fault=Fault.CORRUPT, what=what)
    end = None if sealed is None else sealed[0]
    if end is None and only_zeros(handle, position, limit):
        return None
    torn = end is None and (not fits or only_zeros(handle, position + claimed, limit))
    return Damage(
        position=position,
        size=(limit if end is None else end) - position,
        fault=Fault.TORN if torn else Fault.CORRUPT,
        what=error.what,
        base_offset=base_offset,
    )


def _is_sound(handle: ReadHandle, position: int, limit: int, budget: CheckBudget) -> bool:
    buffer = _load(handle, position, limit)
    try:
        check_batch(buffer)
    except (CorruptBatchError, UnsupportedBatchError):
        budget.spend(_checked(buffer))
        return False
    return True


def _checked(buffer: bytes) -> int:
    """Return the size of the batch at the start of `buffer` if it is whole, otherwise 0: the bytes that a check has
    read."""
    claimed = LOG_OVERHEAD + int.from_bytes(buffer[8:12], "big", signed=True)
    return claimed if 0 < claimed <= len(buffer) else 0


def _claim(handle: ReadHandle, position: int) -> tuple[int, int | None]:
    """Return the size and the base offset in the header at `position`, or 0 and None if there is no valid header."""
    try:
        header = parse_header(handle.pread(HEADER_SIZE, position))
    except (CorruptBatchError, UnsupportedBatchError):
        return 0, None
    return header.size_in_bytes, header.base_offset if header.base_offset >= 0 else None


_CLOSED: Final = (
    "no write that a crash interrupted ends a closed segment so; it hides nothing where the next segment begins at "
    "offset {due}"
)
_DESTROYED: Final = "this is no write that a crash interrupted: what was there is lost"


def judged_tail(
    handle: ReadHandle, damage: Damage, offset: int, epoch: int, *, may_be_torn: bool, is_last: bool
) -> Damage:
    """Return `damage` at the end of a file, as corrupt if it was taken to be torn and no interrupted write leaves it.

    `offset` and `epoch` are the ones due next in the log. `is_last`: no segment follows.
    """
    if damage.fault is not Fault.TORN:
        return damage
    size = handle.size() - damage.position
    if may_be_torn and may_be_one_write(handle, damage.position, size, offset=offset, epoch=epoch):
        return damage
    if not is_last and only_zeros(handle, damage.position, handle.size()):
        what = f"{damage.what}; {_CLOSED.format(due=offset)}"
        return msgspec.structs.replace(damage, fault=Fault.CORRUPT, what=what)
    return msgspec.structs.replace(damage, fault=Fault.CORRUPT, what=f"{damage.what}; {_DESTROYED}", is_destroyed=True)
