"""Reset the epoch of quorum-state near its limit, to 1,000 above the greatest epoch in any log.

Decides: when that may be done, and to which directories. Must not know: how a file is written.

A candidate needs an epoch above all that it knows, and epochs end at 2^31 - 1. A single foreign Vote request in the
last epoch stops a quorum for good. The logs show the true epoch: each leader that acted has written a record of its
epoch. An observer with a higher epoch than its leader ignores the leader.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from metadata_log.directory import METADATA_DIRECTORY, QUORUM_STATE_FILE, QuorumState, format_quorum_state
from metadata_log.files.port import Files
from metadata_log.offsets import Epoch, is_near_last_epoch
from metadata_log.tools.findings.last_epochs import elections_left
from quorum.recovery.advice.commands import check_result, copy_words, is_ours, start_line
from quorum.recovery.advice.epochs_at_end import (
    COPIES_ARE_NOT_RESET,
    NO_WAY_BACK,
    epoch_of,
    is_to_reset,
    last_epoch_of,
    observer_steps,
    reset_epoch,
    situation_near_end,
)
from quorum.recovery.advice.newer_release import not_checked, refuse_newer_files
from quorum.recovery.advice.running_nodes import refuse_running, use_of
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.copies.read_copies import read_copies
from quorum.recovery.evidence.judged_records import judged_evidence
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.guards.liveness import ProbeResult, refuse_live, silence
from quorum.recovery.guards.request import Proposal, Request, refuse_conflicts, refuse_lost_votes
from quorum.recovery.journal.changes import Content, FileChange, Rewrite
from quorum.recovery.journal.errors import AlreadyDoneError, RefusedError
from quorum.recovery.journal.log_directories import find_target
from quorum.recovery.journal.next_steps import Step, command, step_of
from quorum.recovery.journal.repair_record import refuse_pending
from quorum.recovery.repairs.audit_facts import facts_of

_OTHERS = (
    "Look at every observer, a broker or an agent, whose directory was not given: one whose quorum-state holds a "
    "higher epoch ignores every leader. On its host, with the node stopped"
)


def propose_epoch(files: Files, targets: Sequence[str], copies: Sequence[str], request: Request) -> Proposal:
    """Reset each quorum-state of `targets` that is more than 1,000 above the greatest epoch in any log.

    Raises:
        RefusedError: not all voters are here and stopped, or no epoch helps. Nothing was changed.
        AlreadyDoneError: no quorum-state among them is above that.
        OSError: something cannot be read.
    """
    log_dirs = [find_target(files, path).log_dir for path in targets]
    for log_dir in log_dirs:
        refuse_pending(files, log_dir)
    known = judged_evidence(files, read_copies(files, log_dirs, copies))
    own = [copy for copy in known.copies if copy.place.log_dir in log_dirs]
    for copy in known.copies:
        refuse_newer_files(copy)
    refuse_conflicts(known)
    if not known.voters and not all(_is_brokers(copy) for copy in own):
        raise RefusedError("no log here names the voters: name the directories of all voters, with --dir or --copy")
    is_voters = any(known.is_voter(copy) for copy in own)
    asked = _refuse_unsafe(known, own, request) if is_voters else _refuse_running(own)
    due = [copy for copy in own if is_to_reset(known, copy)]
    if not due:
        _refuse_needless(known, own)
    epochs = [_epoch_for(known, copy) for copy in due]
    changed = [copy.place.log_dir for copy in due]
    return Proposal(
        action="epoch",
        rewrites=tuple(_rewrite(known, copy, epoch, asked) for copy, epoch in zip(due, epochs, strict=True)),
        says=tuple(_said(copy, epoch) for copy, epoch in zip(due, epochs, strict=True)),
        keeps="every byte of the logs and checkpoints: the epoch is in quorum-state alone",
        warnings=(*_few_left(epochs), *silence(asked), *not_checked(known.copies)),
        steps=(check_result(changed), *_steps(known, own, is_voters=is_voters)),
        asked=asked,
        is_a_part=True,
    )


def _refuse_unsafe(known: RepairEvidence, own: Sequence[Copy], request: Request) -> tuple[ProbeResult, ...]:
    """Refuse unless all voters are here, intact and stopped. Return the results of the probes."""
    absent = sorted({*known.absent_voters, *known.unheard_voters})
    if absent:
        names = ", ".join(map(str, absent))
        raise RefusedError(
            f"no whole log of voter {names} is here, which may hold a record of a greater epoch{_whys(known, absent)}: "
            "name the directories of all voters, stopped, with --dir those of this host and with --copy copies of the "
            "others. Where a voter is lost for good, restore its directory from a backup"
        )
    refuse_lost_votes(known, request)
    endpoints = list(dict.fromkeys([*known.endpoints(), *request.more_endpoints]))
    asked = tuple(request.ask(endpoints)) if endpoints else ()
    refuse_live(asked, known.cluster_id, request.not_controllers, instead="so that its epochs have not ended")
    refuse_running(known)
    _refuse_running(own)
    return asked


def _whys(known: RepairEvidence, absent: Sequence[int]) -> str:
    """Return why the copies of these voters do not count; empty if they have no copy here."""
    stale = [str(one) for one in known.stale if one.copy.node_id in absent]
    cut = [
        f"{copy.label}: {copy.stop or copy.short}" for copy in known.copies if copy.held_more and copy.node_id in absent
    ]
    said = "; ".join((*stale, *cut))
    return f" ({said})" if said else ""


def _is_brokers(copy: Copy) -> bool:
    """Return True if its own log registers its node as a broker, and as no controller: static voters are not in it."""
    image, node_id = copy.image, copy.node_id
    return (
        image is not None
        and node_id is not None
        and node_id in image.cluster.brokers
        and node_id not in image.cluster.controllers
    )


def _refuse_running(own: Sequence[Copy]) -> tuple[ProbeResult, ...]:
    for copy in own:
        if copy.used_by is not None:
            raise RefusedError(f"{copy.label} is {use_of(copy)}: stop it, and run the command again")
    return ()


def _epoch_for(known: RepairEvidence, copy: Copy) -> int:
    epoch = reset_epoch(known, copy)
    if epoch is None:
        raise RefusedError(f"{situation_near_end(known, [copy])} No epoch is left above it.{NO_WAY_BACK}")
    return epoch


def _refuse_needless(known: RepairEvidence, own: Sequence[Copy]) -> None:
    """Raise AlreadyDoneError: no reset is due. If the logs are near the last epoch, name the elections left."""
    names = ", ".join(copy.label for copy in own)
    newest = last_epoch_of(known)
    if is_near_last_epoch(newest):
        raise AlreadyDoneError(
            f"{elections_left(max(newest, *map(epoch_of, own)))}. The logs have records of epoch {newest} themselves, "
            f"and no quorum-state of {names} can be set lower.{NO_WAY_BACK}"
        )
    raise AlreadyDoneError(
        f"no quorum-state of {names} is above those of the voters, or 1,000 past the greatest epoch in any log here "
        f"({newest}): there is nothing to be reset"
    )


def _few_left(epochs: Sequence[int]) -> Iterator[str]:
    epoch = max(epochs)
    if is_near_last_epoch(epoch):
        yield f"{elections_left(epoch)} then: the logs themselves are near the last epoch.{NO_WAY_BACK}"


def _reset(state: QuorumState, epoch: int) -> QuorumState:
    """Return the state with that epoch and without leader and vote, in the file's version."""
    return msgspec.structs.replace(state, leader_epoch=Epoch(epoch), leader_id=-1, voted_key=None)


def _rewrite(known: RepairEvidence, copy: Copy, epoch: int, asked: Sequence[ProbeResult]) -> Rewrite:
    if copy.quorum_state is None:
        raise RefusedError(f"{copy.label} has no quorum-state that could be reset")
    data = format_quorum_state(_reset(copy.quorum_state, epoch))
    change = FileChange(name=f"{METADATA_DIRECTORY}/{QUORUM_STATE_FILE}", content=Content(data=data))
    facts = msgspec.structs.replace(
        facts_of(known, copy, asked=asked), epoch_before=int(copy.quorum_state.leader_epoch), epoch_after=epoch
    )
    return Rewrite(action="epoch", log_dir=copy.place.log_dir, changes=(change,), facts=facts)


def _said(copy: Copy, epoch: int) -> str:
    before = -1 if copy.quorum_state is None else int(copy.quorum_state.leader_epoch)
    return f"quorum-state of {copy.label}: from epoch {before} to epoch {epoch}, without a vote"


def _steps(known: RepairEvidence, own: Sequence[Copy], *, is_voters: bool) -> Iterator[Step]:
    left = [copy for copy in known.copies if copy not in own and is_to_reset(known, copy)]
    for copy in left:
        if known.is_voter(copy):
            others = copy_words(known, [copy])
            line = command("kraft", "recover", "epoch", "--dir", copy.place.log_dir, *others, "--apply")
            text = f"Do the same with {copy.label}, a voter, before anything starts. {COPIES_ARE_NOT_RESET}"
            yield step_of(text=text, commands=(line,))
    yield from observer_steps([copy for copy in left if not known.is_voter(copy)])
    if is_voters:
        start = start_line(ours=is_ours(known.best_with_metadata.voters))
        yield step_of(text="Start all controllers: they elect a leader by themselves", commands=(start,))
    yield step_of(text=_OTHERS, commands=(command("kraft", "recover", "epoch", "--dir", "DATA_DIR", "--apply"),))
