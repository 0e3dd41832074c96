"""Compares the metadata of replicas at the same offset: the images of checkpoints and of replayed logs.

Decides: the offsets (the end of every checkpoint), and which replica is wrong: one whose hash not more than half of
the replicas have. Brokers count like voters, since they replay the same records. Must not know: how a hash is made.
A replica with other findings is left out; `divergence` reports logs whose batches differ.

Kafka may leave the configs of a removed topic behind. If a log begins after the topic was removed and created again,
the log itself does not show that these configs are orphaned. The other replicas' logs show it.
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
"""A replica with this finding still counts: its records are replayed, and the others show if the level is wrong."""

_UNWRITABLE: Final = "no hash"
"""The placeholder for the hash of a checkpoint whose metadata cannot be written at its own level."""


def probes_of(nodes: Sequence[NodeSource]) -> frozenset[int]:
    """Return the end offsets of all checkpoints of these nodes, without offset 0."""
    names = [path.name for node in nodes if node.metadata is not None for path in node.metadata.iterdir()]
    ends = [end for name in names if (end := parse_checkpoint_name(name)) is not None]
    return frozenset(int(end.offset) for end in ends if end.offset > 0)


def check_hashes(view: ReplicaSet, parted: frozenset[int], common_end: int) -> Iterator[Finding]:
    """Yield each checkpoint whose metadata differs from the other replicas', and each log where it first differs.

    Args:
        parted: the indexes of replicas whose logs diverge harmlessly; past `common_end` they are not compared.
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
    """Return by index each sound replica's hash at an offset: its checkpoint's with the path, else its log's."""
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
    """Return the orphaned configs that explain how this replica's metadata differs from the rivals'.

    They are of topics that were removed and created again. The list is empty if only rivals have such configs. None:
    the metadata differs in something else.
    """
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
    """Return the image that `_hashes_at` hashes for this replica."""
    for checkpoint in replica.facts.checkpoints:
        if checkpoint.end is not None and checkpoint.end.offset == offset and checkpoint.image is not None:
            return checkpoint.image
    return replica.facts.probed.get(offset)


def _left_finding(view: ReplicaSet, index: int, offset: int, file: str | None, left: Sequence[LeftConfigs]) -> Finding:
    """Return the finding `configs_left_behind`, for a log that begins after the topic's removal."""
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
    """Return the end of a sentence: the first differences between this replica's metadata and a rival's, or ""."""
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
