"""The image from a while before the log's end: a broker that still wrote later has had the time to act upon it.

Decides: how long before. Must not know: partition directories.
"""

from __future__ import annotations

from typing import Final

from metadata_log.image import MetadataImage

SETTLED_MS: Final = 10_000
"""Ms before the log's last batch. A broker makes a partition's directory within ms of reading its committed record."""
_STEP_MS: Final = 1_000


class SettledImage:
    """Keeps about a dozen recent images, which share nearly all of their data."""

    def __init__(self) -> None:
        self._kept: list[tuple[int, MetadataImage | None]] = []
        self._now = -1

    def on_batch(self, timestamp_ms: int, image: MetadataImage | None) -> None:
        """Take the time of the next batch and the `image` before its replay."""
        if not self._kept or self._now - self._kept[-1][0] >= _STEP_MS:
            self._kept.append((self._now, image))
            while len(self._kept) > 1 and self._kept[1][0] <= self._now - SETTLED_MS:
                del self._kept[0]
        self._now = max(self._now, timestamp_ms)

    @property
    def image(self) -> MetadataImage | None:
        """The newest image that is at least `SETTLED_MS` older than the last batch, or None."""
        old = [image for time, image in self._kept if 0 <= time <= self._now - SETTLED_MS]
        return old[-1] if old else None
