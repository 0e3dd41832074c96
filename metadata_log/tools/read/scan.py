"""Reading a file of batches past its damage: what is sound, what is not, and where the sound part goes on.

Decides: which bytes are a sound batch, which are damaged, and that zeros up to the end of a file are neither (a writer
that claims space ahead leaves them). Must not know: offsets and epochs that would fit together; `log_recovery` refuses
where this goes on, because a node must stop there and an examiner must not.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Final

import msgspec

from metadata_log.errors import CorruptBatchError, UnsupportedBatchError
from metadata_log.files.port import FileHandle
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
    """In which way bytes are damaged."""

    CORRUPT = "corrupt"
    """They are not a sound batch: checksum, framing or counts."""
    TORN = "torn"
    """The file ends within a batch, and nothing sound follows: what a crash in the middle of a write leaves."""
    UNSUPPORTED = "unsupported"
    """A sound batch that is compressed, which no metadata log has."""


class Damage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Bytes `position` to `position + size` of a file; `base_offset` as their header has it, None where it has none.

    `is_destroyed`: they are at a file's end, and no write that a crash interrupted leaves them.
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
    handle: FileHandle, start: int = 0, end: int | None = None, budget: CheckBudget | None = None
) -> Iterator[LocatedBatch | Damage]:
    """Every sound batch and every damaged range of bytes `start` to `end` (the file's size), in order.

    `start` is the beginning of a batch. A batch's `buffer` is shared with its neighbours. `budget`: of the pass that
    this is a part of. Once it is spent, all the rest is damage.
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


def _load(handle: FileHandle, position: int, limit: int) -> bytes:
    """The bytes from `position`: a chunk, or as much as the batch there claims to have."""
    buffer = handle.pread(min(_CHUNK_BYTES, limit - position), position)
    claimed = LOG_OVERHEAD + int.from_bytes(buffer[8:12], "big", signed=True)
    if len(buffer) < claimed <= min(limit - position, LARGEST_BATCH):
        return handle.pread(claimed, position)
    return buffer


def _damage(
    handle: FileHandle,
    position: int,
    limit: int,
    error: CorruptBatchError | UnsupportedBatchError,
    budget: CheckBudget,
) -> Damage | None:
    """What is wrong at `position` and how far it reaches; None where zeros fill the rest."""
    claimed, base_offset = _claim(handle, position)
    if isinstance(error, UnsupportedBatchError):
        header = parse_header(handle.pread(HEADER_SIZE, position))
        what = str(UnsupportedBatchError.compressed(position, header.base_offset, header.compression))
        return Damage(position=position, size=claimed, fault=Fault.UNSUPPORTED, what=what, base_offset=base_offset)
    fits = 0 < claimed <= limit - position
    try:
        budget.spend(claimed if fits else 0)
        # Its length may be right though its content is not: then the next batch begins where it ends.
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


def _is_sound(handle: FileHandle, position: int, limit: int, budget: CheckBudget) -> bool:
    buffer = _load(handle, position, limit)
    try:
        check_batch(buffer)
    except (CorruptBatchError, UnsupportedBatchError):
        budget.spend(_checked(buffer))
        return False
    return True


def _checked(buffer: bytes) -> int:
    """Return how many bytes were checked of what begins a buffer."""
    claimed = LOG_OVERHEAD + int.from_bytes(buffer[8:12], "big", signed=True)
    return claimed if 0 < claimed <= len(buffer) else 0


def _claim(handle: FileHandle, position: int) -> tuple[int, int | None]:
    """The size and the base offset that a header at `position` claims; 0 and None where there is none."""
    try:
        header = parse_header(handle.pread(HEADER_SIZE, position))
    except (CorruptBatchError, UnsupportedBatchError):
        return 0, None
    return header.size_in_bytes, header.base_offset if header.base_offset >= 0 else None


_CLOSED: Final = (
    "no write that a crash interrupted ends a closed segment so; it hides nothing where the next segment begins at "
    "offset {due}"
)
_DESTROYED: Final = "this is no write that a crash interrupted: what stood there is lost"


def judged_tail(
    handle: FileHandle, damage: Damage, offset: int, epoch: int, *, may_be_torn: bool, is_last: bool
) -> Damage:
    """`damage`, as corrupt where it was taken for torn and cannot be: the file's last bytes, `offset` being due.

    `is_last`: no segment follows.
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
