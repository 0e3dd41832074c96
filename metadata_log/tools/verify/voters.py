"""Checks that checkpoints have the voters and the kraft.version that were in force at their end.

Decides: which log or checkpoint is the witness at an offset, and which is wrong if they differ. Must not know: the
metadata in a checkpoint.

A log is a witness if it begins at offset 0, or has the record itself; so is the log of any other replica. If every log
begins later, the majority of checkpoints counts. These are the ones that end at the offset, and the ones that end
elsewhere if their replica's log has no change between the two. In a tie, a set with more of the directories that are
here is right: each `meta.properties` has its id from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec

from metadata_log.ids import DirectoryId, id_text
from metadata_log.records import VotersRecord
from metadata_log.records.control import VotersRecordVoter
from metadata_log.tools.findings.facts import QuorumDiffers
from metadata_log.tools.findings.finding import Finding, finding
from metadata_log.tools.read.control_facts import QuorumChange
from metadata_log.tools.verify.checkpoint import CheckpointReport
from metadata_log.tools.verify.log_facts import LogFacts
from metadata_log.tools.words import join_names

Stated: TypeAlias = int | VotersRecord | None
"""A kraft.version, or the voters; None if there is no voter set yet."""

_KIND = "checkpoint_disagrees"


class VotersLog(msgspec.Struct, frozen=True, kw_only=True):
    """One replica: its name in findings, its node and the facts of its directory.

    `directory_id`: by its `meta.properties`; None if unknown.
    """

    label: str
    node_id: int | None
    facts: LogFacts
    directory_id: DirectoryId | None = None


def against_own_log(report: LogFacts, node_id: int | None) -> list[Finding]:
    """Return a finding for each checkpoint of one replica that its own log proves wrong."""
    log = VotersLog(label="", node_id=node_id, facts=report)
    return [_finding(log, one, faults) for one in report.checkpoints if (faults := _by_logs(one, [log], "its log"))]


def among_replicas(logs: Sequence[VotersLog]) -> Iterator[Finding]:
    """Yield a finding for each checkpoint that other replicas prove wrong, unless its own log already did."""
    for log in logs:
        said = {(found.kind, found.file, found.offset) for found in log.facts.findings}
        for checkpoint in log.facts.checkpoints:
            if checkpoint.end is None or (_KIND, checkpoint.path, int(checkpoint.end.offset)) in said:
                continue
            faults = _by_others(checkpoint, log, logs)
            if faults:
                yield _finding(log, checkpoint, faults)


def is_denied(checkpoint: CheckpointReport, own: VotersLog, logs: Sequence[VotersLog]) -> bool:
    """Return True if its own log, or the other replicas, prove that the quorum at its end was another."""
    return bool(_by_logs(checkpoint, [own], "its log") or _by_others(checkpoint, own, logs))


def _by_others(checkpoint: CheckpointReport, own: VotersLog, logs: Sequence[VotersLog]) -> list[str]:
    """Return how the checkpoint differs from the logs of the other replicas, or else from the checkpoints."""
    faults = _by_logs(checkpoint, [other for other in logs if other is not own], None)
    return faults or _by_checkpoints(checkpoint, own, logs)


def _finding(log: VotersLog, checkpoint: CheckpointReport, faults: Sequence[str]) -> Finding:
    end = checkpoint.end
    at = 0 if end is None else int(end.offset)
    facts = QuorumDiffers(at=at, faults=tuple(faults))
    epoch = None if end is None else int(end.epoch)
    return finding(facts, node_id=log.node_id, file=checkpoint.path, offset=at, epoch=epoch)


def _by_logs(checkpoint: CheckpointReport, logs: Sequence[VotersLog], name: str | None) -> list[str]:
    """Return how the checkpoint differs from the logs at its end; nothing if no log knows, or the logs differ."""
    faults: list[str] = []
    for of_voters in (False, True):
        stated: list[tuple[VotersLog, Stated]] = []
        for log in logs:
            stated += [(log, value) for value in _of_log(log.facts, checkpoint, of_voters=of_voters)]
        values = {_form(value) for _, value in stated}
        if len(values) == 1:
            names = name or f"the log of {join_names(sorted({log.label for log, _ in stated}))}"
            faults += _differences(_said(checkpoint, of_voters=of_voters), stated[0][1], f"by {names}")
    return faults


def _of_log(report: LogFacts, checkpoint: CheckpointReport, *, of_voters: bool) -> Iterator[Stated]:
    """Yield the value in force at the checkpoint's end, if this log alone proves it."""
    if checkpoint.end is None or not report.is_sound or not report.epochs:
        return
    end = int(checkpoint.end.offset)
    if of_voters and _is_of_joining(checkpoint):
        return
    if end == 0:
        # The first leader copies the values of its checkpoint at offset 0 into its epoch's first batch (KIP-853).
        first = [change for change in report.quorum_changes if change.begins_log]
        values = [value for change in first for value in change.stated(of_voters=of_voters)]
        yield from (_but_for_leader(value, checkpoint, report) for value in values[:1])
        return
    if not report.start_offset <= end <= report.end_offset:
        return
    values = [value for change in report.quorum_changes for value in change.stated(of_voters=of_voters, before=end)]
    if values:
        yield values[-1]
    elif report.start_offset == 0:
        yield None if of_voters else 0


def _is_of_joining(checkpoint: CheckpointReport) -> bool:
    """Return True for a checkpoint of offset 0 that holds bootstrap records, and no voters.

    Formatting writes it for a controller that joins a quorum, from 4.4-IV0 on (KAFKA-19648).
    """
    is_first = checkpoint.end is not None and checkpoint.end.offset == 0
    return is_first and checkpoint.voter_set is None and checkpoint.records > 0


def _but_for_leader(stated: int | VotersRecord, checkpoint: CheckpointReport, report: LogFacts) -> Stated:
    """Return the log's first value, with the first leader's entry replaced by the checkpoint's.

    A leader writes its current listeners and supported versions into the set, which may differ from the checkpoint's.
    """
    leaders = {election.leader_id for election in report.elections if election.offset == 0}
    if not isinstance(stated, VotersRecord) or checkpoint.voter_set is None:
        return stated
    known = {
        (voter.voter_id, voter.voter_directory_id): voter
        for voter in checkpoint.voter_set.voters
        if voter.voter_id in leaders
    }
    voters = tuple(known.get((voter.voter_id, voter.voter_directory_id), voter) for voter in stated.voters)
    return msgspec.structs.replace(stated, voters=voters)


def _said(checkpoint: CheckpointReport, *, of_voters: bool) -> Stated:
    return checkpoint.voter_set if of_voters else checkpoint.kraft_version


def _by_checkpoints(checkpoint: CheckpointReport, own: VotersLog, logs: Sequence[VotersLog]) -> list[str]:
    """Return how it differs from the other checkpoints at its end, unless more than half of all agree with it.

    A log that knows the value is the better witness: then checkpoints are not compared.
    """
    faults: list[str] = []
    for of_voters in (False, True):
        if any(True for log in logs for _ in _of_log(log.facts, checkpoint, of_voters=of_voters)):
            continue
        stated = [(log, said) for log in logs for said in _of_checkpoints(log.facts, checkpoint, of_voters=of_voters)]
        mine = _said(checkpoint, of_voters=of_voters)
        others = [(log, said) for log, said in stated if _form(said) != _form(mine)]
        if not others or 2 * len(others) < len(stated):
            continue
        if 2 * len(others) == len(stated) and all(_present(mine, logs) > _present(said, logs) for _, said in others):
            continue
        names = sorted({log.label for log, _ in others})
        where = (
            "in another checkpoint of the same node"
            if names == [own.label]
            else f"in checkpoints of {join_names(names)}"
        )
        faults += _differences(mine, others[0][1], where)
    return faults


def _present(stated: Stated, logs: Sequence[VotersLog]) -> int:
    """Return the number of these replicas' directories that a voter set names; 0 if it is unknown."""
    named = stated.voters if isinstance(stated, VotersRecord) else ()
    keys = {(int(voter.voter_id), voter.voter_directory_id) for voter in named}
    return sum((log.node_id, log.directory_id) in keys for log in logs)


def _of_checkpoints(report: LogFacts, checkpoint: CheckpointReport, *, of_voters: bool) -> Iterator[Stated]:
    """Yield the value of each checkpoint of a replica that ends at the same offset, or with no change between."""
    if checkpoint.end is None:
        return
    end = int(checkpoint.end.offset)
    for other in report.checkpoints:
        if other.end is None or (of_voters and (_is_of_joining(checkpoint) or _is_of_joining(other))):
            continue
        first, last = sorted((int(other.end.offset), end))
        if first == last or (
            first > 0
            and report.is_sound
            and report.start_offset <= first
            and last <= report.end_offset
            and not _changes(report.quorum_changes, first, last, of_voters=of_voters)
        ):
            yield _said(other, of_voters=of_voters)


def _changes(changes: Sequence[QuorumChange], first: int, last: int, *, of_voters: bool) -> bool:
    return any(
        first <= change.offset and any(True for _ in change.stated(of_voters=of_voters, before=last))
        for change in changes
    )


def _form(stated: Stated) -> object:
    """Return a form that is equal for equal values: the order of voters and of their listeners does not matter."""
    return tuple(sorted(map(_parts, stated.voters))) if isinstance(stated, VotersRecord) else stated


def _parts(voter: VotersRecordVoter) -> tuple[int, bytes, str, str]:
    feature = voter.kraft_version_feature
    levels = f"{feature.min_supported_version} to {feature.max_supported_version}"
    return int(voter.voter_id), bytes(voter.voter_directory_id), _listeners(voter), levels


def _listeners(voter: VotersRecordVoter) -> str:
    return ", ".join(sorted(f"{at.name}://{at.host}:{at.port}" for at in voter.endpoints))


def _differences(mine: Stated, other: Stated, where: str) -> list[str]:
    """Return a phrase for each difference between the checkpoint's value (`mine`) and the one found at `where`."""
    if not isinstance(mine, VotersRecord) or not isinstance(other, VotersRecord):
        if mine == other:
            return []
        if isinstance(mine, VotersRecord) or isinstance(other, VotersRecord):
            return [f"it names {_named(mine)}, and the voters are {_named(other)} {where}"]
        return [f"its kraft.version is {mine}, and {other} {where}"]
    ours, theirs = ({int(voter.voter_id): _parts(voter) for voter in side.voters} for side in (mine, other))
    found = [f"node {node_id} is no voter in it, and one {where}" for node_id in sorted(theirs.keys() - ours.keys())]
    found += [f"node {node_id} is a voter in it, and none {where}" for node_id in sorted(ours.keys() - theirs.keys())]
    for node_id in sorted(ours.keys() & theirs.keys()):
        (_, own_id, own_places, own_levels), (_, its_id, its_places, its_levels) = ours[node_id], theirs[node_id]
        if own_id != its_id:
            found.append(f"voter {node_id} has directory {id_text(own_id)}, and {id_text(its_id)} {where}")
        if own_places != its_places:
            found.append(f"voter {node_id} listens at {own_places}, and at {its_places} {where}")
        if own_levels != its_levels:
            found.append(f"voter {node_id} supports kraft.version {own_levels}, and {its_levels} {where}")
    return found


def _named(stated: Stated) -> str:
    voters = stated.voters if isinstance(stated, VotersRecord) else ()
    return join_names([f"node {voter.voter_id}" for voter in voters]) if voters else "nobody"
