"""The historical extent of a log by its sidecar files, and findings if the log now ends before it: cut, emptied, gone.

Decides: the offset that each file proves. Must not know: other replicas, and whether the file itself is right.

- `leader-epoch-checkpoint`: Kafka adds an epoch's line as it appends the epoch's first batch, and a truncation removes
  the line. So the log reached the last line's start offset.
- `NNN.snapshot` (Kafka's producer state): Kafka writes it when the log ends at the offset in its name, on each roll and
  at a stop. A truncation cuts the log first, and then removes the files past its end. A follower that is killed between
  the two leaves such a file, so alone it is a note. It is an error if a checkpoint or a broker's clean shutdown proves
  that records past the log's end were committed. If several logs are given, a peer may prove that, too.
- `.index`, `.timeindex`: Kafka adds entries as it appends batches. Without its segment, the name alone proves that the
  log reached its base. While a node runs, entries of a truncated tail may remain (`index_files`). They prove nothing if
  they are older than the log's end, or if `quorum-state` has a later epoch than the log. Nor does a file whose entries
  do not rise, or lie so far past the log's end that no log was cut there.
- `quorum-state` that names the node itself as the leader: a leader first appends its LeaderChange. A crash between the
  two writes has a window of milliseconds, so this is a warning. A node that is stopped as it is elected resigns without
  a LeaderChange (KafkaRaftClient.pollLeader); a stop of all controllers at once brings that about. If a `.snapshot`
  shows that the log was closed at its end, nothing is missing.
- An index before the log's first segment: the segment of that index is lost (`check_start`).
- A checkpoint covers records that its node had, or received: `log_behind_checkpoint` is the finding.

Sources: Kafka 4.3's UnifiedLog, ProducerStateManager, AbstractIndex, LogLoader, QuorumState (3.9, 4.4 alike).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.directory import QuorumState
from metadata_log.errors import CorruptFileError
from metadata_log.files.port import Files, read_small_file
from metadata_log.format.epoch_file import EPOCH_FILE, parse_epochs
from metadata_log.format.epochs import EpochStart
from metadata_log.tools.findings.advice import KEEP_PROOF_FIRST, UNPROVEN_END
from metadata_log.tools.findings.facts import LogCut, LogMissing
from metadata_log.tools.findings.finding import Severity
from metadata_log.tools.findings.sink import FindingSink
from metadata_log.tools.read.manifest import MANIFEST_FILE, read_manifest
from metadata_log.tools.verify.index_files import Claim, orphan_reach
from metadata_log.tools.verify.producer_state import PRODUCERS_SUFFIX, producer_files
from metadata_log.tools.words import missing_records

_INDEX_NAME: Final = re.compile(r"(\d{20})\.(?:index|timeindex)", re.ASCII)
_SHOWN: Final = 4


class Proof(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A file that proves that the log reached `reach` (exclusive)."""

    file: str
    reach: int

    @property
    def name(self) -> str:
        return self.file.rsplit("/", 1)[-1]


def proofs_beside(files: Files, directory: str, names: Sequence[str]) -> list[Proof]:
    """Return the proofs in the files beside the segments; the segments are not read. Each is certain if its file is."""
    found = [Proof(file=f"{directory}/{name}", reach=int(name[:20])) for name in producer_files(list(names))]
    entries = epochs_beside(files, directory, names)
    if entries:
        found.append(Proof(file=f"{directory}/{EPOCH_FILE}", reach=int(entries[-1].start_offset)))
    if MANIFEST_FILE in names:
        with suppress(CorruptFileError, OSError):  # `find_sources` reports it
            manifest = read_manifest(Path(directory))
            reach = max(manifest.end_offset, manifest.proved_end or 0)
            found.append(Proof(file=f"{directory}/{MANIFEST_FILE}", reach=reach))
    present = set(names)
    for name in names:
        matched = _INDEX_NAME.fullmatch(name)
        if matched is not None and f"{matched[1]}.log" not in present:
            base = int(matched[1])
            found.append(Proof(file=f"{directory}/{name}", reach=base + _entries_reach(files, f"{directory}/{name}")))
    return found


def epochs_beside(files: Files, directory: str, names: Sequence[str]) -> tuple[EpochStart, ...]:
    """Return the lines of `leader-epoch-checkpoint`; none if it is unusable, which `verify.sidecar_files` reports."""
    path = f"{directory}/{EPOCH_FILE}"
    if EPOCH_FILE not in names:
        return ()
    try:
        return parse_epochs(read_small_file(files, path), path).entries
    except (CorruptFileError, OSError):
        return ()


def _entries_reach(files: Files, path: str) -> int:
    """Return one past the offset of an index's last entry, relative to its base; 0 without an entry."""
    try:
        data = read_small_file(files, path)
    except (CorruptFileError, OSError):
        return 0  # an unreadable file, or one larger than any index, proves only the base in its name
    return orphan_reach(path, data)


def check_start(directory: str, names: Sequence[str], bases: Sequence[int], sink: FindingSink) -> int | None:
    """Return the base of the earliest index whose segment is lost from the log's start, or None.

    A deletion of old segments leaves no such index: Kafka renames the segment (`.deleted`) before its indexes, and this
    implementation removes the indexes first.
    """
    present = set(names)
    found = (_INDEX_NAME.fullmatch(name) for name in names)
    lost = sorted(
        (int(matched[1]), matched[0])
        for matched in found
        if matched is not None and present.isdisjoint((f"{matched[1]}.log", f"{matched[1]}.log.deleted"))
    )
    if not bases or not lost or lost[0][0] >= bases[0]:
        return None
    base, name = lost[0]
    what = (
        f"the log begins with it at offset {bases[0]}, but {name} is of a segment before it, which is not there: "
        f"{missing_records(bases[0] - base)}"
    )
    sink.add("missing_segment", what, file=f"{directory}/{bases[0]:020}.log", position=0, offset=base)
    return base


class LogEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a log, with `file` and `position` of its last byte. A log without a segment has no `file`."""

    offset: int
    last_epoch: int
    file: str | None
    position: int


def check_reach(
    end: LogEnd,
    proofs: Sequence[Proof],
    claims: Sequence[Claim],
    directory: str,
    sink: FindingSink,
    *,
    ahead: bool,
    committed: int,
) -> int:
    """Return the offset (exclusive) that the log provably reached; add a finding if the log ends before it.

    Args:
        claims: entries past the log's end in the last segment's indexes.
        ahead: True if `quorum-state` has a later epoch than the log's last record.
        committed: all records before this offset are committed, by other files of the same node.
    """
    certain = [*proofs, *_certain(claims, ahead)]
    least = end.offset + 1 if end.file is not None else 0
    beyond = sorted((proof for proof in certain if proof.reach >= least), key=lambda proof: -proof.reach)
    uncertain = [claim for claim in claims if all(claim.file != proof.file for proof in certain)]
    for claim in uncertain:
        what = f"its last entry is for offset {claim.reach - 1}, and the log ends at {end.offset}: a tail was truncated"
        sink.add("index_remnant", what, file=claim.file, offset=claim.reach - 1)
    if not beyond:
        return end.offset
    best = beyond[0]
    others = tuple(dict.fromkeys((proof.name, proof.reach) for proof in beyond[1 : 1 + _SHOWN]))
    if end.file is None:
        sink.add(LogMissing(reached=best.reach, proof=best.name, others=others), file=directory, offset=0)
    else:
        is_note = committed <= end.offset and all(proof.file.endswith(PRODUCERS_SUFFIX) for proof in beyond)
        facts = LogCut(ends_at=end.offset, reached=best.reach, proof=best.name, others=others, is_unproven=is_note)
        sink.add(
            facts,
            severity=Severity.NOTE if is_note else None,
            file=end.file,
            position=end.position,
            offset=end.offset,
            epoch=_epoch(end),
            advice=UNPROVEN_END if is_note else None,
        )
    return best.reach


def _epoch(end: LogEnd) -> int | None:
    return end.last_epoch if end.last_epoch >= 0 else None


def _certain(claims: Sequence[Claim], ahead: bool) -> Iterator[Proof]:
    # One old time shows that a tail was truncated; then open files may hold entries of that tail.
    is_remnant = any(claim.is_open and claim.is_older for claim in claims)
    for claim in claims:
        if not claim.is_open or not (is_remnant or ahead):
            yield Proof(file=claim.file, reach=claim.reach)


def check_emptied(epochs: Sequence[EpochStart], end: LogEnd, sink: FindingSink) -> None:
    """Add a finding if the log has no record, but `leader-epoch-checkpoint` has an epoch.

    Kafka adds the line as it appends the epoch's first batch, so the log once had that batch.
    """
    if epochs and end.last_epoch < 0 and end.file is not None:
        first = epochs[-1]
        what = (
            f"the log holds nothing, but {EPOCH_FILE} says that epoch {first.epoch} began at offset "
            f"{first.start_offset}: the node was killed as it wrote that, or the log was emptied"
        )
        sink.add(
            "log_cut",
            what,
            severity=Severity.WARNING,
            file=end.file,
            position=end.position,
            offset=end.offset,
            advice=KEEP_PROOF_FIRST,
        )


def check_own_state(
    state: QuorumState | None,
    node_id: int | None,
    end: LogEnd,
    is_sound: bool,
    directory: str,
    sink: FindingSink,
    *,
    was_closed: bool,
) -> None:
    """Add a finding if `quorum-state` shows that the node ran, but it has no log, or led an epoch that the log lacks.

    Args:
        was_closed: True if a clean stop closed the log at this end.
    """
    if state is not None and end.file is None and state.leader_epoch > 0:
        what = f"there is no segment, but quorum-state is of epoch {state.leader_epoch}: a node that runs has one"
        sink.add("log_missing", what, file=directory, offset=0)
        return
    if (
        state is None
        or was_closed
        or not is_sound
        or state.leader_id != node_id
        or state.leader_epoch <= end.last_epoch
    ):
        return
    what = (
        f"the log ends at offset {end.offset}"
        f"{'' if end.last_epoch < 0 else f' in epoch {end.last_epoch}'}, but quorum-state says that this node led "
        f"epoch {state.leader_epoch}, and a leader begins with a record: the node was killed in that moment, or the "
        "log has lost its end"
    )
    sink.add(
        "log_cut",
        what,
        severity=Severity.WARNING,
        file=end.file,
        position=end.position,
        offset=end.offset,
        epoch=_epoch(end),
        advice=KEEP_PROOF_FIRST,
    )
