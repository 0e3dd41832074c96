"""The output of `kraft recover`: tables and numbered steps, or JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from typing import Final

import msgspec

from metadata_log.counts import counted
from metadata_log.files.port import Files
from metadata_log.ids import id_text
from metadata_log.image.older_release import STARTED_BY
from metadata_log.tools.findings.finding import Finding
from metadata_log.tools.times import time_text
from metadata_log.tools.words import capital
from metadata_log.voters import VoterSet
from quorum.cli.findings_output import finding_rows
from quorum.cli.output import OF_A_LOG, OutputFormat, print_table, show_json, with_times
from quorum.cli.tables import print_wrapped, wrapped
from quorum.recovery.advice.discarded_records import discarded_records
from quorum.recovery.advice.faults import fault_among, note_of
from quorum.recovery.advice.newer_release import who_votes
from quorum.recovery.advice.possible_repairs import Plan, Repair
from quorum.recovery.advice.running_nodes import use_of
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.abandoned_branch import repair_beside
from quorum.recovery.evidence.other_disks import not_here, of_other_nodes, other_disks
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.guards.request import unlisted
from quorum.recovery.inspection import Inspection
from quorum.recovery.journal.changes import FileChange, Rewrite
from quorum.recovery.journal.next_steps import Step
from quorum.recovery.repairs.drop_snapshot import beside_whole
from quorum.recovery.verification import Verification

_COLUMNS = (
    "node_id", "role", "end_offset", "epoch", "vote", "start_offset", "checkpoint", "written", "kraft_version",
    "cluster_id", "path", "fault",
)  # fmt: skip


def show_inspection(found: Inspection) -> None:
    """Print an inspection for people."""
    known = found.evidence
    print_table(_COLUMNS, [_row(known, copy) for copy in known.copies], OF_A_LOG)
    print()
    cluster = "unknown" if known.cluster_id is None else known.cluster_id or "with an empty id"
    print_wrapped(f"Cluster {cluster}, best copy first. {_voters_text(known)}")
    if known.bounds.lower and not any(one.repairs for one in known.conflicts):  # two repairs made two histories
        where = " of the repaired log" if any(repair_beside(known.copies, copy) for copy in known.copies) else ""
        is_bounded = known.bounds.upper is not None and not known.conflicts  # a wrong copy may lack the records
        upper = f"; none from offset {known.bounds.upper} on{where}" if is_bounded else ""
        print_wrapped(f"Committed: all before offset {known.bounds.lower} ({known.bounds.because}){upper}.")
    for line in (
        *([f"NOTE: {known.newer.text()}."] if known.newer else []),
        *(f"NOTE: {older}. {STARTED_BY}." for older in _older(known)),
        *(f"NOTE: {copy.label}: {note}." for copy in known.copies if (note := note_of(known, copy)) is not None),
        *(f"DISCARDED: {lost}." for lost in discarded_records(known)),
        *(f"NOT KNOWN: {said}." for copy in known.copies for said in copy.audited.unread),
        *(f"NOT COUNTED: {one}." for one in known.stale),
        *(f"NOT TO START: {one}." for one in known.barred),
    ):
        print_wrapped(line)
    for copy in known.in_use:
        print_wrapped(f"{copy.label}: {use_of(copy)}; its log reached offset {copy.end.offset} so far.")
    for conflict in known.conflicts:
        print_wrapped(f"CONFLICT: {conflict}: {conflict.cause}.")
    for pair in known.uncompared:
        print_wrapped(f"NOT COMPARED: {pair}. No statement about one is valid for the other.")
    if known.undecided is not None:
        print_wrapped(f"NOT DECIDED: {known.undecided}.")
    for line in (
        *(f"NO VOTE: {disk}." for disk in other_disks(known)),
        *(f"ANOTHER'S: {one}." for one in of_other_nodes(known)),
    ):
        print_wrapped(line)
    absent = [*not_here(known), *(f"broker {node}" for node in known.absent_brokers)]
    if absent:
        print_wrapped(f"No copy here: {', '.join(absent)}.")
    for line in (
        *(f"NOT LISTED: {said}." for said in unlisted(known)),
        *(f"DAMAGED: {said}." for said in beside_whole(known)),
        *(f"LEFT OUT: {left_out.problem}." for left_out in found.unjudged),
    ):
        print_wrapped(line)
    print()
    newer = {copy.label for copy in known.copies if copy.newer_voters is not None}
    for line in _repair_lines(found.plan, newer):
        print_wrapped(line)
    for line in step_lines(found.plan.steps):
        print(line)


def _repair_lines(plan: Plan, newer: Collection[str]) -> Iterator[str]:
    """Yield the situation and the repairs.

    `newer`: copies that only the release that wrote them, or its tools, can repair.
    """
    yield plan.situation
    yield ""
    if plan.repairs:
        yield "What a repair would keep, by the copy that it is made from:"
    for repair in plan.repairs:
        yield f"  {repair.name} on {repair.on}"
        if repair.refused is not None:
            yield f"      {'not done here' if repair.on in newer else 'not possible'}: {repair.refused}"
            continue
        yield f"      keeps {repair.keeps}"
        for lost in repair.loses:
            yield f"      loses {lost}"
        if not repair.loses:
            more = "no metadata that a copy here holds: NoOps and elections only"
            yield f"      loses {more if repair.is_behind else 'nothing that a copy here holds'}"
        if repair.may_lose is not None:
            yield f"      may lose {repair.may_lose}"
        for left in repair.cannot_follow:
            yield f"      cannot follow: {left}"
    if plan.repairs:
        yield ""


def step_data(step: Step) -> dict[str, object]:
    """Return the step for JSON: its sentence, and its commands as they are printed."""
    return {"text": step.text, "commands": step.commands}


def step_lines(steps: Sequence[Step], title: str = "Recommended:") -> Iterator[str]:
    """Yield numbered steps, each command on a separate line."""
    if not steps:
        return
    yield title
    for number, step in enumerate(steps, 1):
        yield from wrapped(f"{number:3}. {step.text}:" if step.commands else f"{number:3}. {step.text}.")
        for command in step.commands:
            yield f"         {command}"


def _voters_text(known: RepairEvidence) -> str:
    voters = known.best_with_metadata.voters
    if voters is not None:
        return f"Voters (kraft.version {known.best_with_metadata.kraft_version}): {', '.join(map(str, voters))}."
    if known.best_with_metadata.newer_voters is not None:
        return f"Who votes is not known: {who_votes(known)}."
    if known.voters:
        names = ", ".join(str(voter.node_id) for voter in known.voters)
        return f"Static voters (kraft.version 0, in the configuration): {names}."
    return "Who votes is not known."


def _row(known: RepairEvidence, copy: Copy) -> dict[str, object]:
    state = copy.quorum_state
    vote = None if state is None else f"{state.leader_epoch}"
    if state is not None and state.voted_key is not None:
        vote = f"{vote} for {state.voted_key.node_id}"
    return {
        "node_id": copy.node_id,
        "role": role_of(known, copy),
        "end_offset": int(copy.end.offset),
        "epoch": int(copy.end.epoch),
        "vote": vote,
        "start_offset": copy.start_offset,
        "checkpoint": None if copy.origin is None else str(copy.origin.end),
        "written": time_text(copy.prefix.last_timestamp_ms),
        "kraft_version": None if copy.prefix.quorum is None else copy.kraft_version,
        "cluster_id": None if copy.place.identity is None else copy.place.identity.cluster_id,
        "fault": fault_among(known, copy) or ("torn tail, cut at the next start" if copy.stop is not None else None),
        "path": copy.place.log_dir,
    }


def role_of(known: RepairEvidence, copy: Copy) -> str:
    """Return the node's role in the best copy's metadata, or `unknown`."""
    image = known.best_with_metadata.last_image
    if known.is_voter(copy):
        return "voter"
    if image is None or copy.node_id is None:
        return "unknown"
    if copy.node_id in image.cluster.controllers:
        return "controller"
    if copy.node_id in image.cluster.brokers:
        return "broker"
    return "observer" if known.in_force.sets else "unknown"


def _older(known: RepairEvidence) -> list[str]:
    """Return the sentences about copies of Kafka before 3.3-IV3, each once."""
    said = (copy.why_older for copy in known.copies)
    return list(dict.fromkeys(one for one in said if one is not None))


def inspection_data(found: Inspection) -> dict[str, object]:
    """Return an inspection for programs."""
    known = found.evidence
    return {
        "cluster_id": known.cluster_id,
        "kraft_version": known.best_with_metadata.kraft_version,
        "voters": _voters_data(known),
        "voters_before": [int(voter.node_id) for voter in known.in_force.before],
        "committed": msgspec.to_builtins(known.bounds),
        "greatest_epoch": known.greatest_epoch,
        "absent_voters": known.absent_voters,
        "absent_brokers": known.absent_brokers,
        **({"not_judged": known.newer.text()} if known.newer else {}),
        **({"older_release": "; ".join(older)} if (older := _older(known)) else {}),
        "let_go": list(map(str, discarded_records(known))),
        "not_listed": list(unlisted(known)),
        "not_counted": list(map(str, known.stale)),
        **({"not_to_start": list(map(str, known.barred))} if known.barred else {}),
        "other_disks": list(map(str, other_disks(known))),
        **({"of_other_nodes": others} if (others := list(map(str, of_other_nodes(known)))) else {}),
        "conflicts": list(map(str, known.conflicts)),
        "uncompared": list(map(str, known.uncompared)),
        "copies": [_copy_data(known, copy) for copy in known.copies],
        "left_out": [{"path": one.path, "problem": one.problem} for one in found.unjudged],
        "situation": found.plan.situation,
        "is_whole": found.plan.is_whole,
        "repairs": list(map(_repair_data, found.plan.repairs)),
        "steps": list(map(step_data, found.plan.steps)),
    }


def _repair_data(repair: Repair) -> dict[str, object]:
    may_lose = None if repair.may_lose is None else str(repair.may_lose)
    fields = {name: value for name, value in msgspec.to_builtins(repair).items() if name != "is_behind"}
    return {**fields, "may_lose": may_lose}


def _voters_data(known: RepairEvidence) -> list[dict[str, object]]:
    described = known.best_with_metadata.voters or VoterSet()
    if described:
        return [
            {
                "node_id": int(voter.key.node_id),
                "directory_id": id_text(voter.key.directory_id),
                "endpoints": list(map(str, voter.endpoints)),
            }
            for voter in described
        ]
    return [{"node_id": int(voter.node_id), "directory_id": None, "endpoints": []} for voter in known.voters]


def _copy_data(known: RepairEvidence, copy: Copy) -> dict[str, object]:
    return with_times(_copy_fields(known, copy), "last_timestamp_ms")


def _copy_fields(known: RepairEvidence, copy: Copy) -> dict[str, object]:
    identity, state = copy.place.identity, copy.quorum_state
    directory_id = None if identity is None else identity.directory_id
    return {
        "path": copy.place.log_dir,
        "node_id": copy.node_id,
        "cluster_id": None if identity is None else identity.cluster_id,
        "directory_id": None if directory_id is None else id_text(directory_id),
        "role": role_of(known, copy),
        "start_offset": copy.start_offset,
        "end_offset": int(copy.end.offset),
        "epoch": int(copy.end.epoch),
        "greatest_epoch": copy.greatest_epoch,
        "last_timestamp_ms": copy.prefix.last_timestamp_ms,
        "kraft_version": None if copy.prefix.quorum is None else copy.kraft_version,
        "voters": None if copy.voters is None else list(map(str, copy.voters)),
        "leader_epoch": None if state is None else int(state.leader_epoch),
        "leader_id": None if state is None else int(state.leader_id),
        "voted_for": None if state is None or state.voted_key is None else int(state.voted_key.node_id),
        "checkpoints": [{"name": found.name, "problem": found.problem} for found in copy.prefix.checkpoints],
        "stop": None if copy.stop is None else msgspec.to_builtins(copy.stop),
        "fault": fault_among(known, copy),
        "note": note_of(known, copy),
        "in_use": use_of(copy),
        "in_use_by_pid": copy.used_by or None,
    }


def show_verification(output: OutputFormat, found: Verification, checked: Sequence[Finding]) -> None:
    """Print the problems of a verification and the findings of `kraft check`. If there are any, print no steps."""
    if checked:
        found = msgspec.structs.replace(found, steps=())
    if output is OutputFormat.JSON:
        steps = list(map(step_data, found.steps))
        show_json({**msgspec.to_builtins(found), "steps": steps, "findings": finding_rows(checked)})
        return
    columns = ("node_id", "end_offset", "epoch", "voters", "hash", "path")
    rows = [{**msgspec.to_builtins(one), "hash": (one.hash or "-")[:16]} for one in found.directories]
    print_table(columns, rows, OF_A_LOG)
    print()
    problems = [f"{one.path}: left out: {one.problem}" for one in found.left_out]
    problems += [f"{one.path}: {problem}" for one in found.directories for problem in one.problems]
    problems += [*found.problems, *(f"{one.file or ''}: {one.meaning}. {capital(one.advice)}" for one in checked)]
    for problem in problems:
        print_wrapped(f"WRONG: {problem}.")
    if not problems:
        who = "a controller of Apache Kafka up to 3.9" if found.is_older else "a controller"
        print(f"Nothing is wrong: {who} starts from what is here.")
    for warning in found.warnings:
        print_wrapped(f"WARNING: {warning}.")
    for note in found.notes:
        print_wrapped(f"NOTE: {note}.")
    for line in step_lines(found.steps, "Next:"):
        print(line)


_MANY: Final = 4
"""From this number on, files of one kind are shown as one line."""
_SEGMENTS, _INDEXES, _CHECKPOINTS, _OTHERS = "segment", "index file", "checkpoint", "other file"
_KINDS: Final = {
    ".log": _SEGMENTS, ".index": _INDEXES, ".timeindex": _INDEXES, ".txnindex": _INDEXES, ".snapshot": _INDEXES,
    ".checkpoint": _CHECKPOINTS,
}  # fmt: skip


class _Listed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A changed file.

    `held`: its current size, or None if it does not exist. `size`: of the written or removed bytes.
    """

    verb: str
    name: str
    kind: str
    offset: int
    size: int
    held: int | None


def file_lines(files: Files, rewrite: Rewrite, work_root: str) -> Iterator[str]:
    """Yield the files to back up below `work_root`, to write and to remove. Call this before the repair.

    Raises:
        OSError: a file to be changed cannot be read.
    """
    found = [_listed(files, rewrite.log_dir, change) for change in rewrite.changes]
    held = [one for one in found if one.held is not None]
    if held:
        yield f"back up {_counts(held)} ({_size(sum(one.held or 0 for one in held))}) first, below {work_root}"
    shown: set[tuple[str, str]] = set()
    for one in found:
        same = [other for other in found if (other.verb, other.kind) == (one.verb, one.kind)]
        if one.kind == _OTHERS or len(same) < _MANY:
            yield f"{one.verb} {one.name}"
        elif (one.verb, one.kind) not in shown:
            shown.add((one.verb, one.kind))
            yield f"{one.verb} {_range(same)} ({_size(sum(other.size for other in same))})"


def _listed(files: Files, log_dir: str, change: FileChange) -> _Listed:
    held = _held(files, f"{log_dir}/{change.name}")
    content = change.content
    base = change.name.rpartition("/")[2]
    suffix = base[base.rfind(".") :] if base[:20].isdecimal() else ""
    return _Listed(
        verb="remove" if content is None else "write ",
        name=change.name,
        kind=_KINDS.get(suffix, _OTHERS),
        offset=int(base[:20]) if base[:20].isdecimal() else 0,
        size=(held or 0) if content is None else content.size + len(content.data),
        held=held,
    )


def _held(files: Files, path: str) -> int | None:
    if not files.exists(path):
        return None
    with closing(files.open(path, read_only=True)) as handle:
        return handle.size()


def _range(same: Sequence[_Listed]) -> str:
    offsets = [one.offset for one in same]
    return f"{counted(len(same), same[0].kind)}, {min(offsets)} … {max(offsets)}"


def _counts(found: Sequence[_Listed]) -> str:
    """Return the number of files of each kind, and the names of files that are not part of a log."""
    kinds = [one.kind for one in found]
    said = [counted(kinds.count(kind), kind) for kind in (_SEGMENTS, _INDEXES, _CHECKPOINTS) if kind in kinds]
    said += [one.name.rpartition("/")[2] for one in found if one.kind == _OTHERS]
    return ", ".join(said)


def _size(size: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return counted(size, "byte")
