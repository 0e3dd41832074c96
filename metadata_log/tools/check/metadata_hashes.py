"""Whether replicas that stand at one offset hold the same metadata: their checkpoints, and what their logs replay to.

Decides: at which offsets that is asked (wherever any node has a checkpoint), and whose answer is the odd one: any that
not more than half of the replicas give, since brokers know as much as voters. Must not know: how a hash is made. What a
log's batches differ in is `divergence`'s to say: a replica with other findings is left out here.

A node whose log begins after a topic was removed and made again may hold the removed one's configs, which Kafka left
behind there, and its own log cannot tell. Another's does: what was left is taken for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from metadata_log.image import MetadataImage
from metadata_log.image.differences import described, differences
from metadata_log.storage.checkpoint import parse_checkpoint_name
from metadata_log.tools.findings.advice import OLD_LEFT_CONFIGS
from metadata_log.tools.findings.finding import Finding, Severity, finding, is_well
from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.replicas.judge import Judge
from metadata_log.tools.replicas.replica import Replica
from metadata_log.tools.replicas.replica_set import ReplicaSet
from metadata_log.tools.rules.orphaned_configs import LeftConfigs, left_text, taken_up, without
from metadata_log.tools.verify.log_facts import metadata_hash

_OF_A_LEVEL: Final = "record_above_level"
"""All such records are replayed, and where it is the level that is wrong, it is the others who tell."""

_UNWRITABLE: Final = "no hash"
"""In place of the hash of a checkpoint whose records may not be written at its level."""


def probes_of(nodes: Sequence[NodeSource]) -> frozenset[int]:
    """The offsets at which any of these nodes has a checkpoint of metadata."""
    names = [path.name for node in nodes if node.metadata is not None for path in node.metadata.iterdir()]
    ends = [end for name in names if (end := parse_checkpoint_name(name)) is not None]
    return frozenset(int(end.offset) for end in ends if end.offset > 0)


def check_hashes(view: ReplicaSet, parted: frozenset[int], common_end: int) -> Iterator[Finding]:
    """Checkpoints, and logs, that say something else than other replicas do there; of one replica's log the first.

    `parted`: the replicas, by their number, whose logs go another way than others' from `common_end` on, which was
    found harmless: past it they are not asked.
    """
    judge = Judge(view.views, len(view.voters.keys), view.bounds)
    blamed: set[int] = set()
    for offset in sorted({offset for replica in view.replicas for offset in replica.facts.probed} | _ends(view)):
        hashes = _hashes_at(view, offset, parted if offset > common_end else frozenset())
        by_hash: dict[str, set[int]] = {}
        for index, held in hashes.items():
            by_hash.setdefault(held[0], set()).add(index)
        if len(by_hash) < 2:
            continue
        sides = [frozenset(holders) for holders in by_hash.values()]
        for side in sides:
            if 2 * len(side) > len(hashes):
                continue
            others = judge.names(frozenset(hashes) - side)
            rivals = [min(other) for other in sorted(sides, key=len, reverse=True) if other is not side]
            for index in sorted(side):
                file = hashes[index][1]
                if file is not None or index not in blamed:
                    yield from _blame(view, index, offset, file, others, rivals)
                blamed.add(index)


def _blame(
    view: ReplicaSet, index: int, offset: int, file: str | None, others: str, rivals: Sequence[int]
) -> Iterator[Finding]:
    left = _left_behind(view, index, rivals, offset)
    if left is None:
        yield _finding(view, index, offset, file, others, _in_what(view, index, rivals, offset))
    elif left:
        yield _left_finding(view, index, offset, file, left)


def _ends(view: ReplicaSet) -> set[int]:
    checkpoints = [found for replica in view.replicas for found in replica.facts.checkpoints]
    return {int(found.end.offset) for found in checkpoints if found.end is not None and found.end.offset > 0}


def _hashes_at(view: ReplicaSet, offset: int, left_out: frozenset[int]) -> dict[int, tuple[str, str | None]]:
    """Each sound replica's hash at an offset: its checkpoint's with the file, else its log's."""
    found: dict[int, tuple[str, str | None]] = {}
    for index, replica in enumerate(view.replicas):
        if index in left_out or not is_well(one for one in replica.facts.findings if one.kind != _OF_A_LEVEL):
            continue
        checkpoint = next(
            (known for known in replica.facts.checkpoints if known.end is not None and known.end.offset == offset),
            None,
        )
        if checkpoint is not None and checkpoint.image is not None:
            found[index] = (metadata_hash(checkpoint.image) or _UNWRITABLE, checkpoint.path)
            continue
        probed = replica.facts.probed.get(offset)
        of_log = None if probed is None else metadata_hash(probed)
        if of_log is not None:
            found[index] = (of_log, None)
    return found


def _left_behind(view: ReplicaSet, index: int, rivals: Sequence[int], offset: int) -> list[LeftConfigs] | None:
    """The configs of topics that were made again which Kafka left behind on this replica, where its metadata differs
    from the others' in nothing else; none where it is the others that have such. None: it differs otherwise."""
    found: dict[str, LeftConfigs] = {}
    own = _image_at(view.replicas[index], offset)
    for rival in rivals:
        other = _image_at(view.replicas[rival], offset)
        if own is None or other is None:
            return None
        gone = [view.replicas[one].facts.rules.gone for one in (index, rival)]
        mine = {topic: more for known in gone for topic, more in taken_up(own, other, known).items()}
        theirs = {topic: more for known in gone for topic, more in taken_up(other, own, known).items()}
        if not without(own, mine).says_the_same_as(without(other, theirs)):
            return None
        found |= {topic: LeftConfigs(topic=topic, values=values) for topic, values in mine.items()}
    return [found[topic] for topic in sorted(found)]


def _image_at(replica: Replica, offset: int) -> MetadataImage | None:
    """What `_hashes_at` took the hash of."""
    for checkpoint in replica.facts.checkpoints:
        if checkpoint.end is not None and checkpoint.end.offset == offset and checkpoint.image is not None:
            return checkpoint.image
    return replica.facts.probed.get(offset)


def _left_finding(view: ReplicaSet, index: int, offset: int, file: str | None, left: Sequence[LeftConfigs]) -> Finding:
    """Return the finding of `checkpoint_against_log`, for a log that begins after the topic's removal."""
    replica = view.replicas[index]
    whole = replica.facts.checkpoints
    is_newest = file is None or file == whole[-1].path
    image = replica.facts.image
    topics = image.topics.by_name if is_newest and image is not None else ()
    return finding(
        "configs_left_behind",
        left_text(left, topics),
        severity=None if is_newest else Severity.NOTE,
        advice=None if is_newest else OLD_LEFT_CONFIGS,
        node_id=replica.source.node_id,
        file=whole[-1].path if file is None and whole else file or replica.last_place,
        offset=offset,
    )


def _in_what(view: ReplicaSet, index: int, rivals: Sequence[int], offset: int) -> str:
    """The first things that it and another say differently."""
    own = _image_at(view.replicas[index], offset)
    for rival in rivals:
        other = _image_at(view.replicas[rival], offset)
        if own is not None and other is not None:
            text, _ = described(differences(own, other, ("here", f"on {view.replicas[rival].label}")))
            if text:
                return f": {text}"
    return ""


def _finding(view: ReplicaSet, index: int, offset: int, file: str | None, others: str, in_what: str) -> Finding:
    replica = view.replicas[index]
    if file is not None:
        meaning = f"at its end, offset {offset}, {others} have other metadata than it says{in_what}"
        return finding("checkpoint_disagrees", meaning, node_id=replica.source.node_id, file=file, offset=offset)
    meaning = f"at offset {offset} its log gives other metadata than {others} have, though no batch differs{in_what}"
    return finding("metadata_differs", meaning, node_id=replica.source.node_id, file=replica.last_place, offset=offset)
