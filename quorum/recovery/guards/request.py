"""The options that all repairs share, the proposal that each returns, and the refusals common to several.

Must not know: any one repair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from metadata_log.directory import METADATA_DIRECTORY, MetaProperties
from metadata_log.files.port import Files
from metadata_log.voters import GRPC_LISTENER, Endpoint, VoterSet
from quorum.recovery.advice.commands import cut_line, undo_line
from quorum.recovery.advice.epochs_at_end import refuse_ended
from quorum.recovery.advice.faults import mends, rebuild_epochs
from quorum.recovery.advice.majority_here import lacking, sound_voters
from quorum.recovery.advice.newer_release import refuse_newer_files
from quorum.recovery.advice.possible_repairs import usable
from quorum.recovery.advice.running_nodes import refuse_running
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.conflicts import LEAST_GAP, common_end
from quorum.recovery.evidence.electable import unreached
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.guards.liveness import ONE_NODE, ProbeResult, change_voters, refuse_live
from quorum.recovery.journal.changes import Rewrite
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.log_directories import Place
from quorum.recovery.journal.next_steps import Step
from quorum.recovery.journal.repair_facts import LostRecords, MayLose

DEFAULT_EPOCH_GAP = LEAST_GAP


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a user for any repair.

    Attributes:
        missing: nodes of which no copy is left; `all_missing`: all nodes that are not named.
        accept_data_loss: the repair may discard records that a copy here holds.
        accept_lost_vote: the repair may go on although a file that held an epoch and a vote cannot be used.
        not_controllers: addresses at which another program listens.
        ask: probes endpoints for controllers.
        work_root: the user's directory for backup and audit file; None: next to each directory.
    """

    now_ms: int
    ask: Callable[[Sequence[Endpoint]], Sequence[ProbeResult]]
    missing: frozenset[int] = frozenset()
    all_missing: bool = False
    accept_data_loss: bool = False
    accept_lost_vote: bool = False
    epoch_gap: int = DEFAULT_EPOCH_GAP
    not_controllers: frozenset[str] = frozenset()
    more_endpoints: tuple[Endpoint, ...] = ()
    work_root: str | None = None


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A repair that may be carried out.

    Attributes:
        rewrites: the changes, one entry a log directory, in this order.
        says: sentences that describe the repair.
        keeps, loses, may_lose: as in `plan.Repair`.
        warnings: what the user should know before.
        steps: the operator's steps afterwards.
        asked: the endpoints that were probed for a live leader, with their results.
        leavings: log directories from which orphaned files of an undecided repair are removed.
        is_a_part: other directories need the same repair, so that a dry run prints the steps, too.
    """

    action: str
    rewrites: tuple[Rewrite, ...]
    says: tuple[str, ...]
    keeps: str | None = None
    loses: tuple[LostRecords, ...] = ()
    may_lose: MayLose | None = None
    warnings: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    asked: tuple[ProbeResult, ...] = ()
    leavings: tuple[str, ...] = ()
    is_a_part: bool = False


def refuse_unsafe(
    known: RepairEvidence, request: Request, *, is_one_nodes: bool = False, writes: Sequence[Endpoint] = ()
) -> tuple[ProbeResult, ...]:
    """Refuse a repair by the copies and the network, and return the results of the probes.

    `is_one_nodes`: the voters do not change. `writes`: addresses that the repair itself gives to voters. An earlier
    repair may have started a controller there that no copy here knows of.

    Raises:
        RefusedError: copies are not here and not declared missing, or a controller runs.
    """
    for copy in known.copies:
        refuse_newer_files(copy)
    refuse_absent(known, request)
    endpoints = [*known.endpoints(), *request.more_endpoints]
    if not endpoints:
        raise RefusedError(
            "the copies name no controller's address, so this command cannot find out whether a leader runs. Give "
            "--bootstrap-controller HOST:PORT,... as in the nodes' configuration"
        )
    # Probed last: all that the copies alone can refuse needs no network.
    answers = tuple(request.ask(list(dict.fromkeys([*endpoints, *writes]))))
    instead = (
        ONE_NODE if is_one_nodes else change_voters(answers, known.best_with_metadata.voters if known.copies else None)
    )
    refuse_live(answers, known.cluster_id, request.not_controllers, instead)
    refuse_running(known)
    return answers


def refuse_conflicts(known: RepairEvidence) -> None:
    """Refuse copies that contradict each other: neither a repair nor a start may use them.

    Raises:
        RefusedError: two copies do.
    """
    for conflict in known.conflicts[:1]:
        raise RefusedError(
            f"{conflict}: {conflict.cause}. See `kraft recover inspect` of all copies: it says what to do"
            if conflict.repairs
            else f"{conflict}: {conflict.cause}. Name copies of one cluster only"
            if conflict.metadata
            else f"{conflict}: {conflict.cause}. See kraft log diff, and leave the wrong copy out"
        )


def refuse_other_listeners(voters: VoterSet, endpoints: Sequence[Endpoint]) -> None:
    """Refuse endpoints without any listener name that the voters had: brokers would not find the controller.

    Raises:
        RefusedError: with the names of their listeners.
    """
    names = sorted({endpoint.name for voter in voters for endpoint in voter.endpoints})
    if names and endpoints and not {endpoint.name for endpoint in endpoints} & set(names):
        raise RefusedError(
            f"--endpoint: brokers look for a controller's listener {' or '.join(names)}, as the lost ones had; name "
            "that one"
        )
    ours = bool(voters) and all(voter.endpoint(GRPC_LISTENER) is not None for voter in voters)
    if ours and endpoints and GRPC_LISTENER not in [endpoint.name for endpoint in endpoints]:
        raise RefusedError(
            f"--endpoint: these controllers have a {GRPC_LISTENER} listener, by which they reach each other: name "
            f"that, too, --endpoint {GRPC_LISTENER}://HOST:PORT"
        )


def refuse_broker(copy: Copy) -> None:
    """Refuse to turn a broker's own directory into a controller's.

    Raises:
        RefusedError: it is a broker's.
    """
    image, node_id = copy.image, copy.node_id
    if image is None or node_id is None or node_id in image.cluster.controllers:
        return
    if node_id in image.cluster.brokers and (copy.voters is None or node_id not in copy.voters):
        raise RefusedError(
            f"{copy.label} is a broker's directory: leave it as it is, and make a new controller's from it with `kraft "
            "recover from-broker`"
        )


def strange_missing(known: RepairEvidence, request: Request) -> tuple[str, ...]:
    """Return a sentence about --missing nodes that no copy knows: a typing error may hide a node that is not named."""
    strange = sorted(request.missing - set(known.absent_voters) - set(known.absent_brokers))
    if request.all_missing or not strange:
        return ()
    return (f"--missing {','.join(map(str, strange))}: no copy here knows such a node; check the numbers",)


def refuse_absent(known: RepairEvidence, request: Request) -> None:
    """Refuse if nodes have no copy here and the user did not declare them missing.

    Raises:
        RefusedError: with those nodes.
    """
    absent = set(known.absent_voters) | set(known.absent_brokers)
    present = {copy.node_id for copy in known.copies}
    wrong = sorted(request.missing & present - absent) if not request.all_missing else []
    if wrong:
        raise RefusedError(f"--missing {wrong[0]}: a copy of node {wrong[0]} is named, so it is not missing")
    unsaid = sorted(absent - request.missing) if not request.all_missing else []
    if unsaid:
        many, said = len(unsaid) > 1, absent & request.missing
        names, all_names = (",".join(map(str, sorted(nodes))) for nodes in (unsaid, {*unsaid, *said}))
        what, where = ("nodes", "their log directories") if many else ("node", "its log directory")
        each, are = ("each", "they are") if many else ("it", "it is")
        raise RefusedError(
            f"there is no copy here of {what} {names}: {each} may hold records that no other has. Name {where} with "
            f"--copy; if {are} gone for good, add --missing {all_names}"
            f"{''.join(f'; {note}' for note in (*strange_missing(known, request), *unlisted(known)))}"
        )


def not_compared(known: RepairEvidence, own: Copy) -> tuple[str, ...]:
    """Return sentences about copies that nothing proves to be of the same log as `own`."""
    return tuple(str(pair) for pair in known.uncompared if own in (pair.one, pair.other))


def unlisted(known: RepairEvidence) -> tuple[str, ...]:
    """Return a sentence about nodes that only damaged records, or those of a later release, may name."""
    hiding = [
        f"{copy.label} from offset {copy.end.offset} on"
        for copy in known.copies
        if copy.is_damaged and known.best_with_metadata.end.offset <= copy.end.offset
    ]
    where = [f"in what is damaged ({'; '.join(hiding)})"] if hiding else []
    where += ["in records of a later release"] if known.best_with_metadata.newer.hides_metadata else []
    if not where:
        return ()
    return (
        f"nodes that are named only {' or '.join(where)} cannot be known or listed: name the copies of all nodes that "
        "there are",
    )


def refuse_nameless(place: Place) -> MetaProperties:
    """Return the meta.properties of a controller's directory.

    Raises:
        RefusedError: it has none that can be used.
    """
    if place.identity is not None:
        return place.identity
    if place.is_newer:
        raise RefusedError(f"{place.complaint}, and start no older software on this directory")
    raise RefusedError(f"{place.complaint}: a controller has one. Restore it, or name the right directory")


def refuse_unusable(copy: Copy) -> None:
    """Refuse a copy from which no controller's log can be made.

    Raises:
        RefusedError: with the reason.
    """
    why = usable(copy)
    if why is not None:
        raise RefusedError(f"{copy.label}: {why}. Take another copy, see kraft recover inspect")


def refuse_damaged(known: RepairEvidence, copy: Copy) -> None:
    """Refuse a copy whose log is damaged before its end: the repair would silently drop the records behind the damage.

    Raises:
        RefusedError: with the position, and the command to use first.
    """
    if copy.is_damaged:
        if copy.place.manifest is not None:
            refuse_unusable(copy)
        if copy.end.offset == 0:
            raise RefusedError(
                f"{copy.label} is damaged at {copy.stop}, and nothing before that is intact. Take another copy "
                "(kraft recover inspect)"
            )
        raise RefusedError(
            f"{copy.label} is damaged at {copy.stop}{''.join(f'; {said}' for said in unlisted(known))}. Take another "
            "copy (kraft recover inspect), or drop all from there on first: "
            f"{cut_line(known, copy)} --accept-data-loss"
        )


def refuse_majority(known: RepairEvidence) -> None:
    """Refuse a repair if a majority of the voters can start as they are: without a repair nothing is lost.

    Raises:
        RefusedError: they can.
    """
    if _is_sound_majority(known, sound := _sound(known)):
        refuse_ended(known)
        raise RefusedError(
            f"voters {_ids(sound)} are here and sound, a majority of {len(known.voters)}: {_first(known, sound)}start "
            "them, and they elect a leader. Remove voters with remove-controller, change addresses with `kraft recover "
            "voters`"
        )


def _first(known: RepairEvidence, sound: Sequence[Copy]) -> str:
    spare = [
        f"{found.path} ({found.why})"
        for copy in sound
        for found in copy.unread
        if found.is_topic and found.is_made_anew
    ]
    lines = [str(line) for step in rebuild_epochs(known, sound) for line in step.commands]
    lines += [str(line) for copy in sound for line in mends(copy)]
    moves = f"move {', '.join(spare)} away, which the node writes again, " if spare else ""
    return moves + (f"repair what keeps them from starting ({'; '.join(lines)}), " if lines else "")


def refuse_second_quorum(known: RepairEvidence, changed: Sequence[Copy]) -> None:
    """Refuse to leave a majority of the old voters unchanged: it would go on as a second quorum.

    Raises:
        RefusedError: there is such a majority besides the copies in `changed`.
    """
    if _is_sound_majority(known, left := [copy for copy in _sound(known) if copy not in changed]):
        refuse_ended(known)
        raise RefusedError(
            f"voters {_ids(left)} are here and sound, a majority of {len(known.voters)}, and no --dir names them: they "
            "would go on as a second quorum. Name their directories with --dir and their addresses with --set"
        )


def _is_sound_majority(known: RepairEvidence, sound: Sequence[Copy]) -> bool:
    """Return True if these copies would elect a leader that has every record known to be committed."""
    return known.has_majority(sound) and lacking(known, sound) is None


def _sound(known: RepairEvidence) -> list[Copy]:
    half = unreached(known)
    behind = () if half is None else half[1]
    return [copy for copy in sound_voters(known) if copy not in behind]


def _ids(copies: Sequence[Copy]) -> str:
    return ", ".join(str(copy.node_id) for copy in copies)


def refuse_other_repair(
    known: RepairEvidence, kept: Copy, request: Request, is_undoable: Callable[[str], bool]
) -> None:
    """Refuse if another copy was repaired and `kept` does not hold that repair: going on from both makes two quorums.

    `is_undoable`: returns True if the last repair of a log directory can be undone.

    Raises:
        RefusedError: with that copy, unless the user accepts data loss.
    """
    for copy in known.copies:
        done = copy.repair
        if request.accept_data_loss or done is None or common_end(kept, copy) > done.offset:
            continue
        log_dir = copy.place.log_dir
        back = ""
        if is_undoable(log_dir):
            back = f"or take its repair back, while nothing has started from it ({undo_line(log_dir)}); "
        raise RefusedError(
            f"{copy.label} was repaired already: epoch {done.epoch} begins there at offset {done.offset}, and "
            f"{kept.label} has nothing of that. Two repairs of one cluster make two quorums. Go on with {copy.label}; "
            f"{back}or, if nothing ever starts from it again, say --accept-data-loss"
        )


def refuse_strange_topic(copy: Copy) -> None:
    """Refuse to change a directory whose partition.metadata is not the metadata log's: no node would start from it.

    Raises:
        RefusedError: with the file.
    """
    refuse_newer_files(copy)
    for found in copy.unread:
        if found.is_topic:
            raise RefusedError(
                f"{found.path}: {found.why}, so no node starts with it. If {copy.place.log_dir} is the right "
                "directory, move that file away, and run the command again: the node writes a new one"
            )


def refuse_lost_votes(known: RepairEvidence, request: Request) -> None:
    """Refuse if a quorum-state cannot be used: the new epoch might not be above an epoch that only this file held.

    Raises:
        RefusedError: with the file, unless the user accepts that.
    """
    for copy in known.copies:
        for found in copy.unread:
            if found.forgets and not request.accept_lost_vote:
                raise RefusedError(
                    f"{found.path}: {found.why}. It held an epoch and a vote, and a new epoch might not be above them. "
                    "Restore it from a backup of that directory; without a backup, add --accept-lost-vote (the new "
                    f"epoch is then {request.epoch_gap} above the greatest known one, see --epoch-gap)"
                )


def refuse_loss(lost: Sequence[LostRecords], request: Request, instead: str) -> None:
    """Refuse if other copies hold more records, unless these are proven never to have been committed.

    Raises:
        RefusedError: with the records, unless the user accepts the loss.
    """
    lost = [one for one in lost if one.committed != "never"]
    if lost and not request.accept_data_loss:
        if all(one.proof is not None for one in lost):
            instead = "Look for another copy of these logs (--copy)"
        raise RefusedError(f"this would lose {'; '.join(map(str, lost))}. {instead}, or say --accept-data-loss")


def files_in(files: Files, log_dir: str) -> frozenset[str]:
    """Return the names in a log directory's metadata directory."""
    path = f"{log_dir}/{METADATA_DIRECTORY}"
    return frozenset(files.listdir(path)) if files.exists(path) else frozenset()
