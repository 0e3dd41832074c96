"""Act: topics are created, and the agents create the directories of their partitions from the log."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from metadata_log.directory.partition_metadata import read_partition_metadata
from metadata_log.files.os_files import OsFiles
from metadata_log.ids import TopicId, id_text
from quorum.cli.demo.cluster import Node, wait_until
from quorum.cli.demo.stage import Stage
from quorum.cli.demo.story import check

HEADING = "Topics are created; the agents read of them in the log and take them up"

ORDERS: Final = "orders"
PAYMENTS: Final = "payments"
_TOPICS: Final = ((ORDERS, 2, 2), (PAYMENTS, 2, 1), ("audit", 1, 2))
"""Name, partitions, replicas."""


def run(stage: Stage) -> None:
    """Create the topics, wait for the directories, check them."""
    story = stage.story
    rows: list[dict[str, object]] = []
    for name, partitions, replicas in _TOPICS:
        created = stage.ask(stage.client.create_topic(name, num_partitions=partitions, replication_factor=replicas))
        stage.acknowledged[name] = created.topic_id
        rows.append(
            {
                "topic": name,
                "topic_id": id_text(created.topic_id),
                "partition_count": partitions,
                "replication_factor": replicas,
            }
        )
    story.table(("topic", "topic_id", "partition_count", "replication_factor"), rows)
    story.say("No LeaderAndIsr or UpdateMetadata is sent: each agent fetches the log by topic id and acts on it.")
    expected = _expected(stage)
    with story.working("waiting for the agents"):
        for node_id, agent in stage.cluster.agents.items():
            _wait_held(stage, agent, expected[node_id])
    for node_id, agent in stage.cluster.agents.items():
        story.say(f"{agent.name.capitalize()}: {', '.join(sorted(expected[node_id]))}")
        for name, topic_id in expected[node_id].items():
            check_directory(agent, name, topic_id)
    some = next(agent.log_dir / f"{ORDERS}-0" for agent in stage.cluster.agents.values())
    shown = some.relative_to(stage.directory) / "partition.metadata"
    for line in (some / "partition.metadata").read_text().splitlines():
        story.quote(f"{shown}: {line}")
    count = sum(map(len, expected.values()))
    story.proved(f"All {count} partition directories are there, each with its topic's id in partition.metadata.")


def _expected(stage: Stage) -> dict[int, dict[str, TopicId]]:
    """Return the directories that each agent must hold, with their topics' ids, by agent."""
    expected: dict[int, dict[str, TopicId]] = {node_id: {} for node_id in stage.cluster.agents}
    for topic in stage.ask(stage.client.describe_topics([name for name, _, _ in _TOPICS])):
        for partition in topic.partitions:
            for replica in partition.replicas:
                expected[replica][f"{topic.name}-{partition.partition_index}"] = topic.topic_id
    return expected


def _wait_held(stage: Stage, agent: Node, expected: dict[str, TopicId]) -> None:
    wait_until(
        f"{agent.name} to hold {', '.join(sorted(expected))}",
        lambda: {each.name: each.topic_id for each in stage.agent(agent).partitions} == expected,
    )


def check_directory(agent: Node, name: str, topic_id: TopicId) -> None:
    """Raise `CheckFailedError` unless the directory exists and its partition.metadata holds that id."""
    path: Path = agent.log_dir / name
    check(path.is_dir(), f"{agent.name} says that it holds {name}, but there is no {path}")
    found = read_partition_metadata(OsFiles(), str(path))
    check(found == topic_id, f"{path} belongs to topic id {id_text(found)}, not {id_text(topic_id)}")
