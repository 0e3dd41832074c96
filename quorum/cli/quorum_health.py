"""`kraft quorum health`: one line and an exit status, for cron and probes.

Decides: when a quorum is healthy: a leader answers, and a majority of the voters follow it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metadata_log.voters import majority_of
from quorum.cli.quorum_output import problem_of, unreached_of

if TYPE_CHECKING:
    from quorum.client.quorum_status import QuorumStatus, ReplicaStatus

HEARD_MS: Final = 10_000
"""A voter whose last Fetch is older does not follow. An idle one fetches every half second."""


def health_of(found: QuorumStatus, *, every_voter: bool) -> dict[str, object]:
    """Return the verdict as fields: `healthy`, `problem` (None: healthy), and the facts behind it. None: unknown.

    With `every_voter`, a single voter that does not follow is a problem. If the leader does not answer here, for
    example a Java controller, `healthy` is then None.
    """
    following = _following(found) if found.is_from_leader else None
    problem = _problem(found, following, every_voter=every_voter)
    return {
        "healthy": None if problem is not None and _is_unknown(found) else problem is None,
        "problem": problem,
        "leader_id": found.leader_id if found.is_led else None,
        "leader_epoch": found.leader_epoch,
        "voters": len(found.voters),
        "voters_following": None if following is None else len(following),
        "max_follower_lag": None if following is None else _farthest(found, following),
        "answered_by": found.answered_by,
        "unreached": unreached_of(found),
    }


def line_of(found: QuorumStatus, verdict: dict[str, object]) -> str:
    """Return the verdict as one line."""
    if verdict["problem"] is not None:
        return f"{'Unknown' if verdict['healthy'] is None else 'Not healthy'}: {verdict['problem']}"
    leads = f"Healthy: node {found.leader_id} leads epoch {found.leader_epoch}"
    if not found.is_from_leader:
        return f"{leads}, which node {found.answered_by} follows; the leader itself does not answer here."
    lag = verdict["max_follower_lag"]
    behind = "" if lag is None else f", at most {lag} record{'' if lag == 1 else 's'} behind"
    return f"{leads}; {verdict['voters_following']} of {verdict['voters']} voters follow{behind}{_without(found)}."


def _without(found: QuorumStatus) -> str:
    """Return the voters that do not follow, and a warning if no other may fail; empty if all follow."""
    following = _following(found)
    silent = _silent(found, following)
    if not silent:
        return ""
    said = f"; {_names(silent)} {'does' if len(silent) == 1 else 'do'} not"
    is_last = len(following) == majority_of(len(found.voters))
    return f"{said}. If one more fails, no majority is left" if is_last else said


def _silent(found: QuorumStatus, following: list[ReplicaStatus]) -> list[ReplicaStatus]:
    return [each for each in found.voters if each not in following]


def _names(voters: list[ReplicaStatus]) -> str:
    return f"voter{'' if len(voters) == 1 else 's'} {', '.join(str(each.replica.node_id) for each in voters)}"


def _is_unknown(found: QuorumStatus) -> bool:
    return found.is_led and not found.is_from_leader


def _problem(found: QuorumStatus, following: list[ReplicaStatus] | None, *, every_voter: bool) -> str | None:
    if (problem := problem_of(found)) is not None:
        return problem
    if following is None:
        alone = f"the leader, node {found.leader_id}, does not answer here, and it alone knows of every voter."
        return alone if every_voter else None
    silent = _silent(found, following)
    names = _names(silent)
    if len(following) < majority_of(len(found.voters)):
        follow = f"{len(following)} of {len(found.voters)} voters follow node {found.leader_id}"
        return f"no majority: {follow}, without {names}."
    if silent and every_voter:
        return (
            f"{names} did not fetch within {HEARD_MS // 1000} s; {len(following)} of {len(found.voters)} voters follow "
            f"node {found.leader_id}."
        )
    return None


def _following(found: QuorumStatus) -> list[ReplicaStatus]:
    """Return the leader and the voters that fetched lately, by the leader's own clock."""
    newest_ms = max((each.last_fetch_timestamp_ms for each in found.voters), default=-1)
    return [each for each in found.voters if each.last_fetch_timestamp_ms >= max(newest_ms - HEARD_MS, 0)]


def _farthest(found: QuorumStatus, following: list[ReplicaStatus]) -> int | None:
    """Return the largest number of records that a following voter lacks."""
    if found.leader is None:
        return None
    ends = [each.log_end_offset for each in following if each.log_end_offset >= 0]
    return max((max(0, found.leader.log_end_offset - end) for end in ends), default=None)
