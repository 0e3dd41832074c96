"""`kraft recover`: bring a dead quorum back from the directories that are left.

Decides: which sub-commands it has. A sub-command's module is imported when it is called.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorum.cli.output import Output, OutputFormat, show_json
from quorum.cli.recover import log_repairs, quorum_repairs
from quorum.cli.recover.options import Apply, Work, directory_option, run_proposed, single, text_of, texts_of

if TYPE_CHECKING:
    from metadata_log.files.port import Files
    from quorum.recovery.guards.request import Proposal
    from quorum.recovery.verification import Verification

app = typer.Typer(
    no_args_is_help=True,
    epilog="Example:  kraft recover inspect /var/lib/kafka/data copies/controller-2 copies/broker-11",
)


@app.command(
    epilog="Examples:  kraft recover inspect /var/lib/kafka/data copies/controller-2 copies/broker-11    "
    "kraft recover inspect copies/* -o json | jq .steps"
)
def inspect(
    directories: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            help="Log directories of controllers and brokers of one cluster, copies or exports (kraft log export).",
        ),
    ],
    output: Output = OutputFormat.TABLE,
) -> None:
    """Say what each directory holds, which copy is best, what each repair keeps and may lose, and what to do.

    Name every copy that there is: those of controllers, also dead ones, and of brokers. Each broker holds the metadata
    log, and one may hold records that no surviving controller has. Reads only, and takes no lock. A directory that is
    no copy, cannot be read or is of another cluster is named, and left out. One that a node runs on is read as of one
    moment, and named. If that node votes, no repair is recommended: ask the running controllers first.
    Recommended commands say --missing 1,2,3 for nodes of which no copy is named: look for their disks first.
    Exit status 1: a majority of the voters is not here and sound, or a directory was left out.
    """
    from metadata_log.files.own_files import OwnFiles  # noqa: PLC0415  (not needed for help)
    from quorum.cli.recover.show import inspection_data, show_inspection  # noqa: PLC0415
    from quorum.recovery.inspection import inspect_copies  # noqa: PLC0415

    found = inspect_copies(OwnFiles(strict=False), [str(path) for path in directories])
    if output is OutputFormat.JSON:
        show_json(inspection_data(found))
    else:
        show_inspection(found)
    if not found.is_whole:
        raise typer.Exit(1)


@app.command(epilog="Example:  kraft recover verify /var/lib/kafka/data && systemctl start kafka")
def verify(
    directories: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Log directories that are to be started as one quorum."),
    ],
    output: Output = OutputFormat.TABLE,
) -> None:
    """Check repaired directories again before a node starts from them.

    Each log by itself (as kraft check), its votes, its voters, and all directories against each other. Reads only. A
    directory that cannot be read, is no log directory, or is of another cluster is named, and the others are checked.
    Exit status 1: something is wrong, a directory was left out, or too few voters are here to elect a leader.
    """
    from metadata_log.files.own_files import OwnFiles  # noqa: PLC0415  (not needed for help)
    from metadata_log.tools.check.check import check_paths  # noqa: PLC0415
    from quorum.cli.recover.show import show_verification  # noqa: PLC0415
    from quorum.recovery.verification import verify_directories  # noqa: PLC0415

    found = verify_directories(OwnFiles(strict=False), texts_of(directories))
    found, checked = found.beside(check_paths(_judged(found)).findings)
    show_verification(output, found, checked)
    if not found.is_sound or checked:
        raise typer.Exit(1)


def _judged(found: Verification) -> list[Path]:
    return [Path(one.path) for one in found.directories]


for _name, _command, _examples in (
    ("standalone", quorum_repairs.standalone, quorum_repairs.STANDALONE_EXAMPLES),
    ("from-broker", quorum_repairs.from_broker, quorum_repairs.FROM_BROKER_EXAMPLES),
    ("voters", quorum_repairs.voters, quorum_repairs.VOTERS_EXAMPLES),
    ("static-voters", quorum_repairs.static_voters, quorum_repairs.STATIC_VOTERS_EXAMPLES),
    ("truncate", log_repairs.truncate, log_repairs.TRUNCATE_EXAMPLES),
    ("drop-snapshot", log_repairs.drop_snapshot, log_repairs.DROP_SNAPSHOT_EXAMPLES),
    ("rebuild-indexes", log_repairs.rebuild_indexes, log_repairs.REBUILD_INDEXES_EXAMPLES),
    ("epoch", quorum_repairs.epoch, quorum_repairs.EPOCH_EXAMPLES),
    ("cluster-id", log_repairs.cluster_id, log_repairs.CLUSTER_ID_EXAMPLES),
):
    app.command(_name, epilog=_examples)(_command)


@app.command(epilog="Example:  kraft recover undo --dir /var/lib/kafka/data --apply")
def undo(
    directory: Annotated[list[Path], directory_option("The log directory whose latest repair is taken back")],
    work: Work = None,
    apply: Apply = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Take the latest repair of a directory back, from its backup, as long as no node has run on it since."""

    target = single(directory)

    def propose(files: Files) -> Proposal:
        from quorum.cli.recover.places import work_root  # noqa: PLC0415  (not needed for help)
        from quorum.recovery.journal.log_directories import find_place  # noqa: PLC0415
        from quorum.recovery.repairs.undo import propose_undo  # noqa: PLC0415

        log_dir = text_of(target)
        if files.exists(log_dir):
            log_dir = find_place(files, log_dir).log_dir
        return propose_undo(files, log_dir, work_root(log_dir, work))

    run_proposed("undo", propose, [target], apply, work, output)
