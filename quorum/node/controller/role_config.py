"""The settings of the controller role."""

from __future__ import annotations

import msgspec


class RoleConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of a batch, of batches in flight and of waiting answers, and the default deadline of an answer."""

    max_batches_in_flight: int = 1
    """With so many uncommitted batches, requests gather for the next batch. Under load that makes few large batches,
    each with one sync and one Fetch of each replica, instead of many small ones. Without load no request waits."""
    max_records_per_batch: int = 10_000
    max_batch_bytes: int = 8 << 20
    max_waiting: int = 20_000
    default_timeout_ms: int = 30_000
