"""Compares votes and leaders across nodes, by their `quorum-state` files and LeaderChange records.

Decides: which contradictions are proof. A vote for a candidate that lost proves nothing, nor does a leader's own file
without a vote (Kafka writes none there). Must not know: files.

A voter grants one vote in an epoch (KIP-595). If a LeaderChange counts a voter's vote for one leader, and that voter's
`quorum-state` of the same epoch names another candidate, the voter granted two.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from metadata_log.counts import counted
from metadata_log.directory import QUORUM_STATE_FILE, QuorumState
from metadata_log.ids import ZERO_DIRECTORY_ID, ReplicaKey, id_text
from metadata_log.offsets import is_near_last_epoch
from metadata_log.tools.check.lone_elections import check_lone_elections
from metadata_log.tools.findings.advice import OTHER_ELECTION, UNSHOWN_LOG
from metadata_log.tools.findings.facts import LongerThanElected, OtherLeader
from metadata_log.tools.findings.finding import Finding, Severity, finding, is_well
from metadata_log.tools.read.contents import epoch_at
from metadata_log.tools.read.control_facts import Election
from metadata_log.tools.replicas.given_votes import HeldElection, forgotten_vote, was_granted
from metadata_log.tools.replicas.last_epochs import near_last_epoch
from metadata_log.tools.replicas.replica import Replica
from metadata_log.tools.replicas.replica_set import ReplicaSet, witnesses_of
from metadata_log.tools.replicas.restored_voters import restored_voter
from metadata_log.tools.replicas.witnesses import Witnesses
from metadata_log.tools.verify.log_facts import voter_sets
from metadata_log.tools.words import join_names

FAR_AHEAD: Final = 10
"""Epochs. A voter without a majority campaigns again and again: before pre-votes (KIP-996), each in a new epoch."""
REPAIR_GAP: Final = 1000
"""Epochs by which `kraft recover epoch` raises an epoch above all that are known."""


def check_votes(view: ReplicaSet) -> Iterator[Finding]:
    """Yield the voters that voted twice or forgot a vote, and contradictions about leaders and voters."""
    witnesses = witnesses_of(view.replicas)
    elections = _elections(view, witnesses)
    for replica in view.replicas:
        state = replica.facts.quorum_state
        if state is not None:
            yield from _two_votes(replica, state, elections)
            yield from _two_leaders(replica, state, elections)
            elected = {election.leader_id for _, election in elections.get(state.leader_epoch, ())}
            yield from _for_stranger(view, replica, state, elected)
            yield from _by_stranger(view, replica, state, elections)
            yield from _forgotten(replica, state, elections)
            yield from _set_back(view, replica, state, elections)
            yield from _ahead_of_vote(replica, state, elections)
    yield from check_lone_elections(view, witnesses)
    yield from _among_states(view, elections)
    yield from _static_voters(view, elections)
    yield from _far_ahead(view)


def _far_ahead(view: ReplicaSet) -> Iterator[Finding]:
    """Yield each `quorum-state` whose epoch is far ahead of all logs. A failed election uses up one epoch."""
    yield from near_last_epoch(view)
    newest = max((replica.facts.last_epoch for replica in view.replicas), default=-1)
    present = {
        voter for voter in view.voters.keys if any(replica.key.node_id == voter.node_id for replica in view.replicas)
    }
    is_majority = 2 * len(present) > len(view.voters.keys)
    for replica in view.replicas:
        state = replica.facts.quorum_state
        if state is None or newest < 0 or state.leader_epoch - newest < FAR_AHEAD:
            continue
        if is_near_last_epoch(state.leader_epoch):
            continue
        what = (
            f"it is of epoch {state.leader_epoch}, and the last epoch that any of these logs has a record of is "
            f"{newest}: {counted(state.leader_epoch - newest, 'election')} elected no node, or a node that is not "
            "here; or the file was changed"
        )
        severity = None if is_majority and not _is_reset(state, newest, replica.facts.last_epoch) else Severity.NOTE
        node_id = replica.source.node_id
        yield finding(
            "quorum_state_ahead",
            what,
            severity=severity,
            node_id=node_id,
            file=_file(replica),
            epoch=state.leader_epoch,
        )


def _is_reset(state: QuorumState, *last_epochs: int) -> bool:
    """Return True for a file as `kraft recover epoch` leaves it: no vote, 1,000 epochs above all logs or its own."""
    is_above = any(state.leader_epoch - epoch == REPAIR_GAP for epoch in last_epochs)
    return is_above and state.voted_key is None and state.leader_id < 0


def _elections(view: ReplicaSet, witnesses: Witnesses) -> dict[int, list[tuple[Replica, Election]]]:
    """Return the believed LeaderChanges by epoch, with their replicas.

    A record that one log has alone, and that others deny, may be corrupt: it must not accuse a voter.
    """
    return {
        epoch: [(view.replicas[index], election) for index, election in held]
        for epoch, held in witnesses.elections().items()
    }


def _file(replica: Replica) -> str:
    return f"{replica.facts.directory}/{QUORUM_STATE_FILE}"


def _two_votes(
    replica: Replica, state: QuorumState, elections: dict[int, list[tuple[Replica, Election]]]
) -> Iterator[Finding]:
    voted, node_id = state.voted_key, replica.source.node_id
    if voted is None or node_id is None:
        return
    for holder, election in elections.get(state.leader_epoch, ()):
        if was_granted(replica.key, voter_sets(holder.facts), election) and election.leader_id != voted.node_id:
            what = (
                f"node {node_id} voted for node {voted.node_id} in epoch {state.leader_epoch}, but node "
                f"{election.leader_id} became its leader with node {node_id}'s vote (LeaderChange at offset "
                f"{election.offset} on {holder.label})"
            )
            yield finding(
                "two_votes", what, node_id=node_id, file=_file(replica), offset=election.offset, epoch=election.epoch
            )
            return


def _two_leaders(
    replica: Replica, state: QuorumState, elections: dict[int, list[tuple[Replica, Election]]]
) -> Iterator[Finding]:
    """Compare a `quorum-state`'s leader with the logs of other nodes. `verify.sidecar_files` compares its own log."""
    if state.leader_id < 0:
        return
    held = elections.get(state.leader_epoch, ())
    if any(holder is replica or election.leader_id == state.leader_id for holder, election in held):
        return
    for holder, election in held:
        if election.leader_id != state.leader_id:
            facts = OtherLeader(
                epoch=state.leader_epoch,
                named=state.leader_id,
                elected=election.leader_id,
                offset=election.offset,
                on=holder.label,
            )
            yield finding(
                facts,
                node_id=replica.source.node_id,
                file=_file(replica),
                offset=election.offset,
                epoch=election.epoch,
                advice=OTHER_ELECTION,
            )
            return


def _for_stranger(
    view: ReplicaSet, replica: Replica, state: QuorumState, elected: Collection[int]
) -> Iterator[Finding]:
    """Yield a finding for a vote for a node or directory that no voter set names. Static voters have no directory."""
    voted = state.voted_key
    if voted is None or replica.source.node_id is None or _is_before_logs(view, state.leader_epoch):
        return
    known = frozenset[ReplicaKey]().union(*(one.facts.known_voters for one in view.replicas))
    fault = _stranger(view, voted, known, was_elected=voted.node_id in elected)
    if fault is None:
        return
    present = {one.source.node_id for one in view.replicas}
    is_certain = all(voter.node_id in present for voter in view.voters.keys)
    who = f"node {replica.source.node_id} voted for node {voted.node_id} in epoch {state.leader_epoch}"
    yield finding(
        "vote_for_stranger",
        f"it says that {who}{fault}",
        severity=None if is_certain else Severity.WARNING,
        node_id=replica.source.node_id,
        file=_file(replica),
        epoch=state.leader_epoch,
    )


def _is_before_logs(view: ReplicaSet, epoch: int) -> bool:
    """Return True if no log goes back to the start of that epoch: a voter of then may be named in trimmed records."""
    first = [(one.facts.epochs[0], one.facts.start_offset) for one in view.replicas if one.facts.epochs]
    if not first:
        return False
    return all(span.epoch > epoch or (span.epoch == epoch and start > 0) for span, start in first)


def _by_stranger(
    view: ReplicaSet, replica: Replica, state: QuorumState, elections: dict[int, list[tuple[Replica, Election]]]
) -> Iterator[Finding]:
    """Yield a finding for a vote by a node that no voter set names.

    A candidate may ask a voter whose log lacks the record that added it. The candidate's log has that record.
    """
    node_id, voted = replica.source.node_id, state.voted_key
    if node_id is None or voted is None or not view.voters.keys or _is_before_logs(view, state.leader_epoch):
        return
    named = {int(voter) for one in view.replicas for election in one.facts.elections for voter in election.voters}
    for one in view.replicas:
        named |= {int(voter.node_id) for voter in (*one.facts.known_voters, *one.facts.static_voters)}
    if node_id in named or any(voter.node_id == node_id for voter in view.voters.keys):
        return
    present = {one.source.node_id for one in view.replicas}
    yield finding(
        "vote_of_stranger",
        f"it says that node {node_id} voted for node {voted.node_id} in epoch {state.leader_epoch}, and node {node_id} "
        "is no voter in any of these logs",
        severity=None if all(voter.node_id in present for voter in view.voters.keys) else Severity.WARNING,
        node_id=node_id,
        file=_file(replica),
        epoch=state.leader_epoch,
    )


def _forgotten(
    replica: Replica, state: QuorumState, elections: dict[int, list[tuple[Replica, Election]]]
) -> Iterator[Finding]:
    node_id, image = replica.source.node_id, replica.facts.image
    level = None if image is None else image.features.metadata_version
    held = [
        HeldElection(on=holder.label, voter_sets=tuple(voter_sets(holder.facts)), election=election)
        for holder, election in elections.get(state.leader_epoch, ())
    ]
    facts = None if node_id is None else forgotten_vote(replica.key, state, level, held)
    if facts is not None:
        yield finding(facts, node_id=node_id, file=_file(replica), offset=facts.offset, epoch=facts.epoch)


def _set_back(
    view: ReplicaSet, replica: Replica, state: QuorumState, elections: dict[int, list[tuple[Replica, Election]]]
) -> Iterator[Finding]:
    """Yield a finding for a voter whose whole directory is older than an epoch that it led or voted in.

    Only another node's log shows this: the directory was restored from a copy, so nothing within it is contradictory.
    """
    node_id = replica.source.node_id
    if node_id is None or not view.is_voter(replica) or not is_well(replica.facts.findings):
        return
    knows_epoch = max(state.leader_epoch, replica.facts.last_epoch, replica.last_epoch)
    every = (one for held in elections.values() for one in held)
    believed = ((holder.label, election) for holder, election in every if _knows_of(holder, election.epoch))
    restored = restored_voter(node_id, knows_epoch, believed)
    if restored is not None:
        shown_by = next(one for one in view.replicas if one.label == restored.shown_by)
        is_one = not replica.reach or view.shows_one_log(replica, shown_by)
        facts = msgspec.structs.replace(restored, is_of_one_log=is_one)
        at, epoch, advice = facts.began_at, facts.acted_epoch, None if is_one else UNSHOWN_LOG
        yield finding(facts, node_id=node_id, file=_file(replica), offset=at, epoch=epoch, advice=advice)


def _ahead_of_vote(
    replica: Replica, state: QuorumState, elections: dict[int, list[tuple[Replica, Election]]]
) -> Iterator[Finding]:
    """Yield a finding for a voter whose log goes on from where the leader that it voted for began.

    A voter grants no vote to a candidate that has only the beginning of the voter's log (Raft 5.4.1).
    """
    node_id = replica.source.node_id
    for holder, election in elections.get(state.leader_epoch, ()) if replica.facts.is_sound else ():
        at, here = election.offset, epoch_at(replica.facts.epochs, election.offset)
        is_same = epoch_at(replica.facts.epochs, at - 1) == epoch_at(holder.facts.epochs, at - 1) >= 0
        if is_same and 0 <= here < election.epoch and was_granted(replica.key, voter_sets(holder.facts), election):
            facts = LongerThanElected(
                elected=election.leader_id, epoch=election.epoch, offset=at, own_epoch=here, on=holder.label
            )
            yield finding(facts, node_id=node_id, file=_file(replica), offset=at, epoch=election.epoch)
            return


def _knows_of(replica: Replica, epoch: int) -> bool:
    """Return True if the replica's own `quorum-state` has reached this epoch of its log.

    A node writes `quorum-state` before a record of a new epoch. If the file is behind, the epoch in the batch may be
    wrong, since no checksum covers it. Such a record must not accuse another node.
    """
    state = replica.facts.quorum_state
    return state is None or state.leader_epoch >= epoch


def _static_voters(view: ReplicaSet, elections: dict[int, list[tuple[Replica, Election]]]) -> Iterator[Finding]:
    """Yield each `quorum-state` whose static voters differ from the epoch's LeaderChange, or else from most peers.

    A repair changes the static voters of the directories that it reaches. The files of the others are older then.
    """
    stated = {
        index: frozenset(state.current_voters)
        for index, replica in enumerate(view.replicas)
        if (state := replica.facts.quorum_state) is not None and state.data_version == 0 and state.current_voters
    }
    for index, own in stated.items():
        replica, state = view.replicas[index], view.replicas[index].facts.quorum_state
        epoch = -1 if state is None else int(state.leader_epoch)
        held = elections.get(epoch, ())
        others = [ids for ids in stated.values() if ids != own]
        if held:
            due, where = frozenset(held[0][1].voters), f"in the LeaderChange of epoch {epoch} on {held[0][0].label}"
        elif others and 2 * len(others) >= len(stated) and not any(one.is_repairs for one in replica.facts.elections):
            due, where = others[0], "in other nodes' quorum-state"
        else:
            continue
        if due != own:
            what = f"its voters are {_ids(own)}, and {_ids(due)} {where}"
            yield finding(
                "static_voters_differ", what, node_id=replica.source.node_id, file=_file(replica), epoch=epoch
            )


def _ids(ids: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(ids)))


def _stranger(view: ReplicaSet, voted: ReplicaKey, known: frozenset[ReplicaKey], *, was_elected: bool) -> str | None:
    """Return why the candidate is no voter, as the text behind its node id, or None if it may be one.

    A candidate may be a voter by a set that only its own log had. If it was elected, the logs here have that set.
    """
    ids = {int(voter.node_id) for voter in known or view.voters.keys}
    if ids and voted.node_id not in ids:
        return f", which is no voter: the voters are {', '.join(map(str, sorted(ids)))}"
    candidates = known if was_elected else known | {one.key for one in view.replicas}
    if not known or voted.directory_id == ZERO_DIRECTORY_ID or voted in candidates:
        return None
    named = f" with directory {id_text(voted.directory_id)}"
    owner = next((int(one.node_id) for one in candidates if one.directory_id == voted.directory_id), None)
    if owner is not None:
        return f"{named}, which is node {owner}'s"
    return f"{named}, which is no voter's"


def _among_states(view: ReplicaSet, elections: dict[int, list[tuple[Replica, Election]]]) -> Iterator[Finding]:
    """Yield `quorum-state` files that name different leaders of an epoch whose LeaderChange is in no log."""
    by_epoch: dict[int, dict[int, list[Replica]]] = {}
    for replica in view.replicas:
        state = replica.facts.quorum_state
        if state is not None and state.leader_id >= 0 and state.leader_epoch not in elections:
            by_epoch.setdefault(state.leader_epoch, {}).setdefault(state.leader_id, []).append(replica)
    for epoch, leaders in sorted(by_epoch.items()):
        yield from _rivals(epoch, leaders) if len(leaders) > 1 else ()


def _most_named(leaders: Mapping[int, Sequence[Replica]]) -> int | None:
    """Return the leader that most `quorum-state` files name, or None for a tie."""
    most = max(map(len, leaders.values()))
    named = [leader_id for leader_id, replicas in leaders.items() if len(replicas) == most]
    return named[0] if len(named) == 1 else None


def _rivals(epoch: int, leaders: Mapping[int, Sequence[Replica]]) -> Iterator[Finding]:
    believed = _most_named(leaders)
    for leader_id, replicas in sorted(leaders.items()):
        if leader_id == believed:
            continue
        others = ", ".join(
            f"node {other} by {join_names([replica.label for replica in held])}"
            for other, held in sorted(leaders.items())
            if other != leader_id
        )
        for replica in replicas:
            what = f"it says that node {leader_id} leads epoch {epoch}, which is {others}"
            yield finding("two_leaders", what, node_id=replica.source.node_id, file=_file(replica), epoch=epoch)
