"""`kraft quorum`: who leads, who votes, how far each replica has come; with the words of kafka-metadata-quorum."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer

from metadata_log.ids import METADATA_TOPIC_ID, id_text
from quorum.cli import voters
from quorum.cli.connection import DEFAULT_TIMEOUT_S, BootstrapController, Timeout, with_client
from quorum.cli.output import Output, OutputFormat, print_table, show_json, show_object

if TYPE_CHECKING:
    from quorum.client.quorum_status import QuorumStatus, ReplicaStatus

app = typer.Typer(no_args_is_help=True)

REPLICATION_COLUMNS: Final = (
    "NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status",
)  # fmt: skip
_TIMES: Final = ("LastFetchTimestamp", "LastCaughtUpTimestamp")


@app.callback()
def quorum() -> None:
    """See the quorum, and change who votes."""


app.command(
    "add-controller",
    epilog="Examples:  kraft quorum add-controller --bootstrap-controller localhost:9094 --command-config n4.properties"
    "    kraft quorum add-controller --bootstrap-controller localhost:9094 --controller-id 4 --dry-run",
)(voters.add_controller)
app.command(
    "remove-controller",
    epilog="Examples:  kraft quorum remove-controller --bootstrap-controller localhost:9094 --controller-id 4 --dry-run"
    "    kraft quorum remove-controller --bootstrap-controller localhost:9094 --controller-id 4",
)(voters.remove_controller)


@app.command(epilog="Example:  kraft quorum describe --bootstrap-controller localhost:9094 --replication")
def describe(
    bootstrap_controller: BootstrapController = "",
    status: Annotated[
        bool, typer.Option("--status", help="Only the summary: leader, epoch, high watermark, lag.")
    ] = False,
    replication: Annotated[
        bool, typer.Option("--replication", help="Only the table of replicas: log end, lag, last fetch.")
    ] = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Describe the quorum as its leader sees it; --status and --replication show one part of it.

    Where no leader can be reached, another controller says what it knows; a line on what is missing stands below.
    """
    found = with_client(bootstrap_controller, timeout, lambda client: client.describe_quorum())
    parts: dict[str, object] = {}
    if status or not replication:
        parts["status"] = status_of(found)
    if replication or not status:
        parts["replication"] = replication_of(found)
    if output is OutputFormat.JSON:
        show_json({"answered_by": found.answered_by, **parts})
        return
    _show(found, shows_status="status" in parts, shows_replication="replication" in parts)


def _show(found: QuorumStatus, *, shows_status: bool, shows_replication: bool) -> None:
    if shows_status:
        show_object(OutputFormat.TABLE, {**status_of(found), **_members(found)})
    if shows_status and shows_replication:
        print()
    if shows_replication:
        print_table(REPLICATION_COLUMNS, [with_times_as_text(row) for row in replication_of(found)])
    if not found.is_from_leader:
        leader = f"the leader, node {found.leader_id}," if found.leader_id >= 0 else "no leader is known, which"
        print(f"Answered by node {found.answered_by}: {leader} would know how far the replicas are.")


def status_of(found: QuorumStatus) -> dict[str, object]:
    """The summary, by the names that kafka-metadata-quorum prints."""
    lags = [lag for voter in found.voters if (lag := _lag(found, voter)) is not None]
    behind = [_behind_ms(found, voter) for voter in found.voters] if found.is_from_leader else []
    return {
        "ClusterId": found.cluster_id,
        "MetadataTopicId": id_text(found.topic_id),
        "LeaderId": found.leader_id,
        "LeaderEpoch": found.leader_epoch,
        "HighWatermark": found.high_watermark,
        "MaxFollowerLag": max(lags, default=None),
        "MaxFollowerLagTimeMs": max((value for value in behind if value is not None), default=None),
        "CurrentVoters": [_member(found, voter) for voter in found.voters],
        "CurrentObservers": [_member(found, observer) for observer in found.observers],
    }


def replication_of(found: QuorumStatus) -> list[dict[str, object]]:
    """One row a replica, by the names that kafka-metadata-quorum prints; the leader first."""
    voters = sorted(found.voters, key=lambda each: (each.replica.node_id != found.leader_id, each.replica))
    rows = [_row(found, each, "Follower") for each in voters]
    return rows + [_row(found, each, "Observer") for each in sorted(found.observers, key=lambda each: each.replica)]


def with_times_as_text(row: dict[str, object]) -> dict[str, object]:
    """A row of the replication table, for people."""
    return {key: _time_text(value) if key in _TIMES else value for key, value in row.items()}


def _time_text(value: object) -> str | None:
    if not isinstance(value, int):
        return None
    return f"{datetime.fromtimestamp(value / 1000, UTC):%H:%M:%S}.{value % 1000:03d}Z"


def _members(found: QuorumStatus) -> dict[str, object]:
    return {
        "MetadataTopicId": id_text(found.topic_id)
        + (
            f" (the sentinel: node {found.answered_by} knows no other yet)"
            if found.topic_id == METADATA_TOPIC_ID
            else ""
        ),
        "CurrentVoters": [each.replica.node_id for each in found.voters],
        "CurrentObservers": [each.replica.node_id for each in found.observers],
    }


def _member(found: QuorumStatus, member: ReplicaStatus) -> dict[str, object]:
    listeners = next((node.listeners for node in found.nodes if node.node_id == member.replica.node_id), ())
    return {
        "id": member.replica.node_id,
        "directoryId": id_text(member.replica.directory_id),
        "endpoints": [f"{at.name}://{f'[{at.host}]' if ':' in at.host else at.host}:{at.port}" for at in listeners],
    }


def _row(found: QuorumStatus, each: ReplicaStatus, role: str) -> dict[str, object]:
    return {
        "NodeId": each.replica.node_id,
        "DirectoryId": id_text(each.replica.directory_id),
        "LogEndOffset": _known(each.log_end_offset),
        "Lag": _lag(found, each),
        "LastFetchTimestamp": _known(each.last_fetch_timestamp_ms),
        "LastCaughtUpTimestamp": _known(each.last_caught_up_timestamp_ms),
        "Status": "Leader" if each.replica.node_id == found.leader_id and role == "Follower" else role,
    }


def _known(value: int) -> int | None:
    return None if value < 0 else value


def _lag(found: QuorumStatus, each: ReplicaStatus) -> int | None:
    end = max((voter.log_end_offset for voter in found.voters if voter.replica.node_id == found.leader_id), default=-1)
    return None if end < 0 or each.log_end_offset < 0 else max(0, end - each.log_end_offset)


def _behind_ms(found: QuorumStatus, voter: ReplicaStatus) -> int | None:
    if voter.replica.node_id == found.leader_id or _lag(found, voter) == 0:
        return 0
    if voter.last_caught_up_timestamp_ms < 0:
        return None
    return max(0, time.time_ns() // 1_000_000 - voter.last_caught_up_timestamp_ms)
