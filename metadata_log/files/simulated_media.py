"""The contents and names of simulated files, each with its durable state and the changes since the last sync.

Decides: which prefix of unsynced changes survives a crash, by the given draws. Must not know: paths and calls.
"""

from __future__ import annotations

from collections.abc import Iterator

_MASK = (1 << 64) - 1


def draws_from(seed: int) -> Iterator[int]:
    """Yield 64-bit numbers from a seed without end (SplitMix64, whose definition has these constants)."""
    state = seed & _MASK
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _MASK
        mixed = state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        yield mixed ^ (mixed >> 31)


def up_to(draws: Iterator[int], most: int) -> int:
    """Return 0, `most`, or any number between, each with a probability of one third.

    So crashes that keep all changes or none are frequent.
    """
    choice = next(draws)
    if choice % 3 == 0:
        return 0
    return most if choice % 3 == 1 else next(draws) % (most + 1)


class Change:
    """One write (`data` at `position`) or, without data, a truncation to `position`."""

    __slots__ = ("data", "position")

    def __init__(self, position: int, data: bytes | None) -> None:
        self.position = position
        self.data = data

    def apply(self, content: bytearray, count: int | None = None) -> None:
        """Apply the change to `content`; `count` limits a write to its first bytes."""
        size = len(content)
        if self.data is None:
            if self.position < size:
                del content[self.position :]
            else:
                content.extend(bytes(self.position - size))
            return
        data = self.data if count is None else self.data[:count]
        if self.position > size:
            content.extend(bytes(self.position - size))
        content[self.position : self.position + len(data)] = data


class Inode:
    """A file's bytes as read now, as durable, and the changes between.

    Attributes:
        changed_from: the lowest position at which the durable bytes may have changed since a checker last set this to
            None.
    """

    def __init__(self) -> None:
        self.now = bytearray()
        self.durable = bytearray()
        self.pending: list[Change] = []
        self.changed_from: int | None = 0

    def sync(self) -> None:
        for change in self.pending:
            change.apply(self.durable)
            if self.changed_from is None or change.position < self.changed_from:
                self.changed_from = change.position
        self.pending.clear()

    def crash(self, draws: Iterator[int]) -> None:
        kept = up_to(draws, len(self.pending))
        for change in self.pending[:kept]:
            change.apply(self.durable)
        if kept < len(self.pending):
            torn = self.pending[kept]
            if torn.data and (count := up_to(draws, len(torn.data) - 1)) > 0:
                torn.apply(self.durable, count)
        self.pending.clear()
        self.now = bytearray(self.durable)
        self.changed_from = 0


class Directory:
    """A directory's current names, its durable names, and the changes between.

    Each change sets some names to inodes, or to None for a removal.
    """

    def __init__(self) -> None:
        self.now: dict[str, Inode] = {}
        self.durable: dict[str, Inode] = {}
        self.pending: list[dict[str, Inode | None]] = []

    def change(self, names: dict[str, Inode | None]) -> None:
        _set_names(self.now, names)
        self.pending.append(names)

    def sync(self) -> None:
        for names in self.pending:
            _set_names(self.durable, names)
        self.pending.clear()

    def crash(self, draws: Iterator[int]) -> None:
        for names in self.pending[: up_to(draws, len(self.pending))]:
            _set_names(self.durable, names)
        self.pending.clear()
        self.now = dict(self.durable)


def _set_names(entries: dict[str, Inode], names: dict[str, Inode | None]) -> None:
    for name, inode in names.items():
        if inode is None:
            entries.pop(name, None)
        else:
            entries[name] = inode
