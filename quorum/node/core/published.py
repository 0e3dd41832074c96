"""The committed image, advanced by the high watermark.

Decides: when an image is published, and how much replay one turn may do. Must not know: Raft, the network, files.

There are two ways to the next image. A leader has replayed the batches that it appended, and remembers the results
(`remember`). Any other replica replays the log up to the high watermark, in slices, so that a node that catches up
still sends heartbeats in between. Nothing beyond the high watermark is replayed here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from metadata_log.format.batch import batch_values, check_batch
from metadata_log.image import ImageChanges, MetadataImage, changes_between
from metadata_log.image.newer_release import check_known_levels
from metadata_log.image.older_release import check_low_level
from metadata_log.image.replayer import Replayer
from metadata_log.offsets import Offset
from metadata_log.storage.no_ops import is_no_op
from quorum.node.core.ports import ImagePublished

READ_BYTES = 1 << 20
RECORDS_A_SLICE = 400
"""About 2 ms of replay (DESIGN 3), counted in records because there is no clock here; a batch is never split."""

MOST_LAG = 10_000
"""From this many unreplayed committed records on, replay yields to nothing."""

ReadLog = Callable[[Offset, int], bytes | None]
"""Returns whole batches from an offset on, or None if the disk must read them; then they come through `on_read`."""


class Published:
    """The committed state as an image."""

    def __init__(
        self,
        replayer: Replayer,
        read: ReadLog,
        publish: Callable[[ImagePublished], None],
        *,
        records_a_slice: int = RECORDS_A_SLICE,
    ) -> None:
        self.replayer = replayer
        self.high_watermark = replayer.end.offset
        self._read = read
        self._publish = publish
        self._records_a_slice = records_a_slice
        self._remembered: deque[Replayer] = deque()
        self._buffer = b""
        self._position = 0
        self._is_reading = False

    @property
    def image(self) -> MetadataImage:
        """The newest committed image outside a transaction."""
        return self.replayer.image

    @property
    def end_offset(self) -> Offset:
        """The end of what is replayed. Inside a transaction it is beyond the image's end."""
        return self.replayer.end.offset

    @property
    def is_behind(self) -> bool:
        """True if a slice could replay something now, without waiting for the disk."""
        return self.replayer.end.offset < self.high_watermark and not (self._is_reading or self._remembered)

    def is_due(self, *, must_hurry: bool) -> bool:
        """Return True if a slice is due now. Replay yields to waiting requests until too much is left to replay."""
        if not self.is_behind:
            return False
        return not must_hurry or self.high_watermark - self.replayer.end.offset >= MOST_LAG

    def remember(self, replayer: Replayer) -> None:
        """Keep the image after a batch that this leader appended, to publish it once the batch commits."""
        self._remembered.append(replayer)

    def forget(self) -> None:
        """Discard the remembered images: leadership is lost or the log was cut, so appended records may be gone."""
        self._remembered.clear()
        self._drop_buffer()

    def reset(self, image: MetadataImage) -> None:
        """Continue from the image of a snapshot that replaced the log."""
        before = self.replayer.image
        self.forget()
        check_known_levels(image.features)
        self.replayer = Replayer.follow(image)
        self.high_watermark = max(self.high_watermark, image.offset_and_epoch.offset)
        self._check_low_level()
        changes = changes_between(before, image)
        after = self.replayer.image
        self._publish(ImagePublished(before=before, after=after, changes=(changes,), is_from_snapshot=True))

    def advance(self, high_watermark: Offset) -> None:
        """Note a new high watermark."""
        self.high_watermark = max(self.high_watermark, high_watermark)
        if self._remembered and self._remembered[0].end.offset <= high_watermark:
            self._publish_remembered()

    def step(self) -> None:
        """Replay one slice, if there is something to replay."""
        if not self.is_behind:
            return
        before, changes = self.replayer.image, []
        left = self._records_a_slice
        while left > 0 and self.is_behind and self._fill():
            left -= self._replay_batch()
            if self.replayer.image is not before:
                changes.append(self.replayer.changes)
        self._check_low_level()
        self._announce(before, changes)

    def _check_low_level(self) -> None:
        """Check the metadata.version at the end of what is committed; before it, a later record may still raise the
        level.

        Raises:
            OlderReleaseError: the level is too low for this software, so the node must stop.
        """
        if self.replayer.end.offset >= self.high_watermark:
            check_low_level(self.replayer.image.features.metadata_version)

    def on_read(self, data: bytes) -> None:
        """Take the batches that the disk has read."""
        if self._is_reading:
            self._is_reading = False
            self._buffer, self._position = data, 0

    def _fill(self) -> bool:
        if self._position < len(self._buffer):
            return True
        data = self._read(self.replayer.end.offset, READ_BYTES)
        if data is None:
            self._is_reading = True
            return False
        self._buffer, self._position = data, 0
        return True

    def _replay_batch(self) -> int:
        header = check_batch(self._buffer, self._position)
        is_empty = header.is_control or is_no_op(self._buffer, self._position, header)
        values = [] if is_empty else batch_values(self._buffer, header, self._position)
        if header.next_offset > self.replayer.end.offset:
            before = self.replayer.image.features
            self.replayer = self.replayer.on_batch(header, values)
            if self.replayer.image.features is not before:
                check_known_levels(self.replayer.image.features)
        self._position += header.size_in_bytes
        return 1 + len(values)

    def _publish_remembered(self) -> None:
        before, changes = self.replayer.image, []
        while self._remembered and self._remembered[0].end.offset <= self.high_watermark:
            self.replayer = self._remembered.popleft()
            changes.append(self.replayer.changes)
        self._drop_buffer()
        self._announce(before, changes)

    def _announce(self, before: MetadataImage, changes: list[ImageChanges]) -> None:
        if self.replayer.image is not before:
            self._publish(ImagePublished(before=before, after=self.replayer.image, changes=tuple(changes)))

    def _drop_buffer(self) -> None:
        self._buffer, self._position, self._is_reading = b"", 0, False
