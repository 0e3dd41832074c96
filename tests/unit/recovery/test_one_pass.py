"""A copy's segments are read once: the checks and the valid prefix take the same events."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metadata_log.files.port import FileHandle
from metadata_log.tools.read import log_reader
from metadata_log.tools.read.fast_scan import Seen, walk
from metadata_log.tools.verify import checkpoint
from tests.support.repairs import load_nodes
from tests.unit.recovery.test_false_epochs import flip, of

ELECTION = 55
"""Offset of the LeaderChange of epoch 2, which a batch of this epoch follows."""


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The size of each segment that is read, each time that it is."""
    read: list[int] = []

    def counted(handle: FileHandle, start: int, end: int, **expected: object) -> Iterator[Seen]:
        read.append(end - start)
        return walk(handle, start, end, **expected)  # type: ignore[arg-type]

    monkeypatch.setattr(log_reader, "walk", counted)
    return read


def test_a_log_is_read_once(passes: list[int]) -> None:
    files = load_nodes("failovers", 1)
    copy = of(files, "/n1")

    assert copy.stop is None
    assert passes == [part.size for part in copy.prefix.segments]


def test_a_log_with_an_epoch_that_only_its_successor_denies_is_read_twice(passes: list[int]) -> None:
    files = load_nodes("dynamic-voters", 1)
    flip(files, "/n1", ELECTION, 1 << 20)
    copy = of(files, "/n1")

    assert copy.end.offset == ELECTION
    assert passes == [part.size for part in copy.prefix.segments] * 2


def test_the_checkpoint_that_a_copy_begins_with_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of its bytes takes the batches that the replay has read; it reads older checkpoints itself."""
    read: list[int] = []

    def counted(handle: FileHandle) -> Iterator[Seen]:
        read.append(handle.size())
        return walk(handle)

    monkeypatch.setattr(checkpoint, "walk", counted)
    copy = of(load_nodes("failovers", 12), "/n12")

    newest, *older = copy.prefix.checkpoints
    assert newest == copy.origin
    assert newest.size not in read
    assert {found.size for found in older} <= set(read)
