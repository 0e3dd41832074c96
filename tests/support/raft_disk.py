"""A replica's disk in memory: a crash loses writes that are not flushed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from metadata_log.format.batch import check_batch, iter_batches
from metadata_log.format.epochs import EpochHistory
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.voters import VoterHistory
from quorum.raft.config import StorageState
from quorum.raft.control_batches import check_fetched
from quorum.raft.ready import AppendBatches, PersistQuorumState, QuorumStateData, TruncateLog, Write


@dataclass(frozen=True)
class Batch:
    """One batch of a log."""

    base: int
    end: int
    epoch: int
    data: bytes


def split(data: bytes) -> list[Batch]:
    """Return the batches in these bytes, each checked."""
    found = []
    for position, header in iter_batches(data):
        check_batch(data, position)
        whole = data[position : position + header.size_in_bytes]
        found.append(Batch(header.base_offset, header.next_offset, header.partition_leader_epoch, whole))
    return found


def apply_to(log: list[Batch], write: AppendBatches | TruncateLog) -> None:
    """Apply one log write, which must fit the log."""
    if isinstance(write, TruncateLog):
        while log and log[-1].base >= write.end_offset:
            log.pop()
        assert end_of(log) == write.end_offset, f"{write} does not end at a batch bound"
        assert (log[-1].epoch if log else -1) == write.epoch
        return
    assert write.base_offset == end_of(log), f"append at {write.base_offset} to a log that ends at {end_of(log)}"
    log.extend(split(write.data))
    assert end_of(log) == write.end_offset
    assert log[-1].epoch == write.epoch


def end_of(log: list[Batch]) -> int:
    """Return its log end offset."""
    return log[-1].end if log else 0


@dataclass
class Disk:
    """`durable` survives; `staged` is what a running process reads; `pending` holds the writes between them."""

    initial_voters: VoterHistory
    durable: list[Batch] = field(default_factory=list)
    durable_state: QuorumStateData | None = None
    staged: list[Batch] = field(default_factory=list)
    pending: list[Write] = field(default_factory=list)

    def stage(self, write: Write) -> None:
        """Take a write: readable at once, durable later."""
        if not isinstance(write, PersistQuorumState):
            apply_to(self.staged, write)
        self.pending.append(write)

    def flush(self, count: int) -> list[Write]:
        """Make the oldest `count` writes durable, and return them."""
        done, self.pending = self.pending[:count], self.pending[count:]
        for write in done:
            if isinstance(write, PersistQuorumState):
                self.durable_state = write.state
            else:
                apply_to(self.durable, write)
        return done

    def crash(self, chance: random.Random) -> None:
        """Lose the pending writes, except some of the oldest."""
        self.flush(chance.randint(0, len(self.pending)))
        self.pending = []
        self.staged = list(self.durable)

    def load(self) -> StorageState:
        """Return the state that a starting process reads."""
        epochs, voters = EpochHistory(), self.initial_voters
        previous = -1
        for batch in self.durable:
            epochs = epochs.assign(Epoch(batch.epoch), Offset(batch.base))
            fetched = check_fetched(
                batch.data,
                base_offset=Offset(batch.base),
                last_epoch=Epoch(previous),
                leader_epoch=Epoch(batch.epoch),
            )
            for offset, voter_set in fetched.voters:
                voters = voters.append(offset, voter_set)
            previous = batch.epoch
        return StorageState(
            quorum_state=self.durable_state,
            end=OffsetAndEpoch(offset=Offset(end_of(self.durable)), epoch=Epoch(previous)),
            epochs=epochs,
            voters=voters,
        )

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Return whole batches from `offset` on, at least one."""
        parts: list[bytes] = []
        size = 0
        for batch in reversed(self.staged):
            if batch.end <= offset:
                break
            parts.append(batch.data)
        parts.reverse()
        chosen: list[bytes] = []
        for part in parts:
            if chosen and size + len(part) > max_bytes:
                break
            chosen.append(part)
            size += len(part)
        return b"".join(chosen)
