"""Agents' directories: only what the committed log has deleted is staged for removal, nothing sound is set aside,
and in peace each agent has exactly the directories that the image gives it, each with the right topic id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_agent.reconciler import Plan
from metadata_log.ids import NodeId
from tests.simulation.checkers.broken import Broken
from tests.simulation.checkers.reference import Reference

if TYPE_CHECKING:
    from tests.simulation.agent import AgentNode


def check_plan(agent: AgentNode, plan: Plan, reference: Reference) -> None:
    """An agent has carried out a plan."""
    for stage in plan.stage:
        topic_id = stage.directory.topic_id
        topic = None if topic_id is None else reference.image.topics.topic(topic_id)
        partition = None if topic is None else topic.partition(stage.directory.partition)
        if partition is not None and agent.node_id in partition.replicas:
            raise Broken(
                "directories",
                f"agent {agent.node_id} stages {stage.directory.path}, which is a live replica of its own",
            )
    for aside in plan.set_aside:
        raise Broken("directories", f"agent {agent.node_id} sets {aside.directory.path} aside: {aside.why}")


def missing_directories(agent: AgentNode, reference: Reference) -> str | None:
    """What is not as the image says, once all is quiet; None when nothing is."""
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
