"""One replica's fence: the facts for `log_fence.judge`, the current hold, and the state on disk.

Decides: which responses are judged, when a hold ends, and when `committed-state` is written. Must not know: the rule,
or how responses travel. During a hold the core is given a failure for each such Fetch: it fetches again, and takes
nothing.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from metadata_log.directory import CommittedState
from metadata_log.ids import NodeId, TopicId
from metadata_log.image import MetadataImage
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from quorum.api.error_codes import Error
from quorum.api.raft_messages import CommittedBatch, FetchResponse
from quorum.node.core.effects import Effects
from quorum.node.core.log_fence import Hold, HoldReason, LeaderAndEpoch, Offered, OwnLog, judge, names_in
from quorum.node.core.named_batch import batch_at_cut
from quorum.node.core.opened import OpenedReplica
from quorum.node.core.ports import HoldChanged, PeerAnswered
from quorum.node.core.replica_context import ReplicaContext

_HELD: Final = "it held before this start, and the leader has not shown since that it has this log's committed records"
KEEP_EVERY_MS: Final = 1000
"""The shortest interval between two writes of the committed state, except with a checkpoint."""
KEEP_IDLE_EVERY_MS: Final = 60_000
"""The interval if only NoOps were committed since the last write: each write costs a sync."""


class Fence:
    """The fence of one executor."""

    def __init__(self, executor: ReplicaContext, opened: OpenedReplica, effects: Effects, *, keeps: bool) -> None:
        self.held: Hold | None = None
        self._is_told = True
        self._executor = executor
        self._effects = effects
        self._directory = opened.directory
        self._keeps = keeps
        self._named = effects.named = opened.named
        if keeps:
            effects.before_install = self._before_install
        self._kept = CommittedState(high_watermark=Offset(0)) if opened.committed is None else opened.committed
        if self._kept.held is not None:
            self.held = Hold(reason=HoldReason(self._kept.held), what=_HELD, own_id=self._kept.topic_id, other_id=None)
            self._is_told = False
        self._kept_ms = executor.clock.monotonic_ms
        self._is_idle = False
        """True if only NoOps are committed beyond what is kept."""
        self._seen_end = opened.replayer.end.offset
        self._kept_checkpoint = opened.checkpoints[-1].end if opened.checkpoints else None
        self._later: list[tuple[Offset, tuple[TopicId | None, ...]]] = []
        self._refused_snapshot: OffsetAndEpoch | None = None
        self._lower_since_ms: int | None = None
        self._names: tuple[TopicId | None, ...] = ()
        """Changes of the own id in the response that was judged last."""

    # --- answers

    def judge(self, event: PeerAnswered) -> Hold | None:
        """Return why the core must not see this response to Fetch, or None."""
        response = event.response
        if not isinstance(response, FetchResponse) or not self._executor.machine.awaits(event.correlation):
            return None
        offered = self._offered(event, response)
        self._names = offered.names
        hold = judge(self._own_log(), offered)
        if hold is None and (self._is_refused(response) or self._is_unproven(event, response)):
            return self.held
        return hold

    def ask_for_proof(self, event: PeerAnswered) -> bool:
        """Let the next Fetch name the batch before a cut; return False if no cut is wanted, or the leader has shown
        that batch.

        Equal offsets and epochs do not prove an equal batch: a quorum that was restored to an older copy uses epochs a
        second time. Kafka's protocol has no field for the batch, so leaders behind it are not asked.
        """
        response = event.response
        if not isinstance(response, FetchResponse) or response.diverging is None:
            return False
        if not self._is_leaders(event, response) or self._answers_no_names(response):
            return False
        batch, _ = self._before_cut(response.diverging)
        if batch is None or batch == self._named.sent:
            return False
        self._named.wanted = batch
        return True

    def _answers_no_names(self, response: FetchResponse) -> bool:
        return self._named.sent is not None and response.has_committed_batch is None

    def _before_cut(self, leader_end: OffsetAndEpoch) -> tuple[CommittedBatch | None, bool]:
        executor = self._executor
        return batch_at_cut(executor.log, executor.machine.truncation_for(leader_end), leader_end.epoch)

    def _is_refused(self, response: FetchResponse) -> bool:
        return response.snapshot_id is not None and response.snapshot_id == self._refused_snapshot

    def _is_unproven(self, event: PeerAnswered, response: FetchResponse) -> bool:
        """Return True if this leader's log once lacked committed records of this one, and is not proven to have them
        now.

        A log that grew since may reach this log's last offset and epoch with other records before it.
        """
        is_earlier = self._keeps and self.held is not None and self.held.reason is not HoldReason.OTHER_TOPIC
        return is_earlier and response.has_committed_batch is not True and self._is_leaders(event, response)

    def hold(self, hold: Hold, peer: str) -> None:
        """Enter a hold, or continue it. It is reported once for each reason."""
        before, self.held = self.held, hold
        is_told, self._is_told = self._is_told, True
        if not is_told or before is None or (before.reason, before.other_id) != (hold.reason, hold.other_id):
            self._keep_hold()
            self._executor.tell(HoldChanged(hold=hold, directory=self._directory, peer=peer))

    def on_taken(self, event: PeerAnswered, log_end_before: Offset) -> None:
        """The core has taken the leader's response, so a hold ends."""
        executor, response = self._executor, event.response
        if not isinstance(response, FetchResponse) or not self._is_leaders(event, response):
            return
        self._lower_since_ms = None
        if response.has_committed_batch:
            self._named.on_shown(event.destination_id, response.leader_epoch)
        if response.records and executor.machine.log_end_offset > log_end_before:
            self._note_names(executor.machine.log_end_offset)
        self._go_on(str(event.destination_id))

    def _go_on(self, peer: str) -> None:
        if self.held is not None:
            self.held = self._refused_snapshot = None
            self._keep_hold()
            self._executor.tell(HoldChanged(hold=None, directory=self._directory, peer=peer))

    def judge_snapshot(self, end: OffsetAndEpoch, image: MetadataImage) -> str | None:
        """Return why a received snapshot must not replace the log, or None. Its image may name another id."""
        named = image.topics.own_id
        offered = Offered(ids=() if named is None else (named,), end_wanted=end.offset)
        hold = judge(self._own_log(), offered)
        if hold is None:
            return None
        self._refused_snapshot = end
        self.hold(hold, str(self._executor.machine.leader_id))
        return hold.what

    def _own_log(self) -> OwnLog:
        executor = self._executor
        image_end = executor.image.offset_and_epoch.offset
        later = tuple(name for end, names in self._later if end > image_end for name in names)
        machine = executor.machine
        return OwnLog(
            ids=executor.topic_id_fence.own_ids,
            committed_end=machine.high_watermark,
            leader=_leader_of(machine.leader_id, machine.epoch),
            epoch=machine.epoch,
            names_later=later,
        )

    def _offered(self, event: PeerAnswered, response: FetchResponse) -> Offered:
        leader = _leader_of(response.leader_id, response.leader_epoch)
        if not self._is_leaders(event, response):
            return Offered(ids=response.own_ids, leader=leader, lower_for_ms=self._lower_for_ms(leader))
        sent, is_denied = self._named.sent, response.has_committed_batch is False
        self._named.wanted = None
        end_wanted: Offset | None = None
        has_other = is_denied and response.snapshot_id is None
        if response.diverging is not None:
            end_wanted = self._executor.machine.truncation_for(response.diverging)
            batch, is_inside = self._before_cut(response.diverging)
            has_other = is_inside or (is_denied and batch is not None and batch == sent)
        elif response.snapshot_id is not None:
            end_wanted = response.snapshot_id.offset
        own_id = next(iter(self._executor.topic_id_fence.own_ids), None)
        return Offered(
            ids=response.own_ids,
            end_wanted=end_wanted,
            leader=leader,
            lacks_committed=is_denied and self._named.is_committed(sent),
            has_other_batch=has_other,
            names=names_in(response.records, own_id),
        )

    def _lower_for_ms(self, leader: LeaderAndEpoch | None) -> int:
        machine, now_ms = self._executor.machine, self._executor.clock.monotonic_ms
        if not self._keeps or leader is None or leader.epoch >= machine.epoch:
            return 0
        if self._lower_since_ms is None:
            self._lower_since_ms = now_ms
        return now_ms - self._lower_since_ms

    def _is_leaders(self, event: PeerAnswered, response: FetchResponse) -> bool:
        machine = self._executor.machine
        is_of_epoch = response.error is Error.NONE and response.leader_epoch == machine.epoch
        return is_of_epoch and event.destination_id == machine.leader_id and machine.role == "follower"

    def _note_names(self, log_end: Offset) -> None:
        if self._names:
            self._later = [*self._later[-8:], (log_end, self._names)]

    def on_truncated(self, end_offset: Offset) -> None:
        """Discard the changes of ids past the new end of the log."""
        self._later = [each for each in self._later if each[0] <= end_offset]

    # --- what is kept

    def on_published(self, image: MetadataImage, no_ops: int) -> None:
        """Note that the image moved. `no_ops`: the number of new records that are known to be NoOps."""
        end = image.offset_and_epoch.offset
        self._is_idle = self._is_idle and end - self._seen_end <= no_ops
        self._seen_end = end

    def next_deadline_ms(self) -> int | None:
        """Return when `step` has something to write, or None if nothing is new."""
        return self._kept_ms + self._keep_every_ms if self._is_news else None

    @property
    def _keep_every_ms(self) -> int:
        return KEEP_IDLE_EVERY_MS if self._is_idle else KEEP_EVERY_MS

    def step(self, newest_checkpoint: OffsetAndEpoch | None) -> None:
        """Write the committed state at the end of a turn, if due. A leader follows no other log, so its hold ends."""
        if self._executor.machine.is_leader:
            self._go_on(str(self._executor.replica.node_id))
        if not self._is_news:
            return
        now_ms, has_checkpoint = self._executor.clock.monotonic_ms, newest_checkpoint != self._kept_checkpoint
        if has_checkpoint or now_ms >= self._kept_ms + self._keep_every_ms:
            self._kept_ms, self._kept_checkpoint = now_ms, newest_checkpoint
            self._keep()

    def _keep_hold(self) -> None:
        """Keep a hold on disk over a restart, unless its reason is another topic. No later response would show it
        again once the leader's log is longer."""
        is_kept = self.held is not None and self.held.reason is not HoldReason.OTHER_TOPIC
        held = self.held.reason.value if self.held is not None and is_kept else None
        if self._keeps and held != self._kept.held:
            self._keep(held=held)  # The topic id is kept too: a release after a restart needs it.

    def _before_install(self, end: Offset) -> None:
        """Note the snapshot's end before the snapshot replaces the log. Its content does not count as committed
        until then."""
        self._kept = msgspec.structs.replace(self._kept, received_end=end)
        self._effects.keep_committed(self._kept)

    def _keep(self, **changes: Any) -> None:
        self._kept = msgspec.structs.replace(
            self._kept,
            high_watermark=max(self._kept.high_watermark, self._executor.machine.high_watermark),
            topic_id=next(iter(self._executor.topic_id_fence.own_ids), self._kept.topic_id),
            **changes,
        )
        self._is_idle = True
        self._effects.keep_committed(self._kept)

    @property
    def _is_news(self) -> bool:
        return self._keeps and self._executor.machine.high_watermark > self._kept.high_watermark


def _leader_of(leader_id: int | None, epoch: Epoch) -> LeaderAndEpoch | None:
    return None if leader_id is None or leader_id < 0 else LeaderAndEpoch(leader_id=NodeId(leader_id), epoch=epoch)
