"""The metadata as it stood a while before a log's end: what a broker that wrote on since has had the time to act upon.

Decides: how long a while is, by the times in the log. Must not know: what is made of it.
"""

from __future__ import annotations

from typing import Final

from metadata_log.image import MetadataImage

SETTLED_MS: Final = 10_000
"""A broker makes a partition's directory within milliseconds of reading that it is committed."""
_STEP_MS: Final = 1_000


class SettledImage:
    """Is told of each batch before it is replayed; keeps a dozen images, which share nearly all that they hold."""

    def __init__(self) -> None:
        self._kept: list[tuple[int, MetadataImage | None]] = []
        self._now = -1

    def on_batch(self, timestamp_ms: int, image: MetadataImage | None) -> None:
        """A batch of this time follows; `image` is what was before it."""
        if not self._kept or self._now - self._kept[-1][0] >= _STEP_MS:
            self._kept.append((self._now, image))
            while len(self._kept) > 1 and self._kept[1][0] <= self._now - SETTLED_MS:
                del self._kept[0]
        self._now = max(self._now, timestamp_ms)

    @property
    def image(self) -> MetadataImage | None:
        """The last that stood `SETTLED_MS` before the last batch; None where none did."""
        old = [image for time, image in self._kept if 0 <= time <= self._now - SETTLED_MS]
        return old[-1] if old else None
