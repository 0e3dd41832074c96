"""Planted bugs in snapshots, trims and installations: a part of `mutants`."""

from __future__ import annotations

from typing import Final

from tests.simulation.planting import Mutant

SNAPSHOT_MUTANTS: Final = (
    Mutant(
        name="a snapshot is renamed before its sync",
        module="metadata_log.storage.checkpoint",
        was="        self._open().fdatasync()\n        self.close()\n",
        becomes="        self._open()\n        self.close()\n",
    ),
    Mutant(
        name="a snapshot of what is not committed",
        module="quorum.node.core.snapshots",
        was="        executor, image = self._executor, self._executor.image\n",
        becomes="        executor, image = self._executor, [(its := vars(self._executor)['_published']).replayer, "
        "*its._remembered][-1].image\n",
    ),
    Mutant(
        name="a snapshot is of a later image than its name says",
        module="quorum.node.core.snapshots",
        was="            values_in_slices(image, RECORDS_A_SLICE),\n",
        becomes="            (each for when in (executor,) for each in values_in_slices(when.image, 200)),\n",
    ),
    Mutant(
        name="the log is trimmed past the snapshot",
        module="quorum.node.core.snapshots",
        was="stage_trim(begin.end.offset, obsolete)",
        becomes="stage_trim(executor.image.offset_and_epoch.offset, obsolete)",
    ),
    Mutant(
        name="a trim removes the newest segments first",
        module="metadata_log.storage.file_log",
        was="                RemoveSegments(bases=tuple(map(_base_of, removed))),\n",
        becomes="                RemoveSegments(bases=tuple(map(_base_of, reversed(removed)))),\n",
    ),
    Mutant(
        name="a trim forgets the voters",
        module="quorum.raft.snapshots",
        was="members.history.trim_to(trimmed.start.offset)",
        becomes="members.history.begin_at(trimmed.start.offset, None)",
    ),
    Mutant(
        name="a Fetch from before the log's start is served",
        module="quorum.raft.log_state",
        was="        if offset <= start.offset or (start.offset > 0 and epoch < start.epoch):\n",
        becomes="        if offset < 0:\n",
    ),
    Mutant(
        name="voters are not loaded from the snapshot",
        module="quorum.raft.snapshots",
        was="begin_at(snapshot.id.offset, checked.voters)",
        becomes="begin_at(snapshot.id.offset, None)",
    ),
    Mutant(
        name="a restarted node does not load the snapshot's voters",
        module="quorum.node.storage.open_replica",
        was="        begin, history = snapshot.end.offset, snapshot.voter_history(history)\n",
        becomes="        begin = snapshot.end.offset\n",
    ),
    Mutant(
        name="an installation keeps the old log's last epoch",
        module="quorum.raft.log_state",
        was="        self.last_epoch = end.epoch\n        self.epochs = EpochHistory()\n",
        becomes="        self.epochs = EpochHistory()\n",
    ),
    Mutant(
        name="an installation keeps the published image",
        module="quorum.node.core.published",
        was="        self.replayer = Replayer.follow(image)\n        self.high_watermark = max",
        becomes="        self.high_watermark = max",
    ),
    Mutant(
        name="a received snapshot gets its name before its sync",
        module="metadata_log.storage.log_writer",
        was=(
            "        handle = self._files.open(self._path(step.part))\n        try:\n            handle.fdatasync()\n"
        ),
        becomes="        handle = self._files.open(self._path(step.part))\n        try:\n            handle.size()\n",
    ),
    Mutant(
        name="the log is removed before the snapshot has its name",
        module="metadata_log.storage.file_log",
        was=(
            "                *(() if checkpoint is None else (checkpoint,)),\n"
            "                SaveEpochs(epochs=self._epochs),\n"
            "                RemoveSegments(bases=removed),\n"
            "                CreateSegment(base=end.offset),\n"
        ),
        becomes=(
            "                SaveEpochs(epochs=self._epochs),\n"
            "                RemoveSegments(bases=removed),\n"
            "                CreateSegment(base=end.offset),\n"
            "                *(() if checkpoint is None else (checkpoint,)),\n"
        ),
    ),
    Mutant(
        name="a half-received snapshot is taken for whole",
        module="quorum.raft.snapshots",
        was="    if receiving.position == receiving.size:\n",
        becomes="    if receiving.position > 0:\n",
    ),
    Mutant(
        name="a piece is stored at the wrong position",
        module="quorum.node.core.snapshots",
        was="            position=effect.position,\n            data=effect.data,\n",
        becomes="            position=0,\n            data=effect.data,\n",
    ),
    Mutant(
        name="a piece is asked for from the wrong position",
        module="quorum.raft.snapshots",
        was="receiving.stored_next = response.size, response.position + len(response.data)\n",
        becomes="receiving.stored_next = response.size, response.position + len(response.data) + 1\n",
    ),
    Mutant(
        name="a cut-off installation is not finished at the start",
        module="quorum.node.storage.startup",
        was="    if end.offset > log.log_end_offset:\n        return True\n",
        becomes="    if end.offset > log.log_end_offset:\n        return False\n",
    ),
    Mutant(
        name="a corrupt snapshot is served",
        module="metadata_log.storage.checkpoint_ops",
        was="            if self.position == 0:\n                check_checkpoint(",
        becomes="            if self.position < 0:\n                check_checkpoint(",
    ),
    Mutant(
        name="who waits for what is trimmed is served",
        module="quorum.raft.snapshots",
        was="        redirect_to_snapshot(core, core.state)\n",
        becomes="",
    ),
)
