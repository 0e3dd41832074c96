"""Planted bugs of linearizable reads without proof of leadership, and of transfers."""

from __future__ import annotations

from typing import Final

from tests.simulation.planting import Mutant

LEADER_MUTANTS: Final = (
    Mutant(
        name="a read barrier passes without an answer",
        module="quorum.raft.read_barrier",
        was="    if others + core.members.is_voter < core.members.majority:\n",
        becomes="    if others < 0:\n",
    ),
    Mutant(
        name="a read barrier before the epoch's first commit",
        module="quorum.raft.read_barrier",
        was="    if barrier.waiting is None or barrier.proving is not None or not leader.has_committed:\n",
        becomes="    if barrier.waiting is None or barrier.proving is not None:\n",
    ),
    Mutant(
        name="a leader reads an image that is behind the barrier",
        module="quorum.node.controller.role",
        was="            elif offset <= self._executor.image.offset_and_epoch.offset:\n",
        becomes="            elif offset >= 0:\n",
    ),
    Mutant(
        name="a handover to one that lacks records",
        module="quorum.raft.transfer",
        was="    return progress.log_end_offset == core.log.end_offset == core.log.high_watermark\n",
        becomes="    return core.log.end_offset == core.log.high_watermark\n",
    ),
    Mutant(
        name="a handover before all is committed",
        module="quorum.raft.transfer",
        was="    return progress.log_end_offset == core.log.end_offset == core.log.high_watermark\n",
        becomes="    return progress.log_end_offset == core.log.end_offset\n",
    ),
    Mutant(
        name="an unknown outcome is reported as nothing done",
        module="quorum.node.controller.role",
        was="is_unknown = answer.writes_from is not None and answer.writes_from < appended_end\n",
        becomes="is_unknown = False\n",
        seeds=600,
    ),
    Mutant(
        name="a rejection is sent without proof",
        module="quorum.node.controller.role",
        was="        needs_proof = not result.records and not HANDLERS.proves_nothing(call.request)\n",
        becomes="        needs_proof = not result.records and call.request is None\n",
    ),
    Mutant(
        name="an answer of an older round counts for the read barrier",
        module="quorum.raft.read_barrier",
        was="    barrier.acknowledged[asked.key] = max(asked.round, barrier.acknowledged.get(asked.key, 0))\n",
        becomes="    barrier.acknowledged[asked.key] = barrier.round\n",
    ),
    Mutant(
        name="a read takes part in the round that is out already",
        module="quorum.raft.read_barrier",
        was="    state.barrier.waiting = asked.token\n    maybe",
        becomes='    setattr(state.barrier, "proving" if state.barrier.proving else "waiting", asked.token)\n    maybe',
        seeds=600,
    ),
    Mutant(
        name="a read barrier waits for who votes no more",
        module="quorum.raft.replication",
        was="    follow_voters(core, leader)\n",
        becomes="",
    ),
)
