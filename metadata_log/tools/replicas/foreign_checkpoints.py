"""Finds checkpoints of another cluster in a directory of this one.

Decides: which checkpoint is foreign, and which logs are the witnesses. Must not know: other faults of a checkpoint.

If a checkpoint ends within the log, the log is compared with it (`checkpoint_disagrees`). If it ends behind all logs,
it would prove that all of them lost the records between. So it must be recognized as foreign.

It is foreign if it shares nothing with the witnesses. They never had any of its topics, and it has none of their topics
or broker registrations. If it names a voter's directory that a witness also names, it is not foreign: all topics and
brokers may have been replaced since.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from metadata_log.image import MetadataImage
from metadata_log.tools.findings.finding import Finding, finding
from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.replicas.foreign_logs import are_majority
from metadata_log.tools.replicas.replica import Replica
from metadata_log.tools.replicas.same_log import named_directories
from metadata_log.tools.verify.checkpoint import CheckpointReport
from metadata_log.tools.verify.log_facts import LogFacts, voters_of
from metadata_log.tools.words import join_names

_ADVICE: Final = (
    "find out how it came here, and move the file elsewhere while the node is stopped: a node that starts loads its "
    "newest checkpoint, and gives up its log for one that goes further"
)


def without_foreign_checkpoints(logs: Sequence[Replica]) -> tuple[list[Replica], list[Finding]]:
    """Return the logs without foreign checkpoints, and a finding for each of these.

    The witnesses are the logs that begin at offset 0. All must agree, and they must be a majority of the voters.
    """
    found: list[Finding] = []
    left: list[Replica] = []
    for index, log in enumerate(logs):
        report = log.facts
        foreign = {id(one): _strangers(one, index, logs) for one in report.checkpoints}
        strange = [one for one in report.checkpoints if foreign[id(one)]]
        found += [_finding(log.source, one, [logs[other] for other in foreign[id(one)]]) for one in strange]
        left.append(msgspec.structs.replace(log, facts=_without(report, strange)) if strange else log)
    return left, found


def _strangers(checkpoint: CheckpointReport, own: int, logs: Sequence[Replica]) -> list[int]:
    """Return the indexes of the logs that prove a checkpoint to be foreign; none if it is not proven."""
    judges = [
        index
        for index, log in enumerate(logs)
        if index != own and log.facts.rules.is_complete and log.facts.is_sound and log.facts.image is not None
    ]
    image, end = checkpoint.image, checkpoint.end
    if image is None or end is None or any(logs[index].facts.end_offset >= end.offset for index in judges):
        return []
    voters = named_directories(checkpoint.voters or ())
    is_strange = all(
        not voters & named_directories(logs[index].facts.known_voters) and _is_foreign(image, logs[index].facts)
        for index in judges
    )
    return judges if is_strange and are_majority(logs, judges) else []


def _is_foreign(image: MetadataImage, log: LogFacts) -> bool:
    theirs = log.image
    if theirs is None or not image.topics.by_id or not theirs.topics.by_id or not theirs.cluster.brokers:
        return False
    if any(log.rules.was_ever(topic_id) for topic_id in image.topics.by_id):
        return False
    lives = {(broker.broker_id, broker.epoch, broker.incarnation_id) for broker in image.cluster.brokers.values()}
    return not any(
        (broker.broker_id, broker.epoch, broker.incarnation_id) in lives for broker in theirs.cluster.brokers.values()
    )


def _without(report: LogFacts, strange: Sequence[CheckpointReport]) -> LogFacts:
    """Return the facts without these checkpoints, and without an image, which may have been a foreign checkpoint's."""
    names = {one.path for one in strange}
    kept = tuple(one for one in report.checkpoints if one.path not in names)
    voters = report.voters if report.voters is not None and report.voters.offset >= 0 else voters_of(list(kept))
    behind = "log_behind_checkpoint" if not any(_ends_behind(one, report) for one in kept) else None
    findings = tuple(one for one in report.findings if one.kind != behind and one.file not in names)
    return msgspec.structs.replace(
        report, checkpoints=kept, voters=voters, image=None, settled=None, probed={}, findings=findings
    )


def _ends_behind(checkpoint: CheckpointReport, report: LogFacts) -> bool:
    return checkpoint.end is not None and checkpoint.end.offset > report.end_offset


def _finding(node: NodeSource, checkpoint: CheckpointReport, judges: Sequence[Replica]) -> Finding:
    names = join_names([one.source.label for one in judges])
    what = (
        f"none of its topics was ever one of {names}, and none of their topics and registered brokers is in it: it is "
        "another cluster's, and nothing here is judged by it"
    )
    return finding("foreign_cluster", what, node_id=node.node_id, file=checkpoint.path, advice=_ADVICE)
