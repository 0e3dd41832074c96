"""Liveness and readiness of a node, as named checks with their reasons.

Decides: when a node counts as alive and as ready. Must not know: HTTP, gRPC. A node that has lost its leader, or has
fallen behind, is alive and not ready: a restart would not help.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from metadata_log.ids import id_text
from metadata_log.offsets import is_near_last_epoch
from metadata_log.tools.findings.last_epochs import elections_left, what_to_do
from quorum.node.core.view import NodeView
from quorum.node.process.failure_words import unreached_lines

if TYPE_CHECKING:
    from quorum.node.core.executor import Executor

_DISK_STALL_MS: Final = 10_000
"""A longer sync means a stalled disk: no write is acknowledged meanwhile."""
_HEARD_FACTOR: Final = 2
"""The limit in fetch timeouts without contact to the leader, or as leader to a majority."""


class Check(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One check: `what` states the result."""

    name: str
    is_ok: bool
    what: str


def check_alive(view: NodeView) -> tuple[Check, ...]:
    """Return the checks that only a restart could repair: a failed node, or a hanging disk."""
    return (
        Check(name="running", is_ok=view.failure is None, what=view.failure or "no failure"),
        _check_disk(view),
    )


def check_ready(view: NodeView) -> tuple[Check, ...]:
    """Return the checks that must pass to serve requests: those of `check_alive`, and a working quorum."""
    own = (_check_log(view), _check_hold(view))
    return (*check_alive(view), *own, _check_leader(view), _check_heard(view), _check_caught_up(view))


def are_ok(checks: tuple[Check, ...]) -> bool:
    """Return True if all checks pass."""
    return all(check.is_ok for check in checks)


def _check_disk(view: NodeView) -> Check:
    is_ok = view.disk_stalled_ms < _DISK_STALL_MS
    what = "writes complete" if is_ok else f"a write to the log has been under way for {view.disk_stalled_ms} ms"
    return Check(name="disk", is_ok=is_ok, what=what)


def _check_log(view: NodeView) -> Check:
    what = "; ".join(view.recovery_warnings) or "recovered without a warning"
    return Check(name="log-recovered", is_ok=True, what=f"{what}; it ends at {view.log_end_offset}")


def _check_hold(view: NodeView) -> Check:
    if view.held is None:
        return Check(name="log-of-this-quorum", is_ok=True, what="nothing offered here was of another log")
    own, other = ("not known" if one is None else id_text(one) for one in (view.held.own_id, view.held.other_id))
    ids = f"metadata topic id here {own}, the leader's {other}"
    return Check(name="log-of-this-quorum", is_ok=False, what=f"holds ({view.held.reason}): {view.held.what}; {ids}")


def _check_leader(view: NodeView) -> Check:
    if view.leader_id is None:
        unreached = "".join(f"; {line}" for line in unreached_lines(view.unreached))
        what = f"no leader is known in epoch {view.epoch} ({view.role}){unreached}"
    else:
        what = f"node {view.leader_id} leads epoch {view.epoch}"
    return Check(name="leader-known", is_ok=view.leader_id is not None, what=f"{what}{_epochs_left(view)}")


def _epochs_left(view: NodeView) -> str:
    if not is_near_last_epoch(view.epoch):
        return ""
    advice = what_to_do(view.epoch, in_log=int(view.image.offset_and_epoch.epoch), is_observer=not view.is_voter)
    if view.is_voter or view.leader_id is not None:
        return f". {elections_left(view.epoch)}: {advice}"
    return f". It ignores every leader of a lower epoch: {advice}"


def _check_heard(view: NodeView) -> Check:
    name = "majority-fetches" if view.role == "leader" else "fetches-from-leader"
    limit = _HEARD_FACTOR * view.fetch_timeout_ms
    if view.heard_age_ms is None:
        return Check(name=name, is_ok=False, what="not once since this process started")
    return Check(name=name, is_ok=view.heard_age_ms <= limit, what=f"{view.heard_age_ms} ms ago, limit {limit} ms")


def _check_caught_up(view: NodeView) -> Check:
    end = view.image.offset_and_epoch.offset
    if view.role == "leader" and view.active_epoch != view.epoch:
        return Check(name="caught-up", is_ok=False, what=f"leads epoch {view.epoch}, not yet its active controller")
    is_ok = view.heard_age_ms is not None and end >= view.high_watermark
    return Check(name="caught-up", is_ok=is_ok, what=f"image at {end}, high watermark {view.high_watermark}")


def heard_age_ms(executor: Executor, monotonic_ms: int, wall_ms: int) -> int | None:
    """Return the ms since this node last heard of the replicas that it depends on, or None if it never did.

    A leader depends on enough voters' Fetches for a majority with itself. Any other replica depends on the leader's
    responses.
    """
    machine = executor.machine
    if not machine.is_leader:
        last = executor.peers.last_fetched_ms
        return None if last is None else max(0, monotonic_ms - last)
    others_needed = machine.voters.majority - (1 if machine.voters.is_voter(executor.replica) else 0)
    if others_needed == 0:
        return 0
    fetched = sorted(
        (
            voter.last_fetch_timestamp_ms
            for voter in machine.describe_quorum().voters
            if voter.replica != executor.replica and voter.last_fetch_timestamp_ms >= 0
        ),
        reverse=True,
    )
    return max(0, wall_ms - fetched[others_needed - 1]) if len(fetched) >= others_needed else None
