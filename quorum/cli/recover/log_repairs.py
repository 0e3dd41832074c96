"""The repairs of `kraft recover` on one directory: its log's end, a checkpoint, indexes, its cluster's id.

Decides: their options. A repair's module is imported when its command is called.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorum.cli.output import Output, OutputFormat
from quorum.cli.recover.options import (
    DEFAULT_GAP,
    DEFAULT_TIMEOUT_S,
    Apply,
    BootstrapControllers,
    ProbeTimeout,
    Shared,
    Work,
    directory_option,
    request_of,
    run_proposed,
    single,
    text_of,
    texts_of,
    with_shared_options,
)

if TYPE_CHECKING:
    from metadata_log.files.port import Files
    from quorum.recovery.guards.request import Proposal

TRUNCATE_EXAMPLES = (
    "Examples:  kraft recover truncate --dir DATA --to 49 --copy c2/data --copy c3/data --missing 11,12    "
    "kraft recover truncate --dir DATA --to 49 --missing rest --accept-data-loss --apply    "
    "kraft recover truncate --dir DATA --before 244 --missing rest --apply"
)
DROP_SNAPSHOT_EXAMPLES = "Example:  kraft recover drop-snapshot --dir DATA --missing rest --apply"
REBUILD_INDEXES_EXAMPLES = "Example:  kraft recover rebuild-indexes --dir DATA --apply"
CLUSTER_ID_EXAMPLES = (
    "Example:  kraft recover cluster-id --dir DATA1 --dir DATA2 --to $(kraft storage random-uuid) --is-a-clone --apply"
)


@partial(with_shared_options, without=("accept_lost_vote", "epoch_gap"))
def truncate(
    directory: Annotated[list[Path], directory_option("The log directory whose log is to end earlier")],
    to: Annotated[
        int | None, typer.Option("--to", min=0, help="The offset at which the log is to end (exclusive).")
    ] = None,
    before: Annotated[
        int | None,
        typer.Option(
            "--before",
            min=1,
            help="Instead of --to: the offset at which the log is to begin, if the damage is before it and a whole "
            "checkpoint ends there.",
        ),
    ] = None,
    *,
    shared: Shared,
) -> None:
    """Cut a log at an offset: a torn or damaged tail, records that were never committed, or a damaged beginning.

    It must be proven that no committed record is lost. Proofs are a majority of the voters' copies, an unfinished write
    at the cut, or a checkpoint that holds the records. Without proof it needs --accept-data-loss. Without --apply
    nothing is changed.
    """
    offset = before if to is None else to
    if offset is None or None not in (to, before):
        raise typer.BadParameter("say where: --to OFFSET drops what comes after, --before OFFSET what comes before")
    target = single(directory)

    def propose(files: Files) -> Proposal:
        from quorum.recovery.repairs.trim import propose_trim  # noqa: PLC0415
        from quorum.recovery.repairs.truncate import propose_truncate  # noqa: PLC0415

        cut = propose_trim if to is None else propose_truncate
        return cut(files, text_of(target), shared.copies, offset, shared.request)

    shared.run("truncate", propose, [target])


@partial(with_shared_options, without=("accept_data_loss", "accept_lost_vote", "epoch_gap"))
def drop_snapshot(
    directory: Annotated[list[Path], directory_option("The log directory that holds the checkpoint")],
    checkpoint: Annotated[
        str | None,
        typer.Option("--checkpoint", help="Its file's name; default: all damaged ones after the newest whole one."),
    ] = None,
    *,
    shared: Shared,
) -> None:
    """Remove a damaged checkpoint if an older one and the log hold all that it held.

    A node reads its newest checkpoint when it starts, and does not start when that is damaged. A whole one is never
    dropped. Without --apply nothing is changed.
    """
    target = single(directory)

    def propose(files: Files) -> Proposal:
        from quorum.recovery.repairs.drop_snapshot import propose_drop_snapshot  # noqa: PLC0415

        return propose_drop_snapshot(files, text_of(target), shared.copies, shared.request, name=checkpoint)

    shared.run("drop-snapshot", propose, [target])


def rebuild_indexes(
    directory: Annotated[list[Path], directory_option("The log directory whose index files are made again")],
    work: Work = None,
    apply: Apply = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Make index files and leader-epoch-checkpoint again where they are not what the log says.

    The log itself is not touched. Without --apply nothing is changed.
    """

    target = single(directory)

    def propose(files: Files) -> Proposal:
        from quorum.recovery.repairs.rebuild_indexes import propose_rebuild_indexes  # noqa: PLC0415

        return propose_rebuild_indexes(files, text_of(target))

    run_proposed("rebuild-indexes", propose, [target], apply, work, output)


def cluster_id(
    directory: Annotated[list[Path], directory_option("A log directory that gets the new cluster id; may be repeated")],
    to: Annotated[str, typer.Option("--to", help="The new cluster id, any text: see kraft storage random-uuid.")],
    is_a_clone: Annotated[
        bool, typer.Option("--is-a-clone", help="These are a clone's directories; the old cluster goes on elsewhere.")
    ] = False,
    bootstrap_controller: BootstrapControllers = None,
    timeout: ProbeTimeout = DEFAULT_TIMEOUT_S,
    work: Work = None,
    apply: Apply = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Give a cloned or restored volume another cluster id, in all log directories of a node.

    Nodes of two clusters with one id would take each other's requests. The metadata topic's own id, where the log has
    one, changes, too: replicas of the old cluster hold beside the new one. Without --apply nothing is changed.
    """
    request = request_of(
        missing="rest", accept_data_loss=False, epoch_gap=DEFAULT_GAP, not_a_controller=None,
        bootstrap_controller=bootstrap_controller, timeout_s=timeout,
    )  # fmt: skip

    def propose(files: Files) -> Proposal:
        from quorum.recovery.repairs.cluster_id import propose_cluster_id  # noqa: PLC0415

        return propose_cluster_id(files, texts_of(directory), to, request, is_a_clone=is_a_clone)

    run_proposed("cluster-id", propose, directory, apply, work, output)
