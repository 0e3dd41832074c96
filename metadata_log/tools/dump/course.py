"""The course of a dump through one file, past its damage: fast where all is intact, batch by batch elsewhere.

Decides: which damaged bytes are shown (batches whose only fault is their checksum, as in Kafka's tool), and which are
skipped. The dump continues at the next batch with a right checksum, as in `scan`. Must not know: the form of a shown
batch, or who reads about a flaw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final, TypeVar

import msgspec

from metadata_log.counts import counted, counted_are, offsets_are
from metadata_log.errors import CorruptBatchError, MetadataLogError, UnsupportedBatchError
from metadata_log.files.port import FileHandle
from metadata_log.format.batch import LARGEST_BATCH, BatchHeader, parse_header
from metadata_log.storage.torn_write import may_be_one_write
from metadata_log.tools.dump.pieces import PIECE_BYTES, Piece, pieces
from metadata_log.tools.read.scan import Damage, Fault, scan

REMOVED: Final = (
    "it was removed while the log was read, as a running node does with what its checkpoints cover: its records are "
    "not shown"
)
"""The flaw of a file that was listed but is gone when its turn comes."""
T = TypeVar("T")
_TRIES: Final = 2
"""The number of results of `scan` to look at: after a damaged range it continues only at an intact batch."""


class Flaw(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The fault of `size` bytes from `position`, and the offsets that are missing because of it.

    Attributes:
        shown: its batches are shown all the same: only their checksum is wrong.
        is_torn: probably an unfinished write at the end of the file.
        first_offset, end_offset: the missing offsets. The first is `None` if no batch before shows it; the second
            (exclusive) is `None` if no intact batch follows.
    """

    position: int
    size: int
    what: str
    shown: bool = False
    is_torn: bool = False
    first_offset: int | None = None
    end_offset: int | None = None

    def __str__(self) -> str:
        place = f"position {self.position}"
        if self.shown:
            return f"{place}: {self.what}; the {counted_are(self.size, 'byte')} shown all the same"
        if self.is_torn:
            return (
                f"{place}: the last {counted_are(self.size, 'byte')} an unfinished write ({self.what}); nothing is "
                "missing that was acknowledged, if the node was killed then; on a running node look again"
            )
        return f"{place}: {counted(self.size, 'byte')} skipped: {self.what}; {self._missing()}"

    def _missing(self) -> str:
        first, end = self.first_offset, self.end_offset
        if end is None:
            since = "" if first is None else f" from offset {first} on"
            return f"no sound batch follows: all{since} is missing"
        if first is None:
            return f"what was before offset {end} is missing"
        if end < first:
            return f"offset {first} was due, and it goes on at offset {end}, which is before it"
        return "no offset is missing" if end == first else f"{offsets_are(first, end - 1)} missing"


class Course:
    """The position of a dump in one file: `position` is where the next piece begins; at the end, `tail` is the rest in
    bytes.

    `is_lost` returns True if files beside this one prove that it lost its end; it is called only for a torn end.
    """

    def __init__(
        self,
        handle: FileHandle,
        size: int,
        first_offset: int | None = None,
        is_lost: Callable[[], bool] = lambda: False,
    ) -> None:
        self.position = 0
        self.tail: int | None = None
        self._handle = handle
        self._size = size
        self._due = first_offset
        self._is_lost = is_lost
        self._before: Piece | None = None

    @property
    def left(self) -> int:
        """The number of bytes still to come."""
        return self._size - self.position

    def is_rubbish(self) -> bool:
        """Return True if the file has bytes, but no intact batch."""
        found = scan(self._handle, 0, self._size)
        return self._size > 0 and all(isinstance(each, Damage) for each in islice(found, _TRIES))

    def pieces(self, start: int) -> Iterator[Piece]:
        """Yield the pieces from `start` on; `position` advances with them.

        Raises:
            CorruptBatchError: a length that no batch has.
        """
        self.position, self._before = start, None
        for piece in pieces(self._handle, self._size, start):
            yield piece
            self.position, self._before = piece.end, piece

    def past_trouble(self, show: Callable[[Piece], T], show_unsealed: Callable[[Piece], T]) -> Iterator[T | Flaw]:
        """Yield the content from `position`, where a piece is damaged or missing, up to the first intact batch after
        it.

        Args:
            show: shows a piece of one batch, or raises MetadataLogError if the batch is damaged.
            show_unsealed: the same, whatever its checksum.
        """
        self._take_up()
        waiting: list[Damage] = []
        met, least = False, self.position + PIECE_BYTES  #   # so that no piece is shown more than twice
        for found in scan(self._handle, self.position, self._size):
            if isinstance(found, Damage):
                waiting.append(found)
                continue
            yield from self._flaws(waiting, found.header.base_offset, show_unsealed)
            met, waiting = met or bool(waiting), []
            self.position = found.position
            if met and found.position >= least:
                return
            try:
                yield show(_piece(found.buffer, found.at, found.position, found.header))
            except MetadataLogError as error:
                met = True
                size = found.header.size_in_bytes
                yield Flaw(
                    position=found.position, size=size, what=_plain(error), first_offset=found.header.base_offset,
                    end_offset=found.header.next_offset,
                )  # fmt: skip
            self.position, self._due = found.position + found.header.size_in_bytes, found.header.next_offset
        read_to = waiting[-1].end if waiting else self.position
        if read_to < self._size:  #   # zeros up to the end, which `scan` skips: no writer claims space ahead
            zeros = Damage(position=read_to, size=self._size - read_to, fault=Fault.TORN, what="zeros")
            waiting.append(zeros)
        yield from self._flaws(waiting, None, show_unsealed)
        self.tail = self._size - self.position

    def _take_up(self) -> None:
        """Take the next offset from the last piece."""
        piece, self._before = self._before, None
        at = 0
        while piece is not None and at < piece.size:
            header = parse_header(piece.buffer, at)
            self._due = header.next_offset
            at += header.size_in_bytes

    def _flaws(
        self, waiting: list[Damage], following: int | None, show_unsealed: Callable[[Piece], T]
    ) -> Iterator[T | Flaw]:
        for index, damage in enumerate(waiting):
            is_last = index + 1 == len(waiting)
            end = following if is_last else waiting[index + 1].base_offset
            unsealed = self._unsealed(damage)
            try:
                shown = [show_unsealed(piece) for piece in unsealed]
            except MetadataLogError:
                shown = []
            yield from shown
            yield Flaw(
                position=damage.position,
                size=damage.size,
                what=damage.what,
                shown=bool(shown),
                is_torn=damage.fault is Fault.TORN and self._may_be_cut_short(damage),
                first_offset=self._due,
                end_offset=end,
            )
            self._due = parse_header(unsealed[-1].buffer).next_offset if shown else end
            if shown or following is not None or not is_last:
                self.position = damage.end

    def _may_be_cut_short(self, damage: Damage) -> bool:
        """Return True if this may be one interrupted write of the next batch, and nothing proves that the batch was
        whole."""
        due = self._due
        if due is not None and not may_be_one_write(self._handle, damage.position, damage.size, offset=due, epoch=0):
            return False
        return not self._is_lost()

    def _unsealed(self, damage: Damage) -> list[Piece]:
        """Return the batches that fill the damaged bytes, by their lengths; none if the lengths do not add up."""
        found: list[Piece] = []
        if damage.fault is not Fault.CORRUPT or damage.size > LARGEST_BATCH:
            return found
        buffer = self._handle.pread(damage.size, damage.position)
        at = 0
        while at < len(buffer):
            try:
                header = parse_header(buffer, at)
            except (CorruptBatchError, UnsupportedBatchError):
                return []
            if at + header.size_in_bytes > len(buffer):
                return []
            found.append(_piece(buffer, at, damage.position + at, header))
            at += header.size_in_bytes
        return found


def _piece(buffer: bytes, at: int, position: int, header: BatchHeader) -> Piece:
    size = header.size_in_bytes
    return Piece(position=position, size=size, buffer=buffer[at : at + size])


def _plain(error: MetadataLogError) -> str:
    return error.what if isinstance(error, CorruptBatchError) else str(error)
