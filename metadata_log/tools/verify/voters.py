"""Whether checkpoints have the voters, and the kraft.version, that were in force at their end.

Decides: what tells them at an offset, and which file is wrong where several tell otherwise. Must not know: files, and
what else a checkpoint holds.

A log that goes back to offset 0, or that has the record itself, knows what was in force; so does the log of any other
replica. Where every log begins later, checkpoints tell by their majority: those that end at the offset, and those that
end elsewhere with nothing between in their replica's log that changes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec

from metadata_log.ids import id_text
from metadata_log.records import VotersRecord
from metadata_log.records.control import VotersRecordVoter
from metadata_log.tools.findings.facts import QuorumDiffers
from metadata_log.tools.findings.finding import Finding, finding
from metadata_log.tools.read.control_facts import QuorumChange
from metadata_log.tools.verify.checkpoint import CheckpointReport
from metadata_log.tools.verify.log_facts import LogFacts
from metadata_log.tools.words import join_names

Told: TypeAlias = int | VotersRecord | None
"""A kraft.version, or voters: None where there were none yet."""

_KIND = "checkpoint_disagrees"


class VotersLog(msgspec.Struct, frozen=True, kw_only=True):
    """One replica: what it is called, its node, and what was read of it."""

    label: str
    node_id: int | None
    facts: LogFacts


def against_own_log(report: LogFacts, node_id: int | None) -> list[Finding]:
    """The checkpoints of one replica that its own log proves wrong."""
    log = VotersLog(label="", node_id=node_id, facts=report)
    return [_finding(log, one, faults) for one in report.checkpoints if (faults := _by_logs(one, [log], "its log"))]


def among_replicas(logs: Sequence[VotersLog]) -> Iterator[Finding]:
    """The checkpoints that other replicas prove wrong; what a replica's own log proves was said before."""
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
    """Return how the checkpoint differs from what the other replicas say."""
    faults = _by_logs(checkpoint, [other for other in logs if other is not own], None)
    return faults or _by_checkpoints(checkpoint, own, logs)


def _finding(log: VotersLog, checkpoint: CheckpointReport, faults: Sequence[str]) -> Finding:
    end = checkpoint.end
    at = 0 if end is None else int(end.offset)
    facts = QuorumDiffers(at=at, faults=tuple(faults))
    epoch = None if end is None else int(end.epoch)
    return finding(facts, node_id=log.node_id, file=checkpoint.path, offset=at, epoch=epoch)


def _by_logs(checkpoint: CheckpointReport, logs: Sequence[VotersLog], name: str | None) -> list[str]:
    """How the checkpoint differs from what logs have there; nothing where none knows, or where they differ."""
    faults: list[str] = []
    for of_voters in (False, True):
        told: list[tuple[VotersLog, Told]] = []
        for log in logs:
            told += [(log, value) for value in _of_log(log.facts, checkpoint, of_voters=of_voters)]
        values = {_form(value) for _, value in told}
        if len(values) == 1:
            names = name or f"the log of {join_names(sorted({log.label for log, _ in told}))}"
            faults += _differences(_said(checkpoint, of_voters=of_voters), told[0][1], f"by {names}")
    return faults


def _of_log(report: LogFacts, checkpoint: CheckpointReport, *, of_voters: bool) -> Iterator[Told]:
    """What a log alone tells to be in force at the checkpoint's end, if it does."""
    if checkpoint.end is None or not report.is_sound or not report.epochs:
        return
    end = int(checkpoint.end.offset)
    if of_voters and _is_of_joining(checkpoint):
        return
    if end == 0:
        # The first leader writes what its own such checkpoint says into its epoch's first batch (KIP-853).
        first = [change for change in report.quorum_changes if change.begins_log]
        values = [value for change in first for value in change.told(of_voters=of_voters)]
        yield from (_but_for_leader(value, checkpoint, report) for value in values[:1])
        return
    if not report.start_offset <= end <= report.end_offset:
        return
    values = [value for change in report.quorum_changes for value in change.told(of_voters=of_voters, before=end)]
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


def _but_for_leader(told: int | VotersRecord, checkpoint: CheckpointReport, report: LogFacts) -> Told:
    """What a log begins with, with its first leader as the checkpoint has it: a leader puts the listeners that it has,
    and what it supports, into the set that it writes."""
    leaders = {election.leader_id for election in report.elections if election.offset == 0}
    if not isinstance(told, VotersRecord) or checkpoint.voter_set is None:
        return told
    known = {
        (voter.voter_id, voter.voter_directory_id): voter
        for voter in checkpoint.voter_set.voters
        if voter.voter_id in leaders
    }
    voters = tuple(known.get((voter.voter_id, voter.voter_directory_id), voter) for voter in told.voters)
    return msgspec.structs.replace(told, voters=voters)


def _said(checkpoint: CheckpointReport, *, of_voters: bool) -> Told:
    return checkpoint.voter_set if of_voters else checkpoint.kraft_version


def _by_checkpoints(checkpoint: CheckpointReport, own: VotersLog, logs: Sequence[VotersLog]) -> list[str]:
    """How it differs from the others that tell what was in force there, if not more than half of all agree with it."""
    faults: list[str] = []
    for of_voters in (False, True):
        if any(True for log in logs for _ in _of_log(log.facts, checkpoint, of_voters=of_voters)):
            continue
        told = [(log, said) for log in logs for said in _of_checkpoints(log.facts, checkpoint, of_voters=of_voters)]
        mine = _said(checkpoint, of_voters=of_voters)
        others = [(log, said) for log, said in told if _form(said) != _form(mine)]
        if not others or 2 * len(others) < len(told):
            continue
        names = sorted({log.label for log, _ in others})
        where = "in another checkpoint of its own" if names == [own.label] else f"in checkpoints of {join_names(names)}"
        faults += _differences(mine, others[0][1], where)
    return faults


def _of_checkpoints(report: LogFacts, checkpoint: CheckpointReport, *, of_voters: bool) -> Iterator[Told]:
    """What a replica's checkpoints tell of the end of one: those that end there, or with no change between."""
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
        first <= change.offset and any(True for _ in change.told(of_voters=of_voters, before=last))
        for change in changes
    )


def _form(told: Told) -> object:
    """What is the same where the same is told: the order of voters, and of their listeners, means nothing."""
    return tuple(sorted(map(_parts, told.voters))) if isinstance(told, VotersRecord) else told


def _parts(voter: VotersRecordVoter) -> tuple[int, bytes, str, str]:
    feature = voter.kraft_version_feature
    levels = f"{feature.min_supported_version} to {feature.max_supported_version}"
    return int(voter.voter_id), bytes(voter.voter_directory_id), _listeners(voter), levels


def _listeners(voter: VotersRecordVoter) -> str:
    return ", ".join(sorted(f"{at.name}://{at.host}:{at.port}" for at in voter.endpoints))


def _differences(mine: Told, other: Told, where: str) -> list[str]:
    """In words, what the checkpoint says (`mine`), and what is said `where`."""
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


def _named(told: Told) -> str:
    voters = told.voters if isinstance(told, VotersRecord) else ()
    return join_names([f"node {voter.voter_id}" for voter in voters]) if voters else "nobody"
