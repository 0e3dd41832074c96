"""The output of `kraft quorum describe`: tables for people, JSON for programs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from metadata_log.ids import METADATA_TOPIC_ID, ZERO_DIRECTORY_ID, id_text
from metadata_log.offsets import LARGEST_EPOCH, is_near_last_epoch
from metadata_log.tools.findings.advice import EPOCHS_ENDED, EPOCHS_IN_LOG
from metadata_log.tools.findings.last_epochs import elections_left
from metadata_log.voters import GRPC_LISTENER
from quorum.cli.output import object_lines, with_times
from quorum.cli.tables import table_lines

if TYPE_CHECKING:
    from metadata_log.voters import Endpoint
    from quorum.client.quorum_status import QuorumStatus, ReplicaStatus


REPLICATION_COLUMNS: Final = (
    "node_id", "directory_id", "log_end_offset", "lag", "last_fetch_timestamp", "last_caught_up_timestamp", "status",
)  # fmt: skip


_LOOK: Final = "Are a majority of the voters running, and do they reach each other?"
_TIMES: Final = ("last_fetch_timestamp_ms", "last_caught_up_timestamp_ms")


class Parts(NamedTuple):
    """The parts of the output that are shown."""

    status: bool
    replication: bool


def as_json(found: QuorumStatus, parts: Parts) -> dict[str, object]:
    """Return all of it for programs. `problem`: why no leader is known to lead, or None."""
    shown: dict[str, object] = {
        "answered_by": found.answered_by,
        "problem": problem_of(found),
        "unreached": unreached_of(found),
    }
    if parts.status:
        shown["status"] = status_of(found)
    if parts.replication:
        shown["replication"] = replication_of(found)
    return shown


def unreached_of(found: QuorumStatus) -> list[dict[str, object]]:
    """Return the peers that the answering node does not reach, for programs."""
    return [
        {"node_id": each.node_id, "address": each.address, "reason": each.reason, "what": each.what}
        for each in found.unreached
    ]


def lines_of(found: QuorumStatus, parts: Parts) -> list[str]:
    """Return all of it for people. The first line says if no leader answers. An unknown value is `unknown`."""
    problem = problem_of(found)
    lines = [] if problem is None else [problem[:1].upper() + problem[1:], ""]
    if parts.status:
        lines += object_lines(_known_or_not({**status_of(found), **_members(found)}))
    if parts.status and parts.replication:
        lines.append("")
    if parts.replication:
        rows = [_known_or_not(row) for row in replication_of(found)]
        lines += table_lines(REPLICATION_COLUMNS, rows)
    if problem is not None:
        return lines
    if not found.is_from_leader:
        leader = f"the leader, node {found.leader_id},"
        lines.append(f"Answered by node {found.answered_by}: {leader} would know how far the replicas are.")
    if is_near_last_epoch(found.leader_epoch):
        lines.append(_ended(found))
    return lines


def _known_or_not(fields: dict[str, object]) -> dict[str, object]:
    return {key: "unknown" if value is None else value for key, value in fields.items()}


def problem_of(found: QuorumStatus) -> str | None:
    """Return the problem if no leader answers or none has a majority, and what to do, or None."""
    if found.is_led:
        return None
    ended = f" {_ended(found)}" if is_near_last_epoch(found.leader_epoch) else ""
    node, leader, epoch = found.answered_by, found.leader_id, found.leader_epoch
    if leader < 0:
        if ended:
            return f"no leader is known.{ended}"
        return f"no leader is known: node {node}, which answered, knows none in epoch {epoch}. {_look_at(found)}"
    age_ms = found.heard_age_ms
    silent = "since its start" if age_ms is None else f"for {age_ms / 1000:.1f} s"
    if found.is_from_leader:
        led = f"node {leader} leads epoch {epoch}"
        return f"no majority: {led}, and heard of no majority {silent}. {_look_at(found)}{ended}"
    return (
        f"no leader answers: node {node} knows node {leader} as the leader of epoch {epoch}, and has not heard of it "
        f"{silent}. {_look_at(found)}{ended}"
    )


def _look_at(found: QuorumStatus) -> str:
    """Return the peers that the answering node does not reach, or the question to ask if it knows none."""
    if not found.unreached:
        return _LOOK
    return f"Node {found.answered_by} does not reach {'; '.join(each.what for each in found.unreached)}."


def _ended(found: QuorumStatus) -> str:
    advice = EPOCHS_ENDED if found.leader_id < 0 else EPOCHS_IN_LOG
    return (
        f"{elections_left(found.leader_epoch)}: node {found.answered_by} knows epoch {found.leader_epoch}, and epochs "
        f"end at {LARGEST_EPOCH}. What to do: {advice}."
    )


def status_of(found: QuorumStatus) -> dict[str, object]:
    """Return the summary, with the names of kafka-metadata-quorum; None: unknown.

    A voter that has not fetched from this leader may lack any number of records.
    """
    lags = [_lag(found, voter) for voter in found.voters]
    behind = [_behind_ms(found, voter) for voter in found.voters] if found.is_from_leader else []
    return {
        "cluster_id": found.cluster_id,
        "metadata_topic_id": id_text(found.topic_id),
        "leader_id": _known(found.leader_id),
        "leader_epoch": found.leader_epoch,
        # A node that has heard of no leader since its start knows no high watermark.
        "high_watermark": found.high_watermark if found.is_led else found.high_watermark or None,
        "max_follower_lag": _most(lags),
        "max_follower_lag_time_ms": _most(behind),
        "current_voters": [_member(found, voter) for voter in _by_id(found.voters)],
        "current_observers": (
            [_member(found, observer) for observer in _by_id(found.observers)] if found.is_from_leader else None
        ),
    }


def replication_of(found: QuorumStatus) -> list[dict[str, object]]:
    """Return one row a replica, in the terms of kafka-metadata-quorum, the leader first.

    An unknown `status` is null: only the leader knows whether the other voters follow it.
    """
    voters = sorted(found.voters, key=lambda each: (each.replica.node_id != found.leader_id, each.replica))
    rows = [_row(found, each, _status_of_voter(found, each.replica.node_id)) for each in voters]
    return rows + [_row(found, each, "Observer") for each in _by_id(found.observers)]


def _most(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return max(known) if known and len(known) == len(values) else None


def _status_of_voter(found: QuorumStatus, node_id: int) -> str | None:
    if not (found.is_led or found.is_from_leader):
        return None
    if node_id == found.leader_id:
        return "Leader"
    return "Follower" if found.is_from_leader or node_id == found.answered_by else None


def _members(found: QuorumStatus) -> dict[str, object]:
    return {
        "leader_id": _leader_text(found),
        "metadata_topic_id": id_text(found.topic_id)
        + (
            f" (the sentinel: node {found.answered_by} knows no other yet)"
            if found.topic_id == METADATA_TOPIC_ID
            else ""
        ),
        "current_voters": _written(found, found.voters),
        "current_observers": _written(found, found.observers) or ("-" if found.is_from_leader else None),
    }


def _leader_text(found: QuorumStatus) -> str:
    if found.leader_id < 0:
        return "none known"
    return str(found.leader_id) if found.is_led else f"{found.leader_id} (does not answer)"


def _by_id(members: Iterable[ReplicaStatus]) -> list[ReplicaStatus]:
    return sorted(members, key=lambda each: each.replica)


def _written(found: QuorumStatus, members: Iterable[ReplicaStatus]) -> str | None:
    """Return one line a member, in the form of the options that take one, or None without members.

    The form is `id@host:port[/grpc-port]:directory-id`; unknown parts are left out.
    """
    lines = []
    for member in _by_id(members):
        listeners, key = _listeners(found, member), member.replica
        directory = "" if key.directory_id == ZERO_DIRECTORY_ID else f":{id_text(key.directory_id)}"
        grpc = next((at for at in listeners if at.name == GRPC_LISTENER), None)
        first = next((at for at in listeners if at is not grpc), grpc)
        where = "" if first is None else f"@{str(first).partition('://')[2]}"
        second = "" if grpc is None or grpc is first else f"/{grpc.port}"
        lines.append(f"{key.node_id}{where}{second}{directory}")
    return "\n".join(lines) or None


def _listeners(found: QuorumStatus, member: ReplicaStatus) -> tuple[Endpoint, ...]:
    """Return the listeners of a member. An observer with a voter's id is another process: none are known."""
    node_id = member.replica.node_id
    if member not in found.voters and any(voter.replica.node_id == node_id for voter in found.voters):
        return ()
    return next((node.listeners for node in found.nodes if node.node_id == node_id), ())


def _member(found: QuorumStatus, member: ReplicaStatus) -> dict[str, object]:
    return {
        "node_id": member.replica.node_id,
        "directory_id": id_text(member.replica.directory_id),
        "endpoints": [str(at) for at in _listeners(found, member)],
    }


def _row(found: QuorumStatus, each: ReplicaStatus, status: str | None) -> dict[str, object]:
    fields = {
        "node_id": each.replica.node_id,
        "directory_id": id_text(each.replica.directory_id),
        "log_end_offset": _known(each.log_end_offset),
        "lag": _lag(found, each),
        "last_fetch_timestamp_ms": _known(each.last_fetch_timestamp_ms),
        "last_caught_up_timestamp_ms": _known(each.last_caught_up_timestamp_ms),
        "status": status,
    }
    return with_times(fields, *_TIMES)


def _known(value: int) -> int | None:
    return None if value < 0 else value


def _lag(found: QuorumStatus, each: ReplicaStatus) -> int | None:
    end = -1 if found.leader is None else found.leader.log_end_offset
    return None if end < 0 or each.log_end_offset < 0 else max(0, end - each.log_end_offset)


def _behind_ms(found: QuorumStatus, voter: ReplicaStatus) -> int | None:
    if voter.replica.node_id == found.leader_id or _lag(found, voter) == 0:
        return 0
    if voter.last_caught_up_timestamp_ms < 0:
        return None
    return max(0, time.time_ns() // 1_000_000 - voter.last_caught_up_timestamp_ms)
