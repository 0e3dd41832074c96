"""The planted bugs: each is one change of the real code that some seed must notice. `mutant_run` tries them."""

from __future__ import annotations

from typing import Final

from tests.simulation.admin_mutants import ADMIN_MUTANTS
from tests.simulation.fence_mutants import FENCE_MUTANTS
from tests.simulation.mutants_leader import LEADER_MUTANTS
from tests.simulation.planting import Mutant
from tests.simulation.snapshot_mutants import SNAPSHOT_MUTANTS
from tests.simulation.voter_mutants import VOTER_MUTANTS

_CORE: Final = (
    Mutant(
        name="a vote leaves before it is durable",
        module="quorum.raft.outbox",
        was="        gate = self._gate\n",
        becomes="        gate: int | None = None\n",
    ),
    Mutant(
        name="a restarted voter forgets its vote",
        module="quorum.raft.core",
        was="voted=_vote_in(persisted, me))\n",
        becomes="voted=None)\n",
    ),
    Mutant(
        name="the leader counts what it has not flushed",
        module="quorum.raft.replication",
        was="        own.log_end_offset = core.log.flushed_offset\n        maybe",
        becomes="        own.log_end_offset = core.log.end_offset\n        maybe",
    ),
    Mutant(
        name="a follower fetches before it has flushed",
        module="quorum.raft.fetching",
        was="    if not log.is_flushed:\n",
        becomes="    if not log:\n",
    ),
    Mutant(
        name="divergence is ignored",
        module="quorum.raft.log_state",
        was="        return None if end.epoch == epoch and offset <= end.offset else Diverging(end=end)\n",
        becomes="        return None if offset <= self.end_offset else Diverging(end=end)\n",
    ),
    Mutant(
        name="a follower truncates too little",
        module="quorum.raft.log_state",
        was="        return min(own.offset, leader_end.offset) if own.epoch == leader_end.epoch else own.offset\n",
        becomes="        return max(own.offset, leader_end.offset)\n",
    ),
    Mutant(
        name="a vote for a log that is behind",
        module="quorum.raft.elections",
        was="    is_up_to_date = candidate_end.is_at_least(core.log.end)\n",
        becomes="    is_up_to_date = candidate_end.offset >= 0\n",
    ),
    Mutant(
        name="logs are compared by length alone",
        module="metadata_log.offsets",
        was="(self.epoch, self.offset) >= (other.epoch, other.offset)",
        becomes="self.offset >= other.offset",
    ),
    Mutant(
        name="two votes in an epoch",
        module="quorum.raft.elections",
        was="        return _is_same(core.standing.voted, candidate) and core.role is not Role.FOLLOWER\n",
        becomes="        return core.role is not Role.FOLLOWER\n",
    ),
    Mutant(
        name="one replica is a majority of logs",
        module="quorum.raft.replication",
        was="    committed = offsets[len(offsets) - core.members.majority]\n",
        becomes="    committed = offsets[-1]\n",
    ),
    Mutant(
        name="a minority elects",
        module="quorum.raft.states",
        was="        return len(self.granted) >= self.majority\n",
        becomes="        return len(self.granted) >= self.majority - 1\n",
    ),
    Mutant(
        name="the high watermark rises in an old epoch",
        module="quorum.raft.replication",
        was="    if committed <= leader.epoch_start_offset or not core.log.advance_high_watermark(committed):\n",
        becomes="    if not core.log.advance_high_watermark(committed):\n",
    ),
    Mutant(
        name="a follower believes any high watermark",
        module="quorum.raft.follower",
        was="    log = core.log\n    target = log.truncation_for(leader_end)\n",
        becomes="    log = core.log\n    log.advance_high_watermark(log.end_offset)\n"
        "    target = log.truncation_for(leader_end)\n",
    ),
    Mutant(
        name="a voter without a leader asks for no election",
        module="quorum.raft.elections",
        was="    elif deadline_ms <= core.now_ms:\n        transition_to_prospective(core)\n",
        becomes="    elif deadline_ms <= core.now_ms:\n        state.election_deadline_ms = None\n",
    ),
    Mutant(
        name="a follower that leaves the leader's log truncates nothing",
        module="quorum.raft.follower",
        was="        is_sound = _truncate(core, response.diverging)\n",
        becomes="        is_sound = True\n",
    ),
)

_EXECUTOR: Final = (
    Mutant(
        name="effects do not wait for their write",
        module="quorum.node.core.effects",
        was="            self._hold(token, effect)\n",
        becomes="            self._do(effect)\n",
    ),
    Mutant(
        name="answered before commit",
        module="quorum.node.controller.role",
        was="        if result.records or offset > self._executor.image.offset_and_epoch.offset:\n",
        becomes="        if offset < 0:\n",
    ),
    Mutant(
        name="a waiting answer leaves one offset early",
        module="quorum.node.controller.role",
        was="        for answer in self._commits.take_reached(end):\n",
        becomes="        for answer in self._commits.take_reached(end + 4):\n",
    ),
    Mutant(
        name="a lost leadership keeps its uncommitted images",
        module="quorum.node.core.published",
        was="        self._remembered.clear()\n        self._drop_buffer()\n",
        becomes="        self._drop_buffer()\n",
    ),
    Mutant(
        name="a leader publishes what is not committed yet",
        module="quorum.node.core.published",
        was="        while self._remembered and self._remembered[0].end.offset <= self.high_watermark:\n",
        becomes="        while self._remembered:\n",
    ),
    Mutant(
        name="an image is dated by its first request, not by its batch",
        module="quorum.node.controller.tail",
        was="staged[-1].dated(wall_ms)\n",
        becomes="staged[-1]\n",
    ),
    Mutant(
        name="a NoOp is written while commits are stuck",
        module="quorum.controller.periodic_tasks",
        was="        return is_idle and all_committed\n",
        becomes="        return is_idle\n",
    ),
    Mutant(
        name="a read is answered below the offset it asks for",
        module="quorum.node.controller.role",
        was="        if is_at_least and call.at_least_offset <= self._executor.image.offset_and_epoch.offset:\n",
        becomes="        if is_at_least:\n",
    ),
)

_LOG: Final = (
    Mutant(
        name="a flush that syncs nothing",
        module="metadata_log.storage.log_writer",
        was="            self._handle.fdatasync()\n            self.syncs += 1\n            self._dirty",
        becomes="            self.syncs += 1\n            self._dirty",
    ),
    Mutant(
        name="truncate without sync",
        module="metadata_log.storage.log_writer",
        was="        handle.truncate(step.size)\n        handle.fdatasync()\n",
        becomes="        handle.truncate(step.size)\n",
    ),
    Mutant(
        name="a new segment's name is not synced",
        module="metadata_log.storage.log_writer",
        was="        self._base = base\n        self._files.fsync_dir(self._directory)\n",
        becomes="        self._base = base\n",
    ),
    Mutant(
        name="a segment is rolled before it is synced",
        module="metadata_log.storage.log_writer",
        was="    def _roll(self, step: Roll) -> None:\n        self._sync()\n",
        becomes="    def _roll(self, step: Roll) -> None:\n        self._write()\n",
    ),
    Mutant(
        name="an epoch is not written down before its first batch",
        module="metadata_log.storage.file_log",
        was="            steps.append(SaveEpochs(epochs=self._epochs))\n",
        becomes="            pass\n",
    ),
    Mutant(
        name="memory keeps the epochs of what was cut",
        module="metadata_log.format.epochs",
        was="if entry.start_offset < end_offset)",
        becomes="if entry.start_offset <= end_offset)",
    ),
    Mutant(
        name="the cache forgets what is not written yet",
        module="metadata_log.storage.tail_cache",
        was="        while self._size > self._limit_bytes and self._ops[self._first].executed:\n",
        becomes="        while self._size > self._limit_bytes and len(self._ops) > self._first + 1:\n",
    ),
    Mutant(
        name="a torn tail is accepted",
        module="metadata_log.storage.segment",
        was="            header = check_batch(buffer, at)\n",
        becomes="            header = parse_header(buffer, at)\n",
    ),
    Mutant(
        name="recovery promises what it has not synced",
        module="metadata_log.storage.log_recovery",
        was="        _make_durable(files, directory, scan)\n",
        becomes="",
    ),
    Mutant(
        name="a cold read begins after its offset",
        module="metadata_log.storage.segment",
        was="        index = bisect_right(self._last_offsets, offset - 1) - 1\n",
        becomes="        index = bisect_right(self._last_offsets, offset + 1) - 1\n",
    ),
)

_DIRECTORY: Final = (
    Mutant(
        name="a file is renamed before its sync",
        module="metadata_log.files.port",
        was="        handle.pwrite(data, 0)\n        handle.fdatasync()\n",
        becomes="        handle.pwrite(data, 0)\n",
    ),
    Mutant(
        name="a rename is not synced",
        module="metadata_log.files.port",
        was="    files.rename(beside, path)\n    files.fsync_dir(parent_of(path))\n",
        becomes="    files.rename(beside, path)\n",
    ),
    Mutant(
        name="quorum-state without the vote",
        module="metadata_log.directory.quorum_state",
        was="    voted_id = _NO_VOTE if state.voted_key is None else state.voted_key.node_id\n",
        becomes="    voted_id = _NO_VOTE\n",
    ),
)

_CONTROLLER: Final = (
    Mutant(
        name="a restarted voter begins at epoch 0",
        module="quorum.node.storage.open_replica",
        was="        quorum_state=None if quorum_state is None else _state_of(quorum_state),\n",
        becomes="        quorum_state=None,\n",
    ),
    Mutant(
        name="a topic is created over a living one",
        module="quorum.controller.handlers.create_topics",
        was="        if name in turn.image.topics.by_name:\n",
        becomes="        if not name and name in turn.image.topics.by_name:\n",
    ),
    Mutant(
        name="a deleted topic's id is used again",
        module="quorum.controller.handlers.create_topics",
        was="self._turn.new_topic_id(self._taken_ids)\n",
        becomes="TopicId((b'\\x10' + topic.name.encode() * 16)[:16])\n",
    ),
    Mutant(
        name="records are written in an older version",
        module="quorum.node.controller.tail",
        was="    version = write_version(kind, level)\n",
        becomes="    version = max(0, write_version(kind, level) - 1)\n",
    ),
    Mutant(
        name="a new topic is found by its id alone",
        module="metadata_log.image.topics_builder",
        was="by_name=self._by_name.finish()",
        becomes="by_name=self._image.by_name",
    ),
    Mutant(
        name="a removed topic keeps its name",
        module="metadata_log.image.topics_builder",
        was="        del self._by_name[topic.name]\n",
        becomes="",
    ),
    Mutant(
        name="an agent takes a live replica for stale",
        module="metadata_log.reconcile",
        was="    if partition is None:\n",
        becomes="    if partition is None or partition_id:\n",
    ),
    Mutant(
        name="an agent makes a directory under its own name at once",
        module="broker_agent.storage",
        was='    unfinished = f"{log_dir}/{DELETING}/{_UNFINISHED}{id_text(topic_id)}_{partition}"\n',
        becomes="    unfinished = made.path\n",
    ),
    Mutant(
        name="an agent stages without proof",
        module="broker_agent.reconciler",
        was="            if proves(directory.topic_id, directory.partition):\n",
        becomes="            if directory.topic_id:\n",
    ),
    Mutant(
        name="an agent removes by the wall clock alone",
        module="broker_agent.removal",
        was="max(each.remove_at_ms - self._wall_ms(), each.times.due_ms - self._elapsed_ms)",
        becomes="each.remove_at_ms - self._wall_ms()",
    ),
)

_DEEP: Final = (
    Mutant(
        name="a log is cut inside a batch",
        module="quorum.raft.log_state",
        was="leader_end.offset) if own.epoch == leader_end.epoch else own.offset\n",
        becomes="leader_end.offset)\n",
    ),
    Mutant(
        name="the epoch history is not cut with the log",
        module="metadata_log.storage.file_log",
        was="        goes = self._epochs != before\n",
        becomes="        goes = False\n",
    ),
    Mutant(
        name="corrupt bytes are served",
        module="metadata_log.storage.cold_read",
        was="                check_batch(data, position)\n",
        becomes="",
    ),
    Mutant(
        name="what the disk reads for a Fetch is never sent",
        module="quorum.node.core.effects",
        was="        data = self.read(effect.read_from, effect.max_bytes, take)\n",
        becomes='        data = self.read(effect.read_from, effect.max_bytes, take) or b""\n',
    ),
)
"""Only faults with a plan (`faults_leader`) meet these, or a history with rejections."""

MUTANTS: Final = (
    *_CORE,
    *_EXECUTOR,
    *_LOG,
    *_DIRECTORY,
    *_CONTROLLER,
    *SNAPSHOT_MUTANTS,
    *_DEEP,
    *LEADER_MUTANTS,
    *VOTER_MUTANTS,
    *FENCE_MUTANTS,
    *ADMIN_MUTANTS,
)
