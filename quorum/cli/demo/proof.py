"""Act: every replica's log is exported, all nodes stop, and each replica's files must hold all acknowledged topics."""

from __future__ import annotations

from typing import Final

from metadata_log.ids import METADATA_TOPIC_NAME, NodeId
from metadata_log.image import MetadataImage
from quorum.cli.demo.cluster import Node
from quorum.cli.demo.exporting import export_all
from quorum.cli.demo.replica_files import ReplicaFiles
from quorum.cli.demo.stage import Stage
from quorum.cli.demo.story import check

HEADING = "Everything stops; each replica's own files must hold what was promised"

_COLUMNS: Final = ("replica", "log_end_offset", "epoch", "topics", "acknowledged", "found", "ids_twice")


def run(stage: Stage) -> None:
    """Export, stop, read, compare."""
    high_watermark = export_all(stage)
    with stage.story.working("stopping"):
        statuses = stage.cluster.stop()
    wrong = {name: status for name, status in statuses.items() if status}
    check(not wrong, f"these did not stop in good order: {wrong}")
    stage.story.say(
        f"All five are stopped. Everything below offset {high_watermark} was committed when they were exported;"
    )
    stage.story.say("what their logs hold beyond it is the agents' leaving.")
    logs = {node: ReplicaFiles(node.metadata_dir) for node in stage.cluster.nodes}
    images = {node: log.image() for node, log in logs.items()}
    stage.story.table(_COLUMNS, [_row(stage, node, logs[node], images[node]) for node in logs])
    for node, log in logs.items():
        _check_acknowledged(stage, node, images[node])
        _check_ids(node, log)
    _check_same(logs, high_watermark)
    leaders = _check_leaders(logs)
    count = len(stage.acknowledged)
    stage.story.proved(
        f"All {count} acknowledged topics are in every replica's files, each with the id that was acknowledged."
    )
    told = ", ".join(f"{epoch}: controller {leader}" for epoch, leader in sorted(leaders.items()))
    stage.story.proved(f"No topic id twice. One leader an epoch ({told}). All logs equal up to the high watermark.")
    made = [name for name in stage.unanswered if name in next(iter(images.values())).topics.by_name]
    stage.story.say(
        f"Of {len(stage.unanswered)} creates that were never answered {len(made)} did get in: unknown means unknown."
    )


def _row(stage: Stage, node: Node, log: ReplicaFiles, image: MetadataImage) -> dict[str, object]:
    return {
        "replica": node.name,
        "log_end_offset": log.end_offset,
        "epoch": log.last_epoch,
        "topics": sum(name != METADATA_TOPIC_NAME for name in image.topics.by_name),
        "acknowledged": len(stage.acknowledged),
        "found": len(stage.acknowledged) - len(_missing(stage, image)),
        "ids_twice": len(_ids_twice(log)),
    }


def _missing(stage: Stage, image: MetadataImage) -> list[str]:
    by_name = image.topics.by_name
    return [name for name, topic_id in stage.acknowledged.items() if by_name.get(name) != topic_id]


def _check_acknowledged(stage: Stage, node: Node, image: MetadataImage) -> None:
    missing = _missing(stage, image)
    check(not missing, f"{len(missing)} acknowledged topics are not in the files of {node.name}: {missing[:5]}")


def _ids_twice(log: ReplicaFiles) -> list[str]:
    seen: set[bytes] = set()
    twice: list[str] = []
    for topic in log.topics():
        if topic.topic_id in seen:
            twice.append(topic.name)
        seen.add(topic.topic_id)
    return twice


def _check_ids(node: Node, log: ReplicaFiles) -> None:
    twice = _ids_twice(log)
    check(not twice, f"the log of {node.name} gives a topic id twice, the second time to {twice[:5]}")


def _check_same(logs: dict[Node, ReplicaFiles], high_watermark: int) -> None:
    longest = max(logs.values(), key=lambda log: (log.last_epoch, log.end_offset))
    for node, log in logs.items():
        check(
            log.end_offset >= high_watermark,
            f"the log of {node.name} ends at {log.end_offset}, below the high watermark {high_watermark}",
        )
        differs = log.first_difference(longest)
        check(
            differs is None or differs >= high_watermark,
            f"the log of {node.name} differs from {longest.directory} at offset {differs}, which was committed",
        )


def _check_leaders(logs: dict[Node, ReplicaFiles]) -> dict[int, NodeId]:
    """Return the leader of each epoch, by all logs together."""
    leaders: dict[int, set[NodeId]] = {}
    for log in logs.values():
        for epoch, named in log.leaders().items():
            leaders.setdefault(epoch, set()).update(named)
    several = {epoch: sorted(named) for epoch, named in leaders.items() if len(named) != 1}
    check(not several, f"epochs with more than one leader: {several}")
    return {epoch: next(iter(named)) for epoch, named in leaders.items()}
