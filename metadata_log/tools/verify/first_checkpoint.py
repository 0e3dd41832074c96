"""Finds out which checkpoint is wrong if replay from the first checkpoint does not give the later ones.

Decides: the first is wrong if replay from each later checkpoint gives the next. Must not know: findings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, starmap
from pathlib import Path

import msgspec

from metadata_log.errors import MetadataLogError
from metadata_log.files.port import Files
from metadata_log.image import MetadataImage, Replayer
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.read.history import State, readable_batches
from metadata_log.tools.read.quorum import Quorum
from metadata_log.tools.read.scan import Damage
from metadata_log.tools.verify.checkpoint import CheckpointReport


class Doubt(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint whose `image` differs from the replay that began with the first; `text` names the difference."""

    report: CheckpointReport
    image: MetadataImage
    text: str
    topic_id: bytes | None


class SecondOpinion:
    """Replays the log from later checkpoints. `segments`: the paths of its segments, in order."""

    def __init__(self, files: Files, segments: Sequence[str]) -> None:
        self._files = files
        self._segments = segments

    def bears_out(self, images: Sequence[MetadataImage]) -> bool:
        """Return True if there are at least two images, and replay from each gives the next."""
        return len(images) > 1 and all(starmap(self._makes, pairwise(images)))

    def _makes(self, earlier: MetadataImage, later: MetadataImage) -> bool:
        made = self.at(earlier, int(later.offset_and_epoch.offset))
        return made is not None and later.says_the_same_as(made)

    def at(self, image: MetadataImage, end: int) -> MetadataImage | None:
        """Return the image at offset `end` after replay from `image`, or None if the log cannot be replayed so far."""
        state = State(replayer=Replayer.start(image), quorum=Quorum())
        try:
            for batch in self._batches(state.end, end):
                state = state.after(batch)
        except (MetadataLogError, OSError):  # the pass over the log reports this fault
            return None
        return state.image if state.end == end else None

    def _batches(self, start: int, end: int) -> Iterator[LocatedBatch]:
        for path in self._segments:
            for found in readable_batches(self._files, Path(path)):
                if isinstance(found, Damage) or found.header.base_offset >= end:
                    return
                if found.header.base_offset >= start:
                    yield found
