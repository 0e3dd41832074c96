"""The times of snapshots, and how much of the log and of older snapshots is kept (KIP-630).

Decides by sizes and times only. Must not know: files, Raft.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from metadata_log.offsets import Offset
from metadata_log.storage.loaded_checkpoint import HeldCheckpoint

CLEAN_INTERVAL_MS: Final = 60_000
"""The interval of retention, which also runs after each snapshot; as in Kafka."""


class SnapshotConfig(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Sizes in bytes, times in ms; Kafka's keys and defaults. A negative retention keeps everything."""

    max_new_record_bytes: int = 20 * 1024 * 1024
    """A snapshot is due after so many bytes of replayed log since the last one, without NoOps
    (`metadata.log.max.record.bytes.between.snapshots`)."""
    or_as_the_newest: bool = False
    """If True, a snapshot is due no earlier than after as many bytes as the newest one has. This applies if the
    operator sets no number. Snapshots then never write more than the log, however large the image is."""
    max_interval_ms: int = 3_600_000
    """A snapshot is also due after this time if any record but NoOps is new
    (`metadata.log.max.snapshot.interval.ms`). 0: never."""
    max_no_op_bytes: int = 12 * 1024 * 1024
    """A snapshot is also due after so many bytes of NoOps: about once a day while the quorum is idle. Otherwise the
    log would keep its beginning, and a start would replay all NoOps."""
    retention_bytes: int = 100 * 1024 * 1024
    """The most bytes of the log and all snapshots together (`metadata.max.retention.bytes`). One snapshot always
    stays."""
    retention_ms: int = 7 * 24 * 3_600_000
    """A snapshot whose last record is older is removed if there is a newer one (`metadata.max.retention.ms`)."""
    settle_ms: int = 5_000
    """How long a node whose snapshot is already due at its start takes none. Its peers wait for it then. After a
    restart of the whole cluster, each controller would write all that it has just read."""


def bytes_between(config: SnapshotConfig, held: Sequence[HeldCheckpoint]) -> int:
    """Return how many bytes of the log are replayed between the newest of `held` and the next snapshot."""
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
    """Return the snapshot at whose end the log should begin, or None if the log should stay.

    `held` are in rising order. `log_size_from` returns the size of the log if it began at an offset. The oldest
    snapshot is removed while the total is too large or it is too old; the newest always stays, as in Kafka.
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
