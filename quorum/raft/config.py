"""The numbers that the core goes by, and what it is loaded from.

Decides: defaults (Kafka's `controller.quorum.*`, and ours) and what is a wrong value. Must not know: files, properties.
"""

from __future__ import annotations

import msgspec

from metadata_log.format.epochs import EpochHistory
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.voters import VoterHistory
from quorum.raft.ready import QuorumStateData


class RaftConfig(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """All times in ms, all sizes in bytes.

    Raises:
        ValueError: naming the field that is out of range.
    """

    election_timeout_ms: int = 1000
    """A replica without a leader waits this long, and up to as long again at random, before it asks for pre-votes."""
    fetch_timeout_ms: int = 2000
    """A follower that got no answer to its Fetches for so long asks for pre-votes."""
    election_backoff_max_ms: int = 1000
    """The longest wait after a lost election, and of a preferred successor further down the list."""
    request_timeout_ms: int = 2000
    retry_backoff_ms: int = 20
    """The wait before a failed request is sent again."""
    retry_backoff_max_ms: int = 500
    """The longest wait of a replica whose Fetches nobody answers with records, once the short ones have not helped."""
    id_taken_backoff_max_ms: int = 30_000
    """The longest wait of a replica whose node id the leader has: an operator has to act first."""
    suspicion_backoff_min_ms: int = 5
    """While the leader is suspected to be dead, a refused prospective asks again after so long, at random up to ..."""
    suspicion_backoff_max_ms: int = 20
    fetch_max_wait_ms: int = 500
    fetch_max_bytes: int = 8 * 1024 * 1024
    fetch_snapshot_max_bytes: int = 1024 * 1024
    """The largest piece of a snapshot that is asked for at once."""
    high_watermark_wait_ms: int = 10
    """Records that come within this time take a new high watermark along to the followers; otherwise it goes alone.
    Told at once (0), it would cost as many messages as the records, and meet the next ones halfway."""
    spare_fetch_wait_ms: int = 5
    """A batch goes at once to as many voters as it takes to commit it, and to all others after so long at the latest
    (0: at once, too)."""
    max_batch_bytes: int = 8 * 1024 * 1024
    max_parked_fetches: int = 10_000
    """One more is answered at once, empty."""
    max_observers: int = 10_000
    """Observers that the leader keeps progress of; those not heard of for five minutes make room."""

    @property
    def longest_wait_ms(self) -> int:
        """How long a Fetch may be parked: an idle leader's answer has to come before its request is given up."""
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
                f"{self.fetch_timeout_ms}, or a quiet leader would be taken for a dead one"
            )


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A snapshot that is whole and durable: the log's end that it stands for, and its size in bytes."""

    id: OffsetAndEpoch
    size: int


class StorageState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a replica finds on its disk when it starts: all of it durable.

    `quorum_state` is None where there is no such file yet. `end` is the log's end and last epoch; both 0 and -1 in an
    empty log. `snapshots` rise; where the log does not begin at 0, the first of them ends where it begins. All before
    `high_watermark` is committed, as far as the log reaches; 0 where that is not known.
    """

    quorum_state: QuorumStateData | None = None
    log_start_offset: Offset = Offset(0)
    end: OffsetAndEpoch = OffsetAndEpoch(offset=Offset(0), epoch=Epoch(-1))
    epochs: EpochHistory = EpochHistory()
    voters: VoterHistory
    snapshots: tuple[Snapshot, ...] = ()
    high_watermark: Offset = Offset(0)
