"""The committed image, moved along by the high watermark.

Decides: what is published when, and how much replay one turn may do. Must not know: Raft, the network, files.

Two ways lead to the next image: whoever appended a batch as leader has replayed it already and remembers the result
(`remember`); everybody else replays the log up to the high watermark, in slices, so that a node with much to catch up
on still answers heartbeats in between. Nothing beyond the high watermark is ever replayed here.
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
"""About 2 ms of replay (DESIGN 11), counted in records since there is no clock here; a batch is never split."""

MOST_LAG = 10_000
"""Records committed and not replayed from which on replay gives way to nothing."""

ReadLog = Callable[[Offset, int], bytes | None]
"""Whole batches from an offset on; None when they must come from the disk, and will through `on_read`."""


class Published:
    """What is committed, as an image."""

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
        """End of what is replayed; beyond the image's own inside a transaction."""
        return self.replayer.end.offset

    @property
    def is_behind(self) -> bool:
        """Whether a slice could do something now, without waiting for the disk."""
        return self.replayer.end.offset < self.high_watermark and not (self._is_reading or self._remembered)

    def is_due(self, *, must_hurry: bool) -> bool:
        """Whether to do a slice now. It gives way to what others wait for, until too much is left to do."""
        if not self.is_behind:
            return False
        return not must_hurry or self.high_watermark - self.replayer.end.offset >= MOST_LAG

    def remember(self, replayer: Replayer) -> None:
        """As leader: the outcome of a batch that was appended, to be published once it is committed."""
        self._remembered.append(replayer)

    def forget(self) -> None:
        """Leadership is lost, or the log was cut: what was appended may not stay."""
        self._remembered.clear()
        self._drop_buffer()

    def reset(self, image: MetadataImage) -> None:
        """A snapshot has taken the log's place: go on from its image."""
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
        """More is committed."""
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
        """Raise an error at a level that is too low; not before the end of what is committed, where a later one may be.

        Raises:
            OlderReleaseError: this node may not go on.
        """
        if self.replayer.end.offset >= self.high_watermark:
            check_low_level(self.replayer.image.features.metadata_version)

    def on_read(self, data: bytes) -> None:
        """The disk has read what `read` had to leave to it."""
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
