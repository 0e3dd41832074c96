"""The settings of the controller role."""

from __future__ import annotations

import msgspec


class RoleConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of a batch, of batches in flight and of waiting answers; and the wait of an answer without a deadline."""

    max_batches_in_flight: int = 1
    """While as many are appended and not committed, requests gather for the next: under load a few large batches, for
    which each replica pays one sync and one Fetch, instead of many small ones. Without load nothing waits."""
    max_records_per_batch: int = 10_000
    max_batch_bytes: int = 8 << 20
    max_waiting: int = 20_000
    default_timeout_ms: int = 30_000
