"""No staged directory is removed before its time on both clocks, or without proof that it belonged to this log.

The scenario counts the delay as the time that the agent's processes have run, on its machine's monotonic clock. The
agent never counts more, since a crash costs it what it had not saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker_agent.reconciler import Plan
from broker_agent.storage import StagedDirectory
from metadata_log.ids import TopicId
from tests.simulation.checkers.invariant_failure import InvariantFailure
from tests.simulation.checkers.reference import Reference

if TYPE_CHECKING:
    from tests.simulation.agent import AgentNode


class Removals:
    """The removals of all agents of one scenario."""

    def __init__(self) -> None:
        self._staged: dict[tuple[int, TopicId, int], int] = {}
        """When each replica was last staged, in ms of its agent's running time; by agent, topic id and partition."""

    def on_plan(self, agent: AgentNode, plan: Plan) -> None:
        """See directories that an agent has staged."""
        for stage in plan.stage:
            directory = stage.directory
            if directory.topic_id is not None:
                self._staged.setdefault((agent.node_id, directory.topic_id, directory.partition), agent.ran_ms)

    def on_removed(self, agent: AgentNode, gone: Sequence[StagedDirectory], reference: Reference) -> None:
        """Check directories that an agent has removed."""
        for each in gone:
            if each.replica is None or each.replica[0] not in reference.created:
                raise InvariantFailure(
                    "removals", f"agent {agent.node_id} removes {each.path}, which this log never made"
                )
            if each.remove_at_ms > agent.clock.wall_ms():
                raise InvariantFailure(
                    "removals", f"agent {agent.node_id} removes {each.path} before the time that it announced"
                )
            since = self._staged.pop((agent.node_id, *each.replica), None)
            delay = agent.cluster.setup.delete_delay_ms
            if since is not None and agent.ran_ms - since < delay:
                ran = f"after {agent.ran_ms - since} ms, and the delay is {delay}"
                raise InvariantFailure("removals", f"agent {agent.node_id} removes {each.path} {ran}")
            agent.world.note("a stale directory is removed")
