"""Copies of another cluster's log, though their `meta.properties` has this cluster's id.

Decides: when the logs are read again for it. Must not know: the rule, which is that of `kraft check` (`foreign_logs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from metadata_log.files.port import Files
from metadata_log.tools.replicas.foreign_logs import of_one_cluster
from metadata_log.tools.replicas.replica import Replica
from metadata_log.tools.replicas.same_log import share_batch, traces_of_prefix
from metadata_log.tools.verify.depth import Depth
from metadata_log.tools.verify.log_verification import Verification
from quorum.recovery.copies.log_copy import Copy, by_node
from quorum.recovery.copies.log_extent import source_of
from quorum.recovery.journal.log_directories import Place


def foreign_copies(files: Files, copies: Sequence[Copy]) -> list[tuple[Copy, str]]:
    """Return the copies of other clusters' logs, each with a sentence that says why it is one.

    Only if two copies have no batch in common are the logs read again: their metadata takes a replay.

    Raises:
        OSError: a log cannot be read again.
    """
    traces = [traces_of_prefix(copy.prefix) for copy in copies if copy.spans]
    if all(share_batch(one, other) for one, other in combinations(traces, 2)):
        return []
    ordered = by_node(copies)
    logs = [replayed(files, copy.place) for copy in ordered]
    judged = of_one_cluster(logs, files)
    if judged.undecided:
        return []
    kept = {id(log) for log in judged.logs}
    foreign = [copy for copy, log in zip(ordered, logs, strict=True) if id(log) not in kept]
    return [(copy, f"{one.meaning}: {one.advice}") for copy, one in zip(foreign, judged.findings, strict=True)]


def replayed(files: Files, place: Place) -> Replica:
    """Return the log of `place` after a replay, as `kraft check` knows it.

    Raises:
        OSError: it cannot be read.
    """
    source = source_of(place)
    facts = Verification(files, place.metadata, source, depth=Depth.REPLAY, probes=frozenset()).run()
    return Replica(source=source, facts=facts, label=source.label)
