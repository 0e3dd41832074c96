"""Act: five processes start, the controllers elect a leader, the metadata topic gets its own id."""

from __future__ import annotations

from collections.abc import Callable

from metadata_log.ids import METADATA_TOPIC_ID, METADATA_TOPIC_NAME, TopicId, id_text
from quorum.cli.demo.cluster import wait_until
from quorum.cli.demo.node_log import how_it_was_elected
from quorum.cli.demo.place import as_written
from quorum.cli.demo.replica_files import FoundTopic, ReplicaFiles
from quorum.cli.demo.stage import Stage
from quorum.cli.demo.story import check
from quorum.cli.quorum_output import REPLICATION_COLUMNS, replication_of
from quorum.client.agent_status import RUNNING
from quorum.client.quorum_status import QuorumStatus

HEADING = "Three controllers and two broker agents start, and elect a leader"


def run(stage: Stage) -> None:
    """Format, start, elect, show the quorum."""
    story, cluster = stage.story, stage.cluster
    with story.working("formatting five directories"):
        cluster.format()
    story.say(f"Formatted five directories for cluster {cluster.cluster_id} below {as_written(stage.directory)}.")
    with story.working("starting five processes"):
        cluster.start()
        leader = stage.leader()
    pids = ", ".join(f"{node.name} (pid {node.pid})" for node in cluster.nodes)
    story.say(f"Five processes on loopback: {pids}.")
    story.say(
        f"The metadata topic has no id yet, so Vote and BeginQuorumEpoch name it by the sentinel "
        f"{id_text(METADATA_TOPIC_ID)}."
    )
    story.say(how_it_was_elected(leader))
    own_id = _own_id(stage)
    found = record_of(METADATA_TOPIC_NAME, leader.name, lambda: ReplicaFiles(leader.metadata_dir))
    check(found.topic_id == own_id, f"the log of {leader.name} and its answers differ in the metadata topic's id")
    story.say(
        f"{leader.name.capitalize()} leads, and gives {METADATA_TOPIC_NAME} its own id: "
        f"TopicRecord at offset {found.offset}, {id_text(own_id)}."
    )
    with story.working("waiting for the agents to be let in"):
        status = wait_until("both agents to be registered and to fetch the log by its own id", lambda: _all_in(stage))
    check(len(status.voters) == len(cluster.controllers), f"there are {len(status.voters)} voters, not three")
    story.table(REPLICATION_COLUMNS, replication_of(status))
    story.proved("One leader, two followers, and two observers that fetch the log as brokers do.")


def _own_id(stage: Stage) -> TopicId:
    """Return the metadata topic's own id once it is committed."""

    def known() -> TopicId | None:
        topic_id = stage.quorum().topic_id
        return None if topic_id == METADATA_TOPIC_ID else topic_id

    return wait_until("the metadata topic to have its own id", known)


def record_of(topic: str, whose: str, look: Callable[[], ReplicaFiles]) -> FoundTopic:
    """Return the TopicRecord in the leader's file.

    Two quicker followers may commit it before the leader has written it.
    """

    def found() -> FoundTopic | None:
        return next((each for each in look().topics() if each.name == topic), None)

    return wait_until(f"{whose} to write a TopicRecord for {topic} into its log", found)


def _all_in(stage: Stage) -> QuorumStatus | None:
    own_id = _own_id(stage)
    agents = [stage.agent(node) for node in stage.cluster.agents.values()]
    status = stage.quorum()
    is_done = all(agent.phase == RUNNING and agent.metadata_topic_id == own_id for agent in agents)
    return status if is_done and len(status.observers) == len(agents) else None
