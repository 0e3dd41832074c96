"""`kraft quorum add-controller | remove-controller`, with the option names of kafka-metadata-quorum.

Decides: the output before a change. A change that would leave no majority of live voters needs `--unsafe`. Must not
know: how a change is made (`quorum.client.voter_changes`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from metadata_log.ids import ZERO_DIRECTORY_ID, DirectoryId, NodeId, ReplicaKey, id_text
from quorum.cli.connection import BootstrapController, timeout_option, with_client
from quorum.cli.errors import CliError, say, wrong_use
from quorum.cli.option_values import MAX_INT32, directory_id_of
from quorum.cli.output import Output, OutputFormat, show_json

if TYPE_CHECKING:
    from metadata_log.voters import Endpoint
    from quorum.api.voter_messages import RemoveRaftVoterRequest
    from quorum.client.client import Client
    from quorum.client.quorum_status import QuorumStatus
    from quorum.client.voter_plan import VoterPlan

CHANGE_TIMEOUT_S: Final = 30.0
"""A change waits for the one before it, and for a new voter to catch up."""

_DIRECTORY_HELP = "The directory id of its metadata log; `kraft quorum describe --replication` shows it."
ChangeTimeout = Annotated[float, timeout_option("for the change to commit")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would happen to the majority, and whether the leader would do it.")
]


class _Joining(msgspec.Struct, frozen=True, kw_only=True):
    """The controller to add, its endpoints, and the id of its cluster if that is known."""

    key: ReplicaKey
    endpoints: tuple[Endpoint, ...]
    cluster_id: str | None = None


def add_controller(
    bootstrap_controller: BootstrapController = "",
    config: Annotated[
        Path | None,
        typer.Option(
            "--command-config",
            help="The joining controller's .properties file; its directory is formatted.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    controller_id: Annotated[
        int | None,
        typer.Option("-i", "--controller-id", help="Instead: its node id; it runs, and fetches.", min=0, max=MAX_INT32),
    ] = None,
    directory_id: Annotated[str | None, typer.Option("-d", "--controller-directory-id", help=_DIRECTORY_HELP)] = None,
    dry_run: DryRun = False,
    timeout: ChangeTimeout = CHANGE_TIMEOUT_S,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Make a controller a voter. It has to run, with --no-initial-controllers, and to have caught up with the leader.

    It is named by the file that it was started with (--command-config, on its own machine), or by its node id.
    Exit status 1: the leader refuses, or would.
    """
    directory = _directory_named(config, controller_id, directory_id)

    async def work(client: Client) -> tuple[VoterPlan, _Joining]:
        from quorum.api.voter_messages import AddRaftVoterRequest  # noqa: PLC0415
        from quorum.client.voter_plan import plan_addition  # noqa: PLC0415  (not needed for help, no more than gRPC)

        status = await _leaders_view(client)
        joining = _of_config(config) if config is not None else _of_observer(status, controller_id, directory)
        _check_votes_not(status, joining.key)
        plan = plan_addition(status, joining.key)
        if output is OutputFormat.TABLE:
            _say_plan(f"Adding controller {_named(joining.key)}", plan)
        if plan.problem is not None and dry_run:
            raise CliError(f"it would not be added now: {plan.problem}")
        if plan.problem is not None:
            say(f"it is added as soon as it can be: {plan.problem}")
        request = AddRaftVoterRequest(voter=joining.key, endpoints=joining.endpoints, validate_only=dry_run)
        await client.change_voters(request, cluster_id=joining.cluster_id)
        return plan, joining

    plan, joining = with_client(bootstrap_controller, timeout, work)
    _say_done(output, plan, joining.key, dry_run=dry_run, what="added")


def remove_controller(
    bootstrap_controller: BootstrapController = "",
    controller_id: Annotated[
        int | None,
        typer.Option("-i", "--controller-id", help="The voter's node id.", min=0, max=MAX_INT32, show_default=False),
    ] = None,
    directory_id: Annotated[
        str | None, typer.Option("-d", "--controller-directory-id", help=f"{_DIRECTORY_HELP} By default, the voter's.")
    ] = None,
    dry_run: DryRun = False,
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="Remove it although no majority of live voters would be left.")
    ] = False,
    timeout: ChangeTimeout = CHANGE_TIMEOUT_S,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Take a controller's vote, so that it may be stopped for good, or its disk replaced.

    The command refuses if no majority of the remaining voters is live: nothing could be committed any more.
    Exit status 1: it is refused, or would be.
    """
    if controller_id is None:
        raise wrong_use("name the voter: --controller-id")
    directory = directory_id_of(directory_id, "--controller-directory-id")

    async def work(client: Client) -> tuple[VoterPlan, ReplicaKey]:
        from quorum.api.voter_messages import RemoveRaftVoterRequest  # noqa: PLC0415
        from quorum.client.voter_plan import plan_removal  # noqa: PLC0415

        status = await _leaders_view(client)
        key = _voter_of(status, controller_id, directory)
        plan = plan_removal(status, key)
        if not plan.after:
            raise CliError(f"not removed: controller {key.node_id} is the only voter, and a quorum has at least one")
        if output is OutputFormat.TABLE:
            _say_plan(f"Removing controller {_named(key)}", plan)
        if plan.problem is not None and not unsafe:
            raise CliError(f"not removed: {plan.problem} (--unsafe does it all the same)")
        await _remove(client, RemoveRaftVoterRequest(voter=key, validate_only=dry_run, keeps_majority=not unsafe))
        return plan, key

    plan, key = with_client(bootstrap_controller, timeout, work)
    _say_done(output, plan, key, dry_run=dry_run, what="removed")


def _directory_named(config: Path | None, controller_id: int | None, directory_id: str | None) -> DirectoryId | None:
    """Return the directory id that the options give, or None.

    A controller is named in one of two ways, never in both.
    """
    if config is None and controller_id is None:
        raise wrong_use("name the controller: --command-config with its .properties file, or --controller-id")
    if config is not None and controller_id is not None:
        raise wrong_use(
            "--command-config says which controller it is: leave --controller-id out, or name it by that alone"
        )
    if config is not None and directory_id is not None:
        raise wrong_use(
            "--controller-directory-id goes with --controller-id: --command-config says which directory it is"
        )
    return directory_id_of(directory_id, "--controller-directory-id")


async def _remove(client: Client, request: RemoveRaftVoterRequest) -> None:
    """Have the leader remove the voter. The leader checks the majority again: the plan may be outdated."""
    from quorum.api.error_codes import Error  # noqa: PLC0415
    from quorum.client.errors import RefusedError  # noqa: PLC0415

    try:
        await client.change_voters(request)
    except RefusedError as refused:
        is_guarded = request.keeps_majority and refused.error is Error.INVALID_REQUEST
        advice = " (--unsafe does it all the same)" if is_guarded else ""
        raise CliError(f"not removed: {refused}{advice}") from refused


async def _leaders_view(client: Client) -> QuorumStatus:
    """Return the leader's description, after an election if need be. Only the leader knows the live voters."""
    status = await client.describe_quorum(until=lambda status: status.is_from_leader)
    if not status.is_from_leader:
        leader = f"the leader, node {status.leader_id}, does not answer" if status.leader_id >= 0 else "no node leads"
        raise CliError(
            f"{leader} (asked node {status.answered_by}), and only a leader changes the voters. Start the voters; "
            "where a majority of them is lost, see kraft recover"
        )
    return status


def _of_config(path: Path) -> _Joining:
    """Return the controller of a node's own file and directory, as kafka-metadata-quorum does."""
    from metadata_log.directory import read_meta_properties  # noqa: PLC0415
    from metadata_log.files.os_files import OsFiles  # noqa: PLC0415
    from quorum.node.config.node_config import load_config  # noqa: PLC0415

    settings = load_config(path)
    if not settings.is_controller:
        raise wrong_use(f"--command-config {path}: process.roles names no controller: only a controller can vote")
    meta = read_meta_properties(OsFiles(), settings.metadata_log_dir)
    if meta.directory_id is None:
        raise CliError(f"{settings.metadata_log_dir} has no directory id: it was formatted for static voters")
    key = ReplicaKey(node_id=NodeId(settings.node_id), directory_id=meta.directory_id)
    return _Joining(key=key, endpoints=settings.controller_endpoints, cluster_id=meta.cluster_id)


def _check_votes_not(status: QuorumStatus, key: ReplicaKey) -> None:
    """Raise CliError if the controller's node id is a voter's: this replica, or its former directory."""
    voting = next((each.replica for each in status.voters if each.replica.node_id == key.node_id), None)
    if voting == key:
        raise CliError(f"controller {key.node_id} is a voter already")
    if voting is not None:
        raise CliError(
            f"controller {key.node_id} votes already, with directory {id_text(voting.directory_id)}, not "
            f"{id_text(key.directory_id)}: a replaced disk is another voter. Remove the old one first: kraft quorum "
            f"remove-controller --controller-id {key.node_id}"
        )


def _of_observer(status: QuorumStatus, controller_id: int | None, directory: DirectoryId | None) -> _Joining:
    """Return the controller from what the leader knows: an observer that is a registered controller."""
    found = [each.replica for each in status.observers if each.replica.node_id == controller_id]
    if directory is not None:
        found = [key for key in found if key.directory_id == directory]
    listeners = next((node.listeners for node in status.nodes if node.node_id == controller_id), ())
    voting = next((each.replica for each in status.voters if each.replica.node_id == controller_id), None)
    if voting is not None:
        _check_votes_not(status, found[0] if found else voting)
    if not found:
        raise CliError(
            f"the leader, node {status.leader_id}, knows no observer {controller_id}"
            f"{'' if directory is None else f' with directory {id_text(directory)}'}: is it running, formatted with "
            "--no-initial-controllers and this cluster's id? Otherwise give --command-config"
        )
    if len(found) > 1:
        names = ", ".join(id_text(key.directory_id) for key in found)
        raise CliError(f"observer {controller_id} was seen with the directories {names}: say which, with -d")
    if not listeners:
        raise CliError(f"node {controller_id} is not registered as a controller: only a controller can vote")
    return _Joining(key=found[0], endpoints=listeners)


def _voter_of(status: QuorumStatus, controller_id: int | None, directory: DirectoryId | None) -> ReplicaKey:
    known = next((each.replica for each in status.voters if each.replica.node_id == controller_id), None)
    if known is None:
        voters = ", ".join(str(each.replica.node_id) for each in status.voters)
        raise CliError(f"controller {controller_id} is no voter: the voters are {voters}")
    if known.directory_id == ZERO_DIRECTORY_ID:
        raise CliError(
            "the voters are static (kraft.version 0): controller.quorum.voters of every node lists them. "
            "To change them, first: kraft features upgrade --feature kraft.version=1"
        )
    if directory is not None and directory != known.directory_id:
        raise CliError(
            f"controller {controller_id} votes with directory {id_text(known.directory_id)}, not {id_text(directory)}"
        )
    return known


def _named(key: ReplicaKey) -> str:
    return f"{key.node_id} (directory {id_text(key.directory_id)})"


def _say_plan(title: str, plan: VoterPlan) -> None:
    print(title)
    print(f"  voters now    {_list(plan.before)}; live: {_list(plan.live_before)}")
    print(f"  voters then   {_list(plan.after)}; live: {_list(plan.live_after)}; a majority is {plan.majority_after}")
    if plan.problem is None:
        print(f"  then the loss of {plan.tolerated} of the live voters would be tolerated")
    for note in plan.notes:
        print(f"  note: {note}")


def _list(node_ids: tuple[int, ...]) -> str:
    return ", ".join(map(str, node_ids)) or "none"


def _say_done(output: OutputFormat, plan: VoterPlan, key: ReplicaKey, *, dry_run: bool, what: str) -> None:
    if output is OutputFormat.JSON:
        directory_id = id_text(key.directory_id)
        show_json(
            {
                "controller_id": key.node_id,
                "directory_id": directory_id,
                "dry_run": dry_run,
                **msgspec.to_builtins(plan),
                "majority_after": plan.majority_after,
                "tolerated": plan.tolerated,
            }
        )
    elif dry_run:
        print(f"Dry run: the leader, node {plan.leader_id}, would do it. Nothing was changed.")
    else:
        print(f"Controller {key.node_id} is {what}: the change is committed.")
