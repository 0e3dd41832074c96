"""Whether replicas that stand at one offset hold the same metadata: their checkpoints, and what their logs replay to.

Decides: at which offsets that is asked (wherever any node has a checkpoint), and whose answer is the odd one: any that
not more than half of the replicas give, since brokers know as much as voters. Must not know: how a hash is made. What a
log's batches differ in is `compare`'s to say: a replica with other findings is left out here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metadata_log.snapshot import parse_checkpoint_name
from metadata_log.tools.agreement import Judge
from metadata_log.tools.findings import Finding, finding
from metadata_log.tools.quorum_view import QuorumView
from metadata_log.tools.sources import NodeSource
from metadata_log.tools.verify_report import metadata_hash


def probes_of(nodes: Sequence[NodeSource]) -> frozenset[int]:
    """The offsets at which any of these nodes has a checkpoint of metadata."""
    names = [path.name for node in nodes if node.metadata is not None for path in node.metadata.iterdir()]
    ends = [end for name in names if (end := parse_checkpoint_name(name)) is not None]
    return frozenset(int(end.offset) for end in ends if end.offset > 0)


def check_hashes(view: QuorumView, parted: frozenset[int], common_end: int) -> Iterator[Finding]:
    """Checkpoints, and logs, that say something else than other replicas do there; of one replica's log the first.

    `parted`: the replicas, by their number, whose logs go another way than others' from `common_end` on, which was
    found harmless: past it they are not asked.
    """
    judge = Judge(view.views, len(view.voters), view.bounds)
    blamed: set[int] = set()
    for offset in sorted({offset for replica in view.replicas for offset in replica.report.hashes} | _ends(view)):
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
            for index in sorted(side):
                file = hashes[index][1]
                if file is not None or index not in blamed:
                    yield _finding(view, index, offset, file, others)
                blamed.add(index)


def _ends(view: QuorumView) -> set[int]:
    checkpoints = [found for replica in view.replicas for found in replica.report.checkpoints]
    return {int(found.end.offset) for found in checkpoints if found.end is not None and found.end.offset > 0}


def _hashes_at(view: QuorumView, offset: int, left_out: frozenset[int]) -> dict[int, tuple[str, str | None]]:
    """Each sound replica's hash at an offset: its checkpoint's with the file, else its log's."""
    found: dict[int, tuple[str, str | None]] = {}
    for index, replica in enumerate(view.replicas):
        if index in left_out or any(finding.counts for finding in replica.report.findings):
            continue
        checkpoint = next(
            (known for known in replica.report.checkpoints if known.end is not None and known.end.offset == offset),
            None,
        )
        of_checkpoint = None if checkpoint is None or checkpoint.image is None else metadata_hash(checkpoint.image)
        if checkpoint is not None and of_checkpoint is not None:
            found[index] = (of_checkpoint, checkpoint.path)
        elif offset in replica.report.hashes:
            found[index] = (replica.report.hashes[offset], None)
    return found


def _finding(view: QuorumView, index: int, offset: int, file: str | None, others: str) -> Finding:
    replica = view.replicas[index]
    if file is not None:
        meaning = f"at its end, offset {offset}, {others} have other metadata than it says"
        return finding("checkpoint_disagrees", meaning, node_id=replica.source.node_id, file=file, offset=offset)
    meaning = f"at offset {offset} its log gives other metadata than {others} have, though no batch differs"
    return finding("metadata_differs", meaning, node_id=replica.source.node_id, file=replica.last_place, offset=offset)
