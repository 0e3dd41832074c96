"""`kraft recover`: bring a dead quorum back from the directories that are left.

Decides: which sub-commands there are. Each one's work is imported when it is called.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorum.cli.output import Output, OutputFormat, show_json
from quorum.cli.recover_options import (
    DEFAULT_GAP,
    DEFAULT_TIMEOUT_S,
    AcceptLoss,
    Apply,
    BootstrapControllers,
    Copies,
    Directories,
    Directory,
    Endpoints,
    EpochGap,
    Missing,
    NotController,
    ProbeTimeout,
    Work,
    endpoints_of,
    request_of,
    text_of,
    texts_of,
)

if TYPE_CHECKING:
    from metadata_log.files import Files
    from quorum.recovery.request import Proposal

app = typer.Typer(no_args_is_help=True)


@app.command(
    epilog="Examples:  kraft recover inspect /var/lib/kafka/data copies/controller-2 copies/broker-11    "
    "kraft recover inspect copies/* -o json | jq .steps"
)
def inspect(
    directories: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Log directories of controllers and brokers of one cluster, or copies."),
    ],
    output: Output = OutputFormat.TABLE,
) -> None:
    """Say what each directory holds, which copy is best, what each repair keeps and may lose, and what to do.

    Name every copy that there is: controllers', also dead ones', and brokers': each broker holds the metadata log, and
    one may hold what no surviving controller has. Reads only, and takes no lock.
    Exit status 1: a majority of the voters is not here and sound.
    """
    from metadata_log.os_files import OsFiles  # noqa: PLC0415  (not needed for help)
    from quorum.cli.recover_show import inspection_data, show_inspection  # noqa: PLC0415
    from quorum.recovery.inspect import inspect_copies  # noqa: PLC0415

    found = inspect_copies(OsFiles(), [str(path) for path in directories])
    if output is OutputFormat.JSON:
        show_json(inspection_data(found))
    else:
        show_inspection(found)
    if not found.plan.is_whole:
        raise typer.Exit(1)


@app.command(
    epilog="Examples:  kraft recover standalone --dir /var/lib/kafka/data --copy copies/broker-11 --missing 2,3,12    "
    "kraft recover standalone --dir DATA --missing rest --apply"
)
def standalone(
    directory: Directory,
    copy: Copies = None,
    endpoint: Endpoints = None,
    missing: Missing = None,
    accept_data_loss: AcceptLoss = False,
    epoch_gap: EpochGap = DEFAULT_GAP,
    not_a_controller: NotController = None,
    bootstrap_controller: BootstrapControllers = None,
    timeout: ProbeTimeout = DEFAULT_TIMEOUT_S,
    work: Work = None,
    apply: Apply = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Make a surviving voter the only one: a majority of the controllers is lost for good.

    Before, fence the others: an old majority that was only cut off would go on by itself. Afterwards they join again as
    new ones; the command says how. Without --apply nothing is changed.
    """
    request = request_of(
        missing=missing, accept_data_loss=accept_data_loss, epoch_gap=epoch_gap, not_a_controller=not_a_controller,
        bootstrap_controller=bootstrap_controller, timeout_s=timeout,
    )  # fmt: skip
    endpoints = endpoints_of(endpoint)

    def propose(files: Files) -> Proposal:
        from quorum.recovery.standalone import propose_standalone  # noqa: PLC0415

        return propose_standalone(files, text_of(directory), texts_of(copy), request, endpoints=endpoints)

    _run(propose, [directory], apply, work, output)


@app.command(epilog="Example:  kraft recover undo --dir /var/lib/kafka/data --apply")
def undo(
    directory: Directory,
    work: Work = None,
    apply: Apply = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Take the latest repair of a directory back, from its backup, as long as no node has run on it since."""

    def propose(files: Files) -> Proposal:
        from quorum.recovery.journal import work_root_of  # noqa: PLC0415
        from quorum.recovery.undo import propose_undo  # noqa: PLC0415

        log_dir = text_of(directory)
        return propose_undo(files, log_dir, work_root_of(log_dir, None if work is None else text_of(work)))

    _run(propose, [directory], apply, work, output)


def _run(
    propose: Callable[[Files], Proposal], targets: list[Path], apply: bool, work: Path | None, output: OutputFormat
) -> None:
    from quorum.cli.recover_run import run_repair  # noqa: PLC0415  (not needed for help)

    run_repair(propose, targets, apply=apply, work=work, output=output)


@app.command(
    "from-broker",
    epilog="Example:  kraft recover from-broker --broker-dir /var/lib/kafka/data --broker-dir copies/broker-12 "
    "--dir new/controller-1 --node-id 1 --endpoint CONTROLLER://host1:9093 --missing 2,3 --apply",
)
def from_broker(
    broker_dir: Annotated[
        list[Path],
        typer.Option("--broker-dir", help="A broker's log directory, or a copy; the best of several is taken."),
    ],
    directory: Annotated[
        Path, typer.Option("--dir", help="The new controller's log directory: not there, empty, or just formatted.")
    ],
    node_id: Annotated[int, typer.Option("--node-id", min=0, help="Of the new controller; a lost one's will do.")],
    endpoint: Endpoints = None,
    copy: Copies = None,
    missing: Missing = None,
    accept_data_loss: AcceptLoss = False,
    epoch_gap: EpochGap = DEFAULT_GAP,
    not_a_controller: NotController = None,
    bootstrap_controller: BootstrapControllers = None,
    timeout: ProbeTimeout = DEFAULT_TIMEOUT_S,
    work: Work = None,
    apply: Apply = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Make a new controller's directory from a broker's copy of the metadata log: every controller is lost.

    Brokers may go on running; name the copies of all of them, since one may hold what no other has. The listener's name
    is that of the lost controllers. Without --apply nothing is changed.
    """
    request = request_of(
        missing=missing, accept_data_loss=accept_data_loss, epoch_gap=epoch_gap, not_a_controller=not_a_controller,
        bootstrap_controller=bootstrap_controller, timeout_s=timeout,
    )  # fmt: skip
    endpoints = endpoints_of(endpoint)

    def propose(files: Files) -> Proposal:
        from metadata_log.ids import DirectoryId  # noqa: PLC0415
        from quorum.cli.recover_options import random_id  # noqa: PLC0415
        from quorum.recovery.from_broker import NewController, propose_from_broker  # noqa: PLC0415

        new = NewController(
            log_dir=text_of(directory), node_id=node_id, endpoints=endpoints, directory_id=DirectoryId(random_id())
        )
        return propose_from_broker(files, texts_of(broker_dir), texts_of(copy), new, request)

    _run(propose, [directory], apply, work, output)


@app.command(epilog="Example:  kraft recover verify /var/lib/kafka/data && systemctl start kafka")
def verify(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Log directories that are to be started as one quorum.")
    ],
    output: Output = OutputFormat.TABLE,
) -> None:
    """Check repaired directories once more before anything starts from them.

    Each log by itself (as kraft check), its votes, its voters, and all directories against each other. Reads only.
    Exit status 1: something is wrong, or too few voters are here to elect a leader.
    """
    from metadata_log.os_files import OsFiles  # noqa: PLC0415  (not needed for help)
    from metadata_log.tools.check import check_paths  # noqa: PLC0415
    from quorum.cli.recover_show import show_verification  # noqa: PLC0415
    from quorum.recovery.verify import verify_directories  # noqa: PLC0415

    found = verify_directories(OsFiles(), texts_of(directories))
    checked = [one for one in check_paths(directories).findings if one.counts]
    show_verification(output, found, checked)
    if not found.is_sound or checked:
        raise typer.Exit(1)


@app.command(
    epilog="Example:  kraft recover voters --dir c1/data --dir c2/data --dir c3/data --set 1@new1:9093 "
    "--set 2@new2:9093 --set 3@new3:9093 --apply"
)
def voters(
    directory: Directories,
    members: Annotated[
        list[str],
        typer.Option("--set", help="A voter of the new set: id@host:port\\[/grpc-port]\\[:directory-id]. Repeat it."),
    ],
    copy: Copies = None,
    missing: Missing = None,
    accept_data_loss: AcceptLoss = False,
    epoch_gap: EpochGap = DEFAULT_GAP,
    not_a_controller: NotController = None,
    bootstrap_controller: BootstrapControllers = None,
    timeout: ProbeTimeout = DEFAULT_TIMEOUT_S,
    work: Work = None,
    apply: Apply = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Rewrite who votes and where: addresses, directory ids or members, in the directories of all new voters at once.

    All of them must be stopped and here (bring those of other hosts, and take them back). Each gets the best of their
    logs with the new voters at its end. Without --apply nothing is changed.
    """
    request = request_of(
        missing=missing, accept_data_loss=accept_data_loss, epoch_gap=epoch_gap, not_a_controller=not_a_controller,
        bootstrap_controller=bootstrap_controller, timeout_s=timeout,
    )  # fmt: skip

    def propose(files: Files) -> Proposal:
        from quorum.recovery.voters import parse_named_voter, propose_voters  # noqa: PLC0415

        return propose_voters(files, texts_of(directory), texts_of(copy), [*map(parse_named_voter, members)], request)

    _run(propose, directory, apply, work, output)


@app.command(
    epilog="Examples:  kraft recover truncate --dir DATA --to 49 --copy c2/data --copy c3/data    "
    "kraft recover truncate --dir DATA --to 49 --missing rest --accept-data-loss --apply"
)
def truncate(
    directory: Directory,
    to: Annotated[int, typer.Option("--to", min=0, help="The offset at which the log is to end (exclusive).")],
    copy: Copies = None,
    missing: Missing = None,
    accept_data_loss: AcceptLoss = False,
    not_a_controller: NotController = None,
    bootstrap_controller: BootstrapControllers = None,
    timeout: ProbeTimeout = DEFAULT_TIMEOUT_S,
    work: Work = None,
    apply: Apply = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Cut a log at an offset: a torn or damaged tail, or records that were never committed.

    It must be proven that nothing committed goes: by the copies of a majority of the voters, or since what is cut is an
    unfinished write; else --accept-data-loss. Without --apply nothing is changed.
    """
    request = request_of(
        missing=missing, accept_data_loss=accept_data_loss, epoch_gap=DEFAULT_GAP, not_a_controller=not_a_controller,
        bootstrap_controller=bootstrap_controller, timeout_s=timeout,
    )  # fmt: skip

    def propose(files: Files) -> Proposal:
        from quorum.recovery.truncate import propose_truncate  # noqa: PLC0415

        return propose_truncate(files, text_of(directory), texts_of(copy), to, request)

    _run(propose, [directory], apply, work, output)


@app.command(
    "static-voters",
    epilog="Example:  kraft recover static-voters --dir DATA --set 1@host1:9093 --config server.properties "
    "--missing rest",
)
def static_voters(
    directory: Directories,
    members: Annotated[list[str], typer.Option("--set", help="A voter of the new set: id@host:port. Repeat it.")],
    config: Annotated[
        list[Path] | None,
        typer.Option("--config", help="A node's server.properties, to be checked.", exists=True, dir_okay=False),
    ] = None,
    copy: Copies = None,
    missing: Missing = None,
    accept_data_loss: AcceptLoss = False,
    epoch_gap: EpochGap = DEFAULT_GAP,
    not_a_controller: NotController = None,
    bootstrap_controller: BootstrapControllers = None,
    timeout: ProbeTimeout = DEFAULT_TIMEOUT_S,
    work: Work = None,
    apply: Apply = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Change the voters of a cluster at kraft.version 0 (Kafka 3.9 and older): what to configure, and what to rewrite.

    Says which lines every node's configuration needs, checks those given, and makes the directories fit: quorum-state
    remembers the voters, and a node refuses to start where the configuration has others. Without --apply nothing is
    changed; configurations never are.
    """
    from quorum.cli.recover_config import check_configs  # noqa: PLC0415  (not needed for help)

    request = request_of(
        missing=missing, accept_data_loss=accept_data_loss, epoch_gap=epoch_gap, not_a_controller=not_a_controller,
        bootstrap_controller=bootstrap_controller, timeout_s=timeout,
    )  # fmt: skip

    def propose(files: Files) -> Proposal:
        from quorum.recovery.static_voters import parse_static_voter, propose_static_voters  # noqa: PLC0415

        named = [*map(parse_static_voter, members)]
        proposal = propose_static_voters(files, texts_of(directory), texts_of(copy), named, request)
        return check_configs(proposal, config or [], named)

    _run(propose, directory, apply, work, output)
