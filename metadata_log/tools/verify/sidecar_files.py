"""Checks that the sidecar files fit their log: `leader-epoch-checkpoint`, `quorum-state`, `partition.metadata`.

Must not know: other replicas.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from metadata_log.directory import (
    COMMITTED_STATE_FILE,
    PARTITION_METADATA_FILE,
    QUORUM_STATE_FILE,
    QuorumState,
    parse_quorum_state,
    read_committed_state,
    read_partition_metadata,
)
from metadata_log.errors import CorruptFileError, NewerFileError
from metadata_log.files.port import Files, read_small_file
from metadata_log.format.epoch_file import EPOCH_FILE, parse_epochs
from metadata_log.format.epochs import EpochHistory, EpochStart
from metadata_log.ids import METADATA_TOPIC_ID, TopicId, id_text
from metadata_log.offsets import Epoch, Offset
from metadata_log.records.newer import NewerPart
from metadata_log.storage.checkpoint import checkpoint_ends, is_all_in_checkpoint
from metadata_log.storage.recovered_epochs import was_being_cut
from metadata_log.tools.findings.advice import OTHER_ELECTION, RESTORE_VOTES, STATIC_VOTERS
from metadata_log.tools.findings.facts import OtherLeader
from metadata_log.tools.findings.finding import Severity
from metadata_log.tools.findings.remedy import Advice
from metadata_log.tools.findings.sink import FindingSink
from metadata_log.tools.read.contents import EpochSpan
from metadata_log.tools.read.control_facts import Election
from metadata_log.tools.read.manifest import MANIFEST_FILE
from metadata_log.tools.verify.file_names import is_beyond_offsets

_CHECKPOINT: Final = re.compile(r"\d{20}-\d{10}\.checkpoint(\.deleted)?$", re.ASCII)


class LogOutline(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of the log that its sidecar files must fit. `starts`: file and position of epochs' first batches."""

    end: int
    spans: Sequence[EpochSpan]
    elections: Sequence[Election]
    starts: Mapping[int, tuple[str, int]]
    is_sound: bool


_REBUILD_EPOCHS: Final = (
    "compare the log with the other replicas first (kraft log diff), for the file may prove what a log lost; restore "
    "it from a backup of this directory, or rebuild it from the log while the node is stopped (kraft recover "
    "rebuild-indexes)"
)
_REWRITTEN: Final = (
    "nothing for this file: a node writes it again as it starts. Find out what removed it, and what else is gone there"
)
_FETCH_AGAIN: Final = "do that with the agent stopped: it has no vote, and fetches the log again"
_ADVICE: Final[Mapping[str, Advice | str]] = {
    QUORUM_STATE_FILE: RESTORE_VOTES,
    EPOCH_FILE: _REBUILD_EPOCHS,
    COMMITTED_STATE_FILE: _FETCH_AGAIN,
}
"""Advice by name of a missing or corrupt sidecar file, where the advice of the finding's kind is too general."""


def add_unusable(sink: FindingSink, path: str, error: CorruptFileError | OSError) -> None:
    """Add the finding for a sidecar file that is corrupt, of a later release, or unreadable."""
    if isinstance(error, NewerFileError):
        sink.add_newer(NewerPart(what=f"{path} ({error.what})"), file=path)
    elif isinstance(error, CorruptFileError):
        sink.add("corrupt_file", error.what, file=path, advice=_ADVICE.get(path.rsplit("/", 1)[-1]))
    else:
        sink.add_unreadable(path, error)


def _is_export(files: Files, directory: str) -> bool:
    """Return True for an export, which may lack sidecar files: earlier releases did not export them."""
    return files.exists(f"{directory}/{MANIFEST_FILE}")


def check_committed_state(files: Files, directory: str, names: Sequence[str], sink: FindingSink) -> int:
    """Return the high watermark in `committed-state`; 0 without a usable file."""
    if COMMITTED_STATE_FILE not in names:
        return 0
    try:
        state = read_committed_state(files, directory)
    except (CorruptFileError, OSError) as error:
        add_unusable(sink, f"{directory}/{COMMITTED_STATE_FILE}", error)
        return 0
    return 0 if state is None else int(state.high_watermark)


def check_epoch_file(
    files: Files, directory: str, log: LogOutline, sink: FindingSink, *, has_misnamed: bool = False
) -> None:
    """Check that the epochs of `leader-epoch-checkpoint` are the log's, from the first line on.

    The file may begin after the log: Kafka trims it to the checkpoint at which it cuts the log's start, and its first
    epoch then begins at that offset. The file may end after the log, with an epoch whose first batch was torn. It may
    be empty if a checkpoint covers all of the log.
    """
    path = f"{directory}/{EPOCH_FILE}"
    if not files.exists(path):
        if log.spans and not _is_export(files, directory):
            what = f"there is no {EPOCH_FILE} beside a log with epochs"
            sink.add("missing_file", what, file=path, advice=_REBUILD_EPOCHS)
        return
    try:
        known = parse_epochs(read_small_file(files, path), path)
    except (CorruptFileError, OSError) as error:
        add_unusable(sink, path, error)
        return
    if not log.is_sound:
        return
    if not known.entries:
        if log.spans and not is_all_in_checkpoint(files, directory, log.end):
            what = "it is empty, but the log has epochs"
            sink.add("epoch_file_wrong", what, file=path, offset=log.spans[0].start_offset)
        return
    held = known.truncate_to(Offset(log.end)).entries
    entries = tuple(EpochStart(epoch=Epoch(span.epoch), start_offset=Offset(span.start_offset)) for span in log.spans)
    found = EpochHistory(entries=entries).trim_to(known.entries[0].start_offset).entries if held else ()
    wrong = next((entry for entry in held if entry not in found), None)
    missing = next((entry for entry in found if entry not in held), None)
    if wrong is not None:
        _add_wrong_epoch(sink, path, wrong, found)
    elif missing is not None:
        what = f"it does not know that epoch {missing.epoch} began at offset {missing.start_offset}"
        severity = None
        if was_being_cut(files, directory, held, found):
            what += ": a truncation was interrupted before it cut the log, and a start takes the epochs from the log"
            severity = Severity.WARNING
        sink.add(
            "epoch_file_wrong",
            what,
            severity=severity,
            file=path,
            offset=missing.start_offset,
            epoch=missing.epoch,
        )
    elif not has_misnamed:
        _check_first(held[:1], log, files.listdir(directory), path, sink)


def _add_wrong_epoch(sink: FindingSink, path: str, wrong: EpochStart, found: tuple[EpochStart, ...]) -> None:
    """Add the finding for a line that the log contradicts. `found`: the epochs of the log."""
    there = EpochHistory(entries=found).epoch_at(wrong.start_offset)
    began = next((entry.start_offset for entry in found if entry.epoch == wrong.epoch), None)
    has = f"its first batch at offset {began}"
    if began is None:
        has = "no epoch there" if there < 0 else f"epoch {there} there"
    what = f"it says that epoch {wrong.epoch} began at offset {wrong.start_offset}; the log has {has}"
    sink.add("epoch_file_wrong", what, file=path, offset=wrong.start_offset, epoch=wrong.epoch)


def _check_first(
    first: Sequence[EpochStart], log: LogOutline, names: Sequence[str], path: str, sink: FindingSink
) -> None:
    """Check that the file's first epoch begins where it does in the log, or at a checkpoint's end.

    Kafka cuts a log's start only at a checkpoint. Checkpoints marked for deletion count, too: Kafka marks them first,
    and then writes this file.
    """
    cuts = {int(name[:20]) for name in names if _CHECKPOINT.match(name) and not is_beyond_offsets(name)}
    if not log.spans or max(cuts, default=0) < log.spans[0].start_offset:
        return  # no checkpoint covers the log's start: `missing_checkpoint` reports it
    for entry in first:
        began = next((span.start_offset for span in log.spans if span.epoch == entry.epoch), None)
        if entry.start_offset == began or int(entry.start_offset) in cuts:
            continue
        what = (
            f"it says that epoch {entry.epoch} began at offset {entry.start_offset}; in the log it does at {began}, "
            "and no checkpoint ends there that the log's start could have been cut off at"
        )
        sink.add("epoch_file_wrong", what, file=path, offset=entry.start_offset, epoch=entry.epoch)


def check_quorum_state(files: Files, directory: str, log: LogOutline, sink: FindingSink) -> QuorumState | None:
    """Check `quorum-state` against the log's last epoch and its leader; return its content, or None if unusable.

    A node writes the file before it appends an epoch's first record, so the file is never behind the log.
    """
    path = f"{directory}/{QUORUM_STATE_FILE}"
    if not files.exists(path):
        ends = [end for end in checkpoint_ends(files, directory) if end.offset > 0]
        epoch = log.spans[-1].epoch if log.spans else max((int(end.epoch) for end in ends), default=-1)
        if epoch >= 0 and not _is_export(files, directory):
            held = "log" if log.spans else "checkpoint"
            what = f"there is no {QUORUM_STATE_FILE} beside a {held} of epoch {epoch}: votes may be forgotten"
            sink.add("missing_file", what, file=path, epoch=epoch, advice=RESTORE_VOTES)
        return None
    try:
        state = parse_quorum_state(read_small_file(files, path), path)
    except (CorruptFileError, OSError) as error:
        add_unusable(sink, path, error)
        return None
    _check_static_voters(state, path, sink)
    last = log.spans[-1].epoch if log.spans and log.is_sound else -1
    if state.leader_epoch < last:
        what = f"it is of epoch {state.leader_epoch}, but the log has records of epoch {last}"
        sink.add("quorum_state_behind", what, file=path, offset=log.spans[-1].start_offset, epoch=last)
    election = next((known for known in log.elections if known.epoch == state.leader_epoch), None)
    if election is not None and state.leader_id not in (-1, election.leader_id):
        facts = OtherLeader(
            epoch=state.leader_epoch, named=state.leader_id, elected=election.leader_id, offset=election.offset
        )
        sink.add(facts, file=path, offset=election.offset, epoch=state.leader_epoch, advice=OTHER_ELECTION)
    return state


def strange_static_voters(state: QuorumState) -> str | None:
    """Return why the static voters in a `quorum-state` are not distinct node ids, or None if they are.

    Kafka reads repeated ids without an error, as a set.
    """
    repeated = [voter for voter, count in Counter(state.current_voters).items() if count > 1]
    negative = [voter for voter in state.current_voters if voter < 0]
    if repeated:
        return f"node {repeated[0]} stands among its voters {state.current_voters.count(repeated[0])} times"
    return f"a voter of it is {negative[0]}, which is no node's id" if negative else None


def _check_static_voters(state: QuorumState, path: str, sink: FindingSink) -> None:
    what = strange_static_voters(state)
    if what is not None:
        sink.add("corrupt_file", what, file=path, advice=STATIC_VOTERS)


def check_votes_cluster(state: QuorumState | None, cluster_id: str | None, directory: str, sink: FindingSink) -> None:
    """Check that a `quorum-state` of version 0 names no other cluster. Kafka leaves its field for the id empty."""
    if state is None or cluster_id is None or state.cluster_id in ("", cluster_id):
        return
    what = f"it says that it is of cluster {state.cluster_id}; its directory is of {cluster_id}"
    sink.add("foreign_cluster", what, file=f"{directory}/{QUORUM_STATE_FILE}")


def check_metadata_topic_id(files: Files, directory: str, log: LogOutline, sink: FindingSink) -> None:
    """Check that `partition.metadata` of the metadata log names the sentinel topic id.

    Kafka flushes the file before the first batch (`UnifiedLog.append`), so beside records it is never missing.
    """
    path = f"{directory}/{PARTITION_METADATA_FILE}"
    try:
        topic_id = read_partition_metadata(files, directory)
    except FileNotFoundError:
        if log.spans and not _is_export(files, directory):
            what = f"there is no {PARTITION_METADATA_FILE} beside a log with records"
            sink.add("missing_file", what, file=path, advice=_REWRITTEN)
        return
    except (CorruptFileError, OSError) as error:
        add_unusable(sink, path, error)
        return
    foreign = foreign_topic(topic_id)
    if foreign is not None:
        sink.add("foreign_metadata_topic", foreign, file=path, topic_id=id_text(topic_id))


def foreign_topic(topic_id: TopicId) -> str | None:
    """Return the sentence about a topic id that is not the metadata log's, or None."""
    if topic_id == METADATA_TOPIC_ID:
        return None
    return f"it names topic id {id_text(topic_id)}; the metadata log's is the sentinel {id_text(METADATA_TOPIC_ID)}"
