"""The historical extent of a copy's log, by the proofs that `kraft check` uses, and whether its tail may be torn.

Decides: which of a check's findings a repair needs. Must not know: the checks, and other copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.directory import read_committed_state
from metadata_log.files.port import Files
from metadata_log.format.epoch_file import EPOCH_FILE
from metadata_log.ids import TopicId
from metadata_log.storage.checkpoint import BOOTSTRAP_CHECKPOINT
from metadata_log.tools.findings.finding import Finding, Severity
from metadata_log.tools.prefix.own_epochs import OwnEpochs
from metadata_log.tools.prefix.prefix_parts import Stop
from metadata_log.tools.prefix.valid_prefix import ValidPrefix
from metadata_log.tools.read.sources import LogDirectory, NodeSource
from metadata_log.tools.replicas.first_vote import has_only_voted
from metadata_log.tools.replicas.replica import Replica, read_replica
from metadata_log.tools.verify.depth import Depth
from metadata_log.tools.verify.log_facts import LogFacts
from metadata_log.tools.verify.log_verification import Verification
from metadata_log.tools.verify.lost_end import SHORT_LOG, is_unproven_end, proof_of_more
from quorum.recovery.copies.sidecar_files import Unread
from quorum.recovery.journal.log_directories import Place

_INDEXES: Final = (".index", ".timeindex")


class Reach(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The historical extent of a log, `proved_end`. `short`: its proof, if the log now ends before it.

    `is_unproven`: no sidecar file proves that the missing records were committed.
    `used_by`: the process that runs on the directory, 0 if its id is unknown; None if no process does.
    """

    proved_end: int = 0
    kept_committed: int = 0
    """The node's `committed-state` proves all records before this offset committed."""
    kept_id: TopicId | None = None
    """The metadata topic's own id, by the same file."""
    short: str | None = None
    proof_of_more: str | None = None
    """`short` without the proofs of commits, which other copies may extend."""
    is_unproven: bool = False
    destroyed: tuple[tuple[str | None, int | None, str], ...] = ()
    """File, position and meaning of bytes that no interrupted write leaves."""
    obstacles: tuple[Unread, ...] = ()
    """Files that make a start of Kafka fail, or end its log early, although they hold no record."""
    used_by: int | None = None

    def judged(self, stop: Stop | None) -> Stop | None:
        """Return `stop` as damage if no interrupted write explains it, and None if a running node is writing there."""
        if stop is None or not stop.is_torn:
            return stop
        for file, position, what in self.destroyed:
            if (file, position) == (stop.file, stop.position):
                return msgspec.structs.replace(stop, is_torn=False, what=what)
        return None if self.used_by is not None else stop


def read_with_reach(files: Files, place: Place, own: OwnEpochs) -> tuple[Replica, ValidPrefix, Reach]:
    """Read the log of `place` in one pass, and compare it with its sidecar files. `own`: see `read_replica`.

    The image at the end of the valid prefix is that of the replica, too, if the prefix has the whole log.

    Raises:
        OSError: a file cannot be read.
    """
    read = read_replica(source_of(place), depth=Depth.PREFIX, files=files, own=own)
    prefix = read.prefix
    if prefix is None:
        raise ValueError(f"{place.label} was read without its valid prefix")
    image = None if prefix.state is None or prefix.end.offset < read.facts.end_offset else prefix.state.image
    replica = msgspec.structs.replace(read, facts=msgspec.structs.replace(read.facts, image=image))
    return replica, prefix, _reach_of(files, place, replica.facts)


def suspects_of(files: Files, place: Place) -> frozenset[str]:
    """Return the files of `place` in which a check has a finding.

    Raises:
        OSError: the directory cannot be listed.
    """
    report = Verification(files, place.metadata, source_of(place), depth=Depth.BYTES, probes=frozenset()).run()
    return frozenset(found.file for found in report.findings if found.file is not None)


def source_of(place: Place) -> NodeSource:
    """Return the place as `kraft check` knows it."""
    disk = LogDirectory(path=Path(place.log_dir), identity=place.identity)
    return NodeSource(
        path=disk.path,
        node_id=place.node_id,
        metadata=Path(place.metadata),
        log_directories=(disk,),
        high_watermark=None if place.manifest is None else place.manifest.high_watermark,
        static_voters=() if place.manifest is None else place.manifest.static_voters,
        is_export=place.manifest is not None,
    )


def _reach_of(files: Files, place: Place, report: LogFacts) -> Reach:
    short = [found for found in report.findings if found.kind in SHORT_LOG]
    is_empty = report.end_offset == 0 and not report.epochs
    state = report.quorum_state
    shown = _shown(short, is_empty=is_empty)
    said = None if shown is None else shown.meaning
    has_voted = has_only_voted(state, place.node_id)  # other nodes' logs show what such a vote proves
    if said is None and is_empty and state is not None and state.leader_epoch > 0 and not has_voted:
        said = f"the log holds nothing, but quorum-state says that the node took part in epoch {state.leader_epoch}"
    destroyed = tuple(
        (found.file, found.position, found.meaning) for found in report.findings if found.kind == "corrupt_batch"
    )
    return Reach(
        proved_end=report.proved_end,
        kept_committed=report.kept_committed,
        kept_id=_kept_id(files, place) if report.kept_committed else None,
        short=said,
        proof_of_more=said if shown is None else proof_of_more(shown),
        is_unproven=shown is not None and is_unproven_end(shown),
        destroyed=destroyed,
        obstacles=tuple(_obstacles(files, report.findings, place if report.end_offset > 0 else None)),
    )


def _obstacles(files: Files, findings: Iterable[Finding], begun: Place | None) -> Iterator[Unread]:
    """Yield the files that keep a node from its log, or from its epochs, and hold no record of it.

    `begun`: the place, if its log has records: then a start needs nothing of `bootstrap.checkpoint`, but reads it.
    """
    bootstrap = None if begun is None else f"{begun.log_dir}/{BOOTSTRAP_CHECKPOINT}"
    known: set[str] = set()
    for found in findings:
        if found.file is None:
            continue
        is_index = found.kind == "unreadable_file" and found.file.endswith(_INDEXES) and files.is_dir(found.file)
        is_empty = found.kind == "offset_repeated" and _is_empty(files, found.file)
        is_bootstrap = found.file == bootstrap and found.bars_start and found.file not in known
        if is_index or is_empty or is_bootstrap or found.kind == "strange_file":
            known.add(found.file)
            yield Unread(path=found.file, why=found.meaning, is_newer=False, is_in_the_way=True)
        elif _is_wrong_history(found.file, found) and found.file not in known:
            known.add(found.file)
            yield Unread(path=found.file, why=found.meaning, is_newer=False, allows_start=True)


def _is_wrong_history(path: str, found: Finding) -> bool:
    """Return True for an epoch history that is missing, or that has other epochs than the log.

    A warning is of a truncation of this project's node, whose start takes the epochs from the log.
    """
    is_wrong = found.kind == "epoch_file_wrong" and found.severity is Severity.ERROR
    return path.endswith(f"/{EPOCH_FILE}") and (is_wrong or found.kind == "missing_file")


def _is_empty(files: Files, path: str) -> bool:
    handle = files.open(path, read_only=True)
    try:
        return handle.size() == 0
    finally:
        handle.close()


def _kept_id(files: Files, place: Place) -> TopicId | None:
    """Return the topic id in `committed-state`, or None without a valid one."""
    state = read_committed_state(files, place.metadata)
    return None if state is None else state.topic_id


def _shown(short: list[Finding], *, is_empty: bool) -> Finding | None:
    """Return the finding that proves that the log once reached further, or None.

    A warning alone proves no loss: a node that was killed as it began to lead may end a moment too early. A note, about
    a producer state file, proves that the log held more, committed or not.
    """
    return next((found for found in short if found.severity is not Severity.WARNING or is_empty), None)
