"""Act: a topic is deleted and created again while an agent is down. The agent distinguishes the two by their ids."""

from __future__ import annotations

from typing import Final

from metadata_log.ids import TopicId, id_text
from quorum.cli.demo.cluster import Node, wait_until
from quorum.cli.demo.node_log import log_size, node_log_lines
from quorum.cli.demo.stage import Stage
from quorum.cli.demo.story import check
from quorum.cli.demo.take_up import ORDERS, check_directory
from quorum.client.agent_status import RUNNING

HEADING = "A topic is deleted and created again while an agent is away"

_PARTITIONS: Final = 2


def run(stage: Stage) -> None:
    """Stop the agent, delete and create the topic, start the agent, check its directories and its log."""
    story, old_id = stage.story, stage.acknowledged[ORDERS]
    agent = max(stage.cluster.agents.values(), key=lambda node: node.node_id)
    with story.working(f"stopping {agent.name}"):
        status = agent.stop()
    check(status == 0, f"{agent.name} ended with {status}:\n{agent.last_lines()}")
    stage.ask(stage.client.delete_topic(old_id))
    created = stage.ask(stage.client.create_topic(ORDERS, num_partitions=_PARTITIONS, replication_factor=2))
    new_id = created.topic_id
    stage.acknowledged[ORDERS] = new_id
    check(new_id != old_id, f"{ORDERS} has the same id as before it was deleted")
    story.say(f"{agent.name.capitalize()} is stopped. {ORDERS} {id_text(old_id)} is deleted, and created again:")
    story.say(f"the same name, another topic: {id_text(new_id)}.")
    told_before = log_size(agent)
    agent.start()
    with story.working(f"{agent.name} starts again"):
        wait_until(f"{agent.name} to put its directories right", lambda: _is_right(stage, agent, old_id, new_id))
    for index in range(_PARTITIONS):
        check_directory(agent, f"{ORDERS}-{index}", new_id)
        staged = agent.log_dir / "deleting" / f"{id_text(old_id)}_{index}"
        check(staged.is_dir(), f"{staged} is not there: the stale directory was not staged")
        story.say(f"{agent.name.capitalize()}: {ORDERS}-{index} is the new topic's; the stale one waits as")
        story.say(f"  {staged.relative_to(stage.directory)}")
    lines = node_log_lines(agent, "warning", "staged for deletion", id_text(old_id), "remove_at=", start=told_before)
    check(
        len(lines) == _PARTITIONS,
        f"{agent.name} warned {len(lines)} times of a staged directory and its removal, not {_PARTITIONS} times",
    )
    story.quote(lines[0])
    story.proved("Staged, not deleted: there is time until then to notice a mistake.")


def _is_right(stage: Stage, agent: Node, old_id: TopicId, new_id: TopicId) -> bool:
    agent.check_running()
    if not agent.is_listening:
        return False
    found = stage.agent(agent)
    held = {(each.topic_id, each.partition) for each in found.partitions if each.topic == ORDERS}
    staged = {(each.topic_id, each.partition) for each in found.staged}
    return (
        found.phase == RUNNING
        and held == {(new_id, index) for index in range(_PARTITIONS)}
        and staged >= {(old_id, index) for index in range(_PARTITIONS)}
    )
