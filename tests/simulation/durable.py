"""The least of a replica's log that a power cut right now would leave, updated as its disk works.

Decides: which batches are durable. Must not know: their meaning. It reads the simulated media, not the state of the
log's own code, and reads again only what has changed.
"""

from __future__ import annotations

from typing import NamedTuple

from metadata_log.errors import CorruptBatchError
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.files.simulated_media import Inode
from metadata_log.format.batch import check_batch


class BatchKey(NamedTuple):
    """The identity of a batch in any file."""

    base: int
    end: int
    epoch: int
    crc: int


class _SegmentView:
    def __init__(self, name: str, inode: Inode) -> None:
        self.name = name
        self.inode = inode
        self.ends: list[int] = []
        """Positions in the file where its batches end."""
        self.keys: list[BatchKey] = []


class DurableLog:
    """The durable log of one replica. `keys` are its batches in order; `added` and `removed` come from the last
    `refresh`."""

    def __init__(self, files: SimulatedFiles, directory: str) -> None:
        self._directory = files.media(directory)
        self._segments: list[_SegmentView] = []
        self._held: dict[int, BatchKey] = {}
        self._whole: dict[str, bool] = {}
        self.added: list[tuple[BatchKey | None, BatchKey]] = []
        """(the batch before it, the batch)"""
        self.removed: list[BatchKey] = []
        self.end = 0
        self.snapshot_end = 0
        """The end of the newest whole checkpoint: everything before it counts as durable here."""
        self.is_trusted = True
        """False once bits have flipped: the code under test decides what to do, which is not checked here."""

    def places_before(self, offset: int) -> list[tuple[str, int, int]]:
        """Return (file, start, end) of the batches that another follows in the same file, both before `offset`."""
        return self.places_between(0, offset)

    def places_between(self, first: int, last: int) -> list[tuple[str, int, int]]:
        """Return (file, start, end) of the batches from `first` to `last` that another follows in the same file.

        A file that was removed, though not durably, is left out: no process reads it.
        """
        return [
            (segment.name, ([0, *segment.ends])[at], segment.ends[at])
            for segment in self._segments
            if segment.name in self._directory.now
            for at, following in enumerate(segment.keys[1:])
            if first <= segment.keys[at].base and following.end <= last
        ]

    def holds(self, key: BatchKey) -> bool:
        """Return True if exactly this batch is durable here."""
        return self._held.get(key.base) == key or key.end <= self.snapshot_end

    @property
    def keys(self) -> list[BatchKey]:
        """Return all batches, in order."""
        return [key for segment in self._segments for key in segment.keys]

    def refresh(self) -> None:
        """Read the media again."""
        self.added.clear()
        self.removed.clear()
        if not self.is_trusted:
            return
        durable = self._directory.durable
        names = [name for name in durable if name.endswith(".log")]
        if len(names) > 1:
            names.sort()
        while self._segments and names and self._segments[0].name < names[0]:
            for key in self._segments.pop(0).keys:
                self._forget(key)
        for at, name in enumerate(names):
            if at < len(self._segments) and self._segments[at].inode is durable[name]:
                continue
            self._drop_segments(at)
            self._segments.append(_SegmentView(name, durable[name]))
        self._drop_segments(len(names))
        for at, segment in enumerate(self._segments):
            inode = segment.inode
            if inode.changed_from is not None:
                self._rewind(at, inode.changed_from)
                inode.changed_from = None
                self._read(at)
        last = next((segment.keys[-1] for segment in reversed(self._segments) if segment.keys), None)
        self.snapshot_end = self._newest_whole(durable)
        self.end = max(0 if last is None else last.end, self.snapshot_end)

    def _newest_whole(self, durable: dict[str, Inode]) -> int:
        """Return the end of the newest checkpoint whose durable bytes are valid batches to the end."""
        for name in sorted((name for name in durable if name.endswith(".checkpoint")), reverse=True):
            inode = durable[name]
            if inode.changed_from is not None:
                inode.changed_from = None
                self._whole[name] = _is_whole(inode.durable)
            if self._whole.get(name):
                return int(name[:20])
        return 0

    def _drop_segments(self, first: int) -> None:
        for segment in self._segments[first:]:
            for key in segment.keys:
                self._forget(key)
        del self._segments[first:]

    def _rewind(self, at: int, position: int) -> None:
        segment = self._segments[at]
        while segment.ends and segment.ends[-1] > position:
            segment.ends.pop()
            self._forget(segment.keys.pop())

    def _forget(self, key: BatchKey) -> None:
        if self._held.get(key.base) == key:
            del self._held[key.base]
        self.removed.append(key)

    def _read(self, at: int) -> None:
        segment = self._segments[at]
        data = segment.inode.durable
        position = segment.ends[-1] if segment.ends else 0
        before = segment.keys[-1] if segment.keys else self._last_before(at)
        size = len(data)
        while position < size:
            try:
                header = check_batch(data, position)
            except CorruptBatchError:
                return
            epoch, base = header.partition_leader_epoch, header.base_offset
            key = BatchKey(base, header.next_offset, epoch, header.crc)
            position += header.size_in_bytes
            segment.ends.append(position)
            segment.keys.append(key)
            self._held[base] = key
            self.added.append((before, key))
            before = key

    def _last_before(self, at: int) -> BatchKey | None:
        return next((segment.keys[-1] for segment in reversed(self._segments[:at]) if segment.keys), None)


def _is_whole(data: bytearray) -> bool:
    """Return True if these are valid batches to the last byte, the last one a control batch: a checkpoint's footer."""
    position, is_control = 0, False
    while position < len(data):
        try:
            header = check_batch(data, position)
        except CorruptBatchError:
            return False
        position += header.size_in_bytes
        is_control = header.is_control
    return position > 0 and is_control and position > header.size_in_bytes
