"""`kraft quorum`: leader, voters and lags, in the terms of kafka-metadata-quorum; changes of voters and leader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from quorum.cli import voters
from quorum.cli.connection import DEFAULT_TIMEOUT_S, BootstrapController, Timeout, timeout_option, with_client
from quorum.cli.errors import FAILED, CliError, wrong_use
from quorum.cli.option_values import MAX_INT32, a_time
from quorum.cli.output import Output, OutputFormat, show_json
from quorum.cli.quorum_output import Parts, as_json, lines_of, problem_of
from quorum.cli.tables import print_wrapped

if TYPE_CHECKING:
    from quorum.client.quorum_status import QuorumStatus

app = typer.Typer(no_args_is_help=True, epilog="Example:  kraft quorum describe --bootstrap-controller localhost:9094")


@app.callback()
def quorum() -> None:
    """See the quorum; change its voters or its leader."""


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


@app.command(epilog="Example:  kraft quorum describe --bootstrap-controller localhost:9094 --watch")
def describe(
    bootstrap_controller: BootstrapController = "",
    status: Annotated[
        bool, typer.Option("--status", help="Only the summary: leader, epoch, high watermark, lag.")
    ] = False,
    replication: Annotated[
        bool, typer.Option("--replication", help="Only the table of replicas: log end, lag, last fetch.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Show it again and again until Ctrl-C; as JSON, one object a line.")
    ] = False,
    interval: Annotated[
        float, typer.Option("--interval", help="With --watch: seconds in between.", min=0.1, callback=a_time)
    ] = 2.0,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Describe the quorum as its leader sees it; --status and --replication show one part of it.

    Where the leader does not answer, an election is waited for, 3 s at most. Then another controller says what it
    knows. If it hears of no leader, the first line says so, and the exit status is 1.
    """
    parts = Parts(status=status or not replication, replication=replication or not status)
    if watch:
        from quorum.cli.quorum_watch import watch_quorum  # noqa: PLC0415  (not needed for help)

        watch_quorum(bootstrap_controller, timeout, interval, output, parts)
        return
    found = _described(bootstrap_controller, timeout)
    if output is OutputFormat.JSON:
        show_json(as_json(found, parts))
        if (problem := problem_of(found)) is not None:
            raise CliError(problem)
    else:
        for line in lines_of(found, parts):
            print_wrapped(line)
    if not found.is_led:
        raise typer.Exit(FAILED)


def _described(bootstrap_controller: str, timeout_s: float) -> QuorumStatus:
    """Return the leader's description.

    If the leader is silent for as long as an election takes, another controller's.
    """

    def is_enough(found: QuorumStatus) -> bool:
        return found.is_led and (found.is_from_leader or found.leader_address is None)

    return with_client(bootstrap_controller, timeout_s, lambda client: client.describe_quorum(until=is_enough))


@app.command(epilog="Example:  kraft quorum health --bootstrap-controller localhost:9094 || mail -s 'KRaft quorum' ops")
def health(
    bootstrap_controller: BootstrapController = "",
    every_voter: Annotated[
        bool, typer.Option("--every-voter", help="Exit status 1 also where a voter does not follow, beside a majority.")
    ] = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Say in one line if a leader answers and a majority of the voters follow it; for cron and probes.

    A voter follows if it has fetched within 10 s. Exit status 0: healthy; 1: not, and the line says why.
    """
    from quorum.cli.quorum_health import health_of, line_of  # noqa: PLC0415  (not needed for help)

    found = _described(bootstrap_controller, timeout)
    verdict = health_of(found, every_voter=every_voter)
    if output is OutputFormat.JSON:
        show_json(verdict)
    else:
        print(line_of(found, verdict))
    if not verdict["healthy"]:
        raise typer.Exit(FAILED)


@app.command(epilog="Example:  kraft quorum transfer --bootstrap-controller localhost:9094 --to 2")
def transfer(
    bootstrap_controller: BootstrapController = "",
    to: Annotated[
        int | None,
        typer.Option(
            "--to",
            "-i",
            "--controller-id",
            help="Node id of the voter that should lead; without it, any other voter that has the whole log.",
            min=0,
            max=MAX_INT32,
        ),
    ] = None,
    timeout: Annotated[float, timeout_option("for the other voter to lead")] = DEFAULT_TIMEOUT_S,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Hand the leadership over to another voter, before its node is stopped for instance.

    The leader waits until that voter has all of the log, and all of it is committed; then it ends its epoch. Nothing
    that was acknowledged is lost, and every request gets its outcome. If the voter does not catch up in time, the
    leader goes on leading, and this command says why.
    """
    done = with_client(bootstrap_controller, timeout, lambda client: client.transfer_leadership(to))
    fields = {
        "old_leader_id": done.old_leader_id,
        "old_epoch": done.old_epoch,
        "leader_id": done.leader_id,
        "leader_epoch": done.leader_epoch,
    }
    if output is OutputFormat.JSON:
        show_json(fields)
    elif done.leader_id == done.old_leader_id:
        print(f"Node {done.leader_id} leads epoch {done.leader_epoch} already.")
    else:
        print(f"Node {done.leader_id} leads epoch {done.leader_epoch}; node {done.old_leader_id} led {done.old_epoch}.")
    if to is not None and done.leader_id != to:
        raise CliError(f"node {to} was to lead, but node {done.leader_id} was elected")


@app.command(
    epilog="Example:  kraft quorum unregister-controller --bootstrap-controller localhost:9094 --controller-id 4"
)
def unregister_controller(
    bootstrap_controller: BootstrapController = "",
    controller_id: Annotated[
        int | None,
        typer.Option("--id", "-i", "--controller-id", help="Node id of the controller.", min=0, max=MAX_INT32),
    ] = None,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Remove the registration of a controller that is gone for good; metadata.version 4.4-IV2 or newer is needed.

    First take its vote with kraft quorum remove-controller, then stop it: a running controller registers again at once.
    Exit status 1: the active controller rejects the request.
    """
    if controller_id is None:
        raise wrong_use("name the controller: --controller-id")
    with_client(bootstrap_controller, timeout, lambda client: client.unregister_controller(controller_id))
    if output is OutputFormat.JSON:
        show_json({"controller_id": controller_id, "registered": False})
    else:
        print(f"Controller {controller_id} is no longer registered; one that runs registers again at once.")
