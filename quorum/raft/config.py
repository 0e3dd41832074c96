"""The settings of the core, and the durable state that it starts from.

Decides: defaults (Kafka's `controller.quorum.*` and further ones) and valid ranges. Must not know: files, properties.
"""

from __future__ import annotations

import msgspec

from metadata_log.format.epochs import EpochHistory
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.voters import VoterHistory
from quorum.raft.ready import QuorumStateData


class RaftConfig(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The settings. All times are in ms, all sizes in bytes.

    Raises:
        ValueError: a field is out of range.
    """

    election_timeout_ms: int = 1000
    """A replica without a leader waits from one to two of these, at random, before it asks for pre-votes."""
    fetch_timeout_ms: int = 2000
    """A voter whose Fetches get no response for this long asks for pre-votes."""
    election_backoff_max_ms: int = 1000
    """The longest wait after a lost election, and of a preferred successor further down the list."""
    request_timeout_ms: int = 2000
    retry_backoff_ms: int = 20
    """The wait before a failed request is sent again."""
    retry_backoff_max_ms: int = 500
    """The longest wait between Fetches that fail, after the short ones."""
    id_taken_backoff_max_ms: int = 30_000
    """The longest wait of a replica whose node id the leader also has: an operator has to act first."""
    suspicion_backoff_min_ms: int = 5
    """The shortest wait of a rejected prospective before it asks again, while it suspects the leader."""
    suspicion_backoff_max_ms: int = 20
    """The longest such wait; the wait is drawn between the two."""
    fetch_max_wait_ms: int = 500
    fetch_max_bytes: int = 8 * 1024 * 1024
    fetch_snapshot_max_bytes: int = 1024 * 1024
    """The largest chunk of a snapshot in one request."""
    high_watermark_wait_ms: int = 10
    """The longest delay of a new high watermark to followers: records that come meanwhile take it along.
    With 0 it leaves at once, and costs as many messages as the records."""
    spare_fetch_wait_ms: int = 5
    """The longest delay of a batch to voters that are not needed to commit it; 0 sends it to all at once."""
    max_batch_bytes: int = 8 * 1024 * 1024
    max_parked_fetches: int = 10_000
    """If so many Fetches are parked, the leader answers a further one at once, without records."""
    max_observers: int = 10_000
    """The observers whose progress the leader keeps. If there are more, silent ones are dropped after five minutes."""

    @property
    def longest_wait_ms(self) -> int:
        """The longest time to park a Fetch: the response must come before the request's own timeout."""
        return min(self.fetch_max_wait_ms, self.request_timeout_ms // 2)

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            least = 0 if name in ("high_watermark_wait_ms", "spare_fetch_wait_ms") else 1
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}: it must not be below {least}")
        if self.suspicion_backoff_min_ms > self.suspicion_backoff_max_ms:
            raise ValueError(
                f"suspicion_backoff_min_ms is {self.suspicion_backoff_min_ms}: it must not exceed "
                f"suspicion_backoff_max_ms, which is {self.suspicion_backoff_max_ms}"
            )
        if self.fetch_max_wait_ms >= self.fetch_timeout_ms:
            raise ValueError(
                f"fetch_max_wait_ms is {self.fetch_max_wait_ms}: it must be below fetch_timeout_ms, which is "
                f"{self.fetch_timeout_ms}, or followers would suspect a quiet leader"
            )


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A complete and durable snapshot: the end of the log prefix that it replaces, and its size in bytes."""

    id: OffsetAndEpoch
    size: int


class StorageState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The durable state with which a replica starts.

    `quorum_state` is missing before the first start. `end` is the log's end and last epoch; 0 and -1 in an empty log.
    `snapshots` rise; if the log does not begin at 0, it begins at the end of the first one. `high_watermark` is a
    committed end from before the restart, or 0 if unknown.
    """

    quorum_state: QuorumStateData | None = None
    log_start_offset: Offset = Offset(0)
    end: OffsetAndEpoch = OffsetAndEpoch(offset=Offset(0), epoch=Epoch(-1))
    epochs: EpochHistory = EpochHistory()
    voters: VoterHistory
    snapshots: tuple[Snapshot, ...] = ()
    high_watermark: Offset = Offset(0)
