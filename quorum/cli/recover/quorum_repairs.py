"""The repairs of `kraft recover` that restore a quorum: from a survivor, from a broker's copy, with other voters.

Decides: their options. A repair's module is imported when its command is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from quorum.cli.errors import wrong_use
from quorum.cli.recover.options import (
    Endpoints,
    Shared,
    directory_option,
    endpoints_of,
    single,
    text_of,
    texts_of,
    with_shared_options,
)
from quorum.node.config.properties import Properties, PropertiesError, read_properties
from quorum.recovery.guards.request import Proposal
from quorum.recovery.repairs.static_voters import StaticVoter, config_problems

if TYPE_CHECKING:
    from metadata_log.files.port import Files
    from quorum.recovery.guards.request import Proposal

STANDALONE_EXAMPLES = (
    "Examples:  kraft recover standalone --dir /var/lib/kafka/data --copy copies/broker-11 --missing 2,3,12    "
    "kraft recover standalone --dir DATA --missing rest --apply"
)

FROM_BROKER_EXAMPLES = (
    "Example:  kraft recover from-broker --broker-dir /var/lib/kafka/data --broker-dir copies/broker-12 "
    "--dir new/controller-1 --node-id 1 --endpoint CONTROLLER://host1:9093 --missing 1,2,3 --apply"
)

VOTERS_EXAMPLES = (
    "Example:  kraft recover voters --dir c1/data --dir c2/data --dir c3/data --set 1@new1:9093 "
    "--set 2@new2:9093 --set 3@new3:9093 --copy copies/broker-11 --missing 12 --apply"
)

EPOCH_EXAMPLES = (
    "Examples:  kraft recover epoch --dir c1/data --dir c2/data --dir c3/data --copy b11/data --apply    "
    "kraft recover epoch --dir b11/data --apply"
)
STATIC_VOTERS_EXAMPLES = (
    "Example:  kraft recover static-voters --dir DATA --set 1@host1:9093 --config server.properties --missing rest"
)


@with_shared_options
def standalone(
    directory: Annotated[list[Path], directory_option("The log directory of the survivor, the new only voter")],
    endpoint: Endpoints = None,
    *,
    shared: Shared,
) -> None:
    """Make a surviving voter the only one: a majority of the controllers is lost for good.

    Before, fence the others: an old majority that was only cut off would go on by itself. Afterwards they join again as
    new ones; the command says how. Without --apply nothing is changed.
    """
    endpoints = endpoints_of(endpoint)

    target = single(directory)

    def propose(files: Files) -> Proposal:
        from quorum.recovery.repairs.standalone import propose_standalone  # noqa: PLC0415

        return propose_standalone(files, text_of(target), shared.copies, shared.request, endpoints=endpoints)

    shared.run("standalone", propose, [target])


@with_shared_options
def from_broker(
    broker_dir: Annotated[
        list[Path],
        typer.Option(
            "--broker-dir", help="A broker's log directory, a copy or an export; the best of several is taken."
        ),
    ],
    directory: Annotated[
        list[Path],
        typer.Option("--dir", help="The new controller's log directory: not there, empty, or just formatted."),
    ],
    node_id: Annotated[int, typer.Option("--node-id", min=0, help="The new controller's node id, also a lost one's.")],
    endpoint: Endpoints = None,
    *,
    shared: Shared,
) -> None:
    """Make a new controller's directory from a broker's copy of the metadata log: every controller is lost.

    Brokers may go on running; name the copies of all of them, since one may hold what no other has. The listener's name
    is that of the lost controllers. --missing 1,2,3 says that they are gone for good, also the one whose id the new
    controller gets. Without --apply nothing is changed.
    """
    endpoints = endpoints_of(endpoint)

    target = single(directory)

    def propose(files: Files) -> Proposal:
        from metadata_log.ids import DirectoryId  # noqa: PLC0415
        from quorum.node.process.system_ports import SystemEntropy  # noqa: PLC0415
        from quorum.recovery.repairs.from_broker import NewController, propose_from_broker  # noqa: PLC0415

        directory_id = DirectoryId(SystemEntropy().new_id())
        new = NewController(log_dir=text_of(target), node_id=node_id, endpoints=endpoints, directory_id=directory_id)
        return propose_from_broker(files, texts_of(broker_dir), shared.copies, new, shared.request)

    shared.run("from-broker", propose, [target], is_new=True, owner_of=broker_dir[0])


@with_shared_options
def voters(
    directory: Annotated[list[Path], directory_option("A log directory that gets the new voter set; may be repeated")],
    members: Annotated[
        list[str],
        typer.Option("--set", help="A voter of the new set: id@host:port[/grpc-port][:directory-id]. Repeat it."),
    ],
    *,
    shared: Shared,
) -> None:
    """Rewrite the voter set (members, addresses, directory ids) in the directories of all new voters at once.

    All of them must be stopped, and on this host: bring the directories of other hosts here, and take them back
    afterwards. Each gets the best of their logs with the new voters at its end. Without --apply nothing is changed.
    """

    def propose(files: Files) -> Proposal:
        from quorum.recovery.repairs.voters import parse_named_voter, propose_voters  # noqa: PLC0415

        return propose_voters(
            files, texts_of(directory), shared.copies, [*map(parse_named_voter, members)], shared.request
        )

    shared.run("voters", propose, directory)


@with_shared_options
def static_voters(
    directory: Annotated[list[Path], directory_option("A static voter's log directory; may be repeated")],
    members: Annotated[list[str], typer.Option("--set", help="A voter of the new set: id@host:port. Repeat it.")],
    config: Annotated[
        list[Path] | None,
        typer.Option("--config", help="A node's server.properties, to be checked.", exists=True, dir_okay=False),
    ] = None,
    *,
    shared: Shared,
) -> None:
    """Change the voters of a cluster at kraft.version 0 (Kafka 3.9 and older): what to configure, and what to rewrite.

    Says which lines every node's configuration needs, checks those given, and makes the directories fit. quorum-state
    holds the voters, too: a node refuses to start if its configuration has others. Without --apply nothing is changed;
    configurations never are.
    """

    def propose(files: Files) -> Proposal:
        from quorum.recovery.repairs.static_voters import parse_static_voter, propose_static_voters  # noqa: PLC0415

        named = [*map(parse_static_voter, members)]
        proposal = propose_static_voters(files, texts_of(directory), shared.copies, named, shared.request)
        return check_configs(proposal, config or [], named)

    shared.run("static-voters", propose, directory)


@partial(with_shared_options, without=("missing", "accept_data_loss", "accept_lost_vote", "epoch_gap"))
def epoch(
    directory: Annotated[list[Path], directory_option("A log directory whose quorum-state is reset; may be repeated")],
    *,
    shared: Shared,
) -> None:
    """Reset quorum-state to 1,000 above the greatest epoch in any log, where its epoch left no election possible.

    The directories of all voters must be given, stopped: with --dir those to reset, with --copy the others. An
    observer (a broker or an agent) ignores every leader of a lower epoch. Its own directory is enough, also while the
    quorum lives. No log is touched. Without --apply nothing is changed.
    """

    def propose(files: Files) -> Proposal:
        from quorum.recovery.repairs.epoch import propose_epoch  # noqa: PLC0415

        return propose_epoch(files, texts_of(directory), shared.copies, shared.request)

    shared.run("epoch", propose, directory)


def check_configs(proposal: Proposal, configs: Sequence[Path], named: Sequence[StaticVoter]) -> Proposal:
    """Return the proposal with a warning for each change that a node's configuration needs.

    Raises:
        CliError: a file is not a properties file. Nothing is changed as long as a given file is unchecked.
        OSError: a file cannot be read.
    """
    problems: list[str] = []
    for path in configs:
        found = _properties(path)
        problems += config_problems(found.values, named, str(path), shown=found.written)
    return msgspec.structs.replace(proposal, warnings=(*proposal.warnings, *problems))


def _properties(path: Path) -> Properties:
    try:
        return read_properties(path)
    except PropertiesError as error:
        raise wrong_use(f"--config {error}") from error
