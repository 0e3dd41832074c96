"""Planted bugs of voter sets (KIP-853). Scenarios on the core alone find such bugs (`tests.support.raft_mutants`)."""

from __future__ import annotations

from typing import Final

from tests.simulation.planting import Mutant

VOTER_MUTANTS: Final = (
    Mutant(
        name="two changes of the voters at once",
        module="quorum.raft.voter_changes",
        was="    expire_change(core, leader)\n    if leader.change is not None:\n",
        becomes="    expire_change(core, leader)\n    if leader.change is not None and core.log.end_offset < 0:\n",
    ),
    Mutant(
        name="the voters are changed before the epoch has a committed record",
        module="quorum.raft.voter_changes",
        was="    if not leader.has_committed:\n",
        becomes="    if leader.epoch_start_offset < 0:\n",
    ),
    Mutant(
        name="the majority is taken from the voters before the latest",
        module="quorum.raft.membership",
        was="        self.majority: int = self.latest.majority\n",
        becomes="        self.majority: int = min(history.before_latest.majority, self.latest.majority)\n",
    ),
    Mutant(
        name="a truncated voter set is kept",
        module="quorum.raft.follower",
        was="core.members.take(core.members.history.truncate_to(target))",
        becomes="core.members.take(core.members.history)",
    ),
    Mutant(
        name="a removed leader counts itself",
        module="quorum.raft.replication",
        was="    offsets = sorted(progress.log_end_offset for progress in leader.voters.values())\n",
        becomes="    offsets = sorted([progress.log_end_offset for progress in leader.voters.values()]"
        " + [core.log.flushed_offset] * (not core.members.is_voter))\n",
    ),
    Mutant(
        name="a voter is known by its node id alone",
        module="quorum.raft.leader_fetch",
        was="    is_voter = progress is not None and core.members.latest.is_voter(key)\n",
        becomes="    is_voter = progress is not None\n",
    ),
    Mutant(
        name="a removed leader leads on",
        module="quorum.raft.voter_changes",
        was="    if not core.members.is_voter and core.members.history.latest_offset < committed:\n",
        becomes="    if core.members.is_voter and core.members.history.latest_offset < 0:\n",
    ),
    Mutant(
        name="a change of the voters goes before what the controller has staged",
        module="quorum.node.controller.role",
        was="        if self._tail is not None and not self._tail.flush(self._executor.clock.wall_ms):\n"
        "            self.on_lost_leadership()\n\n    def on_voter_change",
        becomes="        if self._tail is not None and self._tail.next_offset < 0:\n"
        "            self.on_lost_leadership()\n\n    def on_voter_change",
    ),
    Mutant(
        name="the voters are changed while the latest are not committed",
        module="quorum.raft.voter_changes",
        was="    if members.history.latest_offset >= high_watermark:\n",
        becomes="    if members.history.latest_offset < 0:\n",
    ),
    Mutant(
        name="an upgrade of kraft.version is acknowledged while it is not committed",
        module="quorum.raft.kraft_version",
        was="    elif refusal is None and current > 0:\n",
        becomes="    elif refusal is None and current > 1:\n",
    ),
    Mutant(
        name="a removed voter stands after a restart",
        module="quorum.raft.core",
        was="        if self._persisted.was_removed:\n            return False\n",
        becomes="        if self._persisted.was_removed and self.epoch < 0:\n            return False\n",
    ),
)
