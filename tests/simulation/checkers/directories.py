"""Agents' directories: an agent stages only directories of this log that are no longer its own, and quarantines no
valid one.

After quiesce each agent has exactly the directories that the image assigns to it, each with the right topic id.

A plan is checked against the log that the agent had when it made the plan. A lagging agent rightly stages a replica
that was taken away and given back meanwhile. That log must hold the registration of the present process. A log that
ends before it may lack the record that assigned the directory to this agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_agent.reconciler import Plan
from broker_agent.storage import PartitionDirectory
from metadata_log.ids import NodeId
from metadata_log.image import MetadataImage
from tests.simulation.checkers.invariant_failure import InvariantFailure
from tests.simulation.checkers.reference import Reference

if TYPE_CHECKING:
    from tests.simulation.agent import AgentNode


def check_plan(agent: AgentNode, plan: Plan, reference: Reference) -> None:
    """Check a plan that an agent has carried out on the image that it had."""
    had = agent.executor.image.offset_and_epoch.offset
    if plan.stage and not reference.had_registered(agent.life.incarnation_id, had):
        raise InvariantFailure(
            "directories", f"agent {agent.node_id} stages by a log that ends at {had}, before it registered"
        )
    for stage in plan.stage:
        if _is_replica(agent, stage.directory, reference.image_at(had)):
            raise InvariantFailure(
                "directories",
                f"agent {agent.node_id} stages {stage.directory.path}, which is its live replica at {had}",
            )
        if not _was_ours(stage.directory, reference, had):
            raise InvariantFailure(
                "directories", f"agent {agent.node_id} stages {stage.directory.path}, which this log never made"
            )
    for aside in plan.set_aside:
        is_live = agent.has_lost_proof and _is_replica(agent, aside.directory, reference.image_at(had))
        if is_live or (_was_ours(aside.directory, reference, had) and not agent.has_lost_proof):
            raise InvariantFailure(
                "directories", f"agent {agent.node_id} sets {aside.directory.path} aside: {aside.why}"
            )
        agent.world.note("a foreign directory is set aside")


def _was_ours(directory: PartitionDirectory, reference: Reference, end: int) -> bool:
    return directory.topic_id is not None and reference.created.get(directory.topic_id, end) < end


def _is_replica(agent: AgentNode, directory: PartitionDirectory, image: MetadataImage | None) -> bool:
    if image is None:
        raise InvariantFailure(
            "directories", f"agent {agent.node_id} stages {directory.path} by a log that was never committed"
        )
    topic = None if directory.topic_id is None else image.topics.topic(directory.topic_id)
    partition = None if topic is None else topic.partition(directory.partition)
    return partition is not None and agent.node_id in partition.replicas


def missing_directories(agent: AgentNode, reference: Reference) -> str | None:
    """Return the difference between directories and image after quiesce, or None."""
    wanted = {
        f"{topic.name}-{partition.partition_id}": topic.topic_id
        for topic in reference.image.topics.by_id.values()
        for partition in topic.partitions
        if partition.directory_of(NodeId(agent.node_id)) is not None
    }
    found = {directory.name: directory.topic_id for directory in agent.partitions.in_use}
    if wanted == found:
        return None
    wrong = sorted({*wanted} ^ {*found}) or sorted(name for name in wanted if wanted[name] != found[name])
    return f"agent {agent.node_id} has not what the image says of {', '.join(wrong[:5])}"
