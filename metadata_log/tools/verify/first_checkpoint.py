"""Checkpoints that are not what the log makes of the one that it begins with: which of them is the wrong one.

Decides: that it is the first where the log makes the later ones of each other. Must not know: what is said of them.
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
    """A checkpoint that says something else (`image`) than the log makes of the first one; `text` tells what."""

    report: CheckpointReport
    image: MetadataImage
    text: str
    topic_id: bytes | None


class SecondOpinion:
    """What the log makes of later checkpoints; `segments` are the paths of its segments, in order."""

    def __init__(self, files: Files, segments: Sequence[str]) -> None:
        self._files = files
        self._segments = segments

    def bears_out(self, images: Sequence[MetadataImage]) -> bool:
        """Whether there are several, and the log makes each of the one before it."""
        return len(images) > 1 and all(starmap(self._makes, pairwise(images)))

    def _makes(self, earlier: MetadataImage, later: MetadataImage) -> bool:
        made = self.at(earlier, int(later.offset_and_epoch.offset))
        return made is not None and later.says_the_same_as(made)

    def at(self, image: MetadataImage, end: int) -> MetadataImage | None:
        """What the log makes of an image until offset `end`; None where it cannot be replayed so far."""
        state = State(replayer=Replayer.start(image), quorum=Quorum())
        try:
            for batch in self._batches(state.end, end):
                state = state.after(batch)
        except (MetadataLogError, OSError):  # the pass over the log says what is wrong there
            return None
        return state.image if state.end == end else None

    def _batches(self, start: int, end: int) -> Iterator[LocatedBatch]:
        for path in self._segments:
            for found in readable_batches(self._files, Path(path)):
                if isinstance(found, Damage) or found.header.base_offset >= end:
                    return
                if found.header.base_offset >= start:
                    yield found
