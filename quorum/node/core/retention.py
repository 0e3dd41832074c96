"""When a snapshot is taken, and how much of the log and of older snapshots is kept behind it (KIP-630).

Decides: exactly that, from sizes and times. Must not know: files, Raft.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from metadata_log.offsets import Offset
from metadata_log.storage.loaded_checkpoint import HeldCheckpoint

CLEAN_INTERVAL_MS: Final = 60_000
"""Retention is looked at so often, and after each snapshot: Kafka's interval."""


class SnapshotConfig(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Sizes in bytes, times in ms; Kafka's keys and defaults. A negative retention keeps everything."""

    max_new_record_bytes: int = 20 * 1024 * 1024
    """A snapshot is due once so much of the log, but for NoOps, has been replayed since the last
    (`metadata.log.max.record.bytes.between.snapshots`)."""
    or_as_the_newest: bool = False
    """And no earlier than so much as the newest snapshot has bytes. Where nobody has chosen a number: no more is then
    written in snapshots than to the log, however large the image is."""
    max_interval_ms: int = 3_600_000
    """Or once there is anything new but NoOps, and so much time has passed (`metadata.log.max.snapshot.interval.ms`).
    0: never."""
    max_no_op_bytes: int = 12 * 1024 * 1024
    """Or once NoOps alone have so many bytes: about once a day while the quorum is idle. Without that the log would
    keep its beginning, and a start would replay all NoOps."""
    retention_bytes: int = 100 * 1024 * 1024
    """Of the log and all snapshots together (`metadata.max.retention.bytes`). One snapshot always stays."""
    retention_ms: int = 7 * 24 * 3_600_000
    """A snapshot whose last record is older goes, where a newer one is there (`metadata.max.retention.ms`)."""
    settle_ms: int = 5_000
    """A node that is behind with it at its start takes none for so long: others wait for the node then, and in a
    cluster that starts anew each controller would write all that it has just read."""


def bytes_between(config: SnapshotConfig, held: Sequence[HeldCheckpoint]) -> int:
    """How much of the log is replayed between the newest of `held` and the next snapshot."""
    newest = held[-1].size if held and config.or_as_the_newest else 0
    return max(config.max_new_record_bytes, newest)


def choose_start(
    held: Sequence[HeldCheckpoint],
    log_size_from: Callable[[Offset], int],
    config: SnapshotConfig,
    *,
    start_offset: Offset,
    now_ms: int,
) -> HeldCheckpoint | None:
    """The snapshot at whose end the log should begin; None where it should stay as it is.

    `held` rise. `log_size_from` says how large the log would be if it began at an offset. The oldest snapshot goes as
    long as there is too much, or it is too old; the newest never does: as Kafka cleans.
    """
    at, total = 0, sum(each.size for each in held)
    begin = start_offset
    while at < len(held) - 1 and 0 <= config.retention_bytes < log_size_from(begin) + total:
        total -= held[at].size
        at += 1
        begin = held[at].end.offset
    while at < len(held) - 1 and 0 <= config.retention_ms < now_ms - held[at].last_contained_ms:
        at += 1
    return held[at] if at > 0 else None
