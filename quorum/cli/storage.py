"""`kraft storage`: format a node's directories, look into them, make ids."""

from __future__ import annotations

import re
import shlex
import time
from pathlib import Path
from typing import Annotated, Final

import typer

from metadata_log.files.os_files import OsFiles
from metadata_log.ids import DirectoryId, NodeId, ReplicaKey, id_text
from metadata_log.records.feature_levels import why_no_first_level
from metadata_log.records.levels import (
    DEFAULT_LEVEL,
    LATEST_PRODUCTION,
    MINIMUM_LEVEL,
    UnknownLevelError,
    metadata_version,
)
from metadata_log.records.levels import parse_metadata_version as parse_release
from metadata_log.storage.formatter import LogDirectory, format_directory
from metadata_log.voters import CONTROLLER_LISTENER, InvalidVoterError, Voter, VoterSet, parse_voters
from quorum.cli import audit, feature_mappings
from quorum.cli.errors import FAILED, say, wrong_use
from quorum.cli.option_values import MAX_INT16, check_cluster_id
from quorum.cli.output import RowFormat, RowOutput, show_rows
from quorum.cli.running import Strict
from quorum.cli.storage_rows import rows_of, rows_of_config
from quorum.node.config.node_config import NodeConfig, load_config
from quorum.node.process.system_ports import SystemEntropy

app = typer.Typer(
    no_args_is_help=True,
    epilog="Examples:  kraft storage info /var/lib/kafka/data    "
    "kraft storage audit /var/lib/kafka/data --image CONTROLLER",
)
app.command("audit", epilog=audit.EPILOG)(audit.run)
app.command("version-mapping", epilog=feature_mappings.MAPPING_EPILOG)(feature_mappings.version_mapping)
app.command("feature-dependencies", epilog=feature_mappings.DEPENDENCIES_EPILOG)(feature_mappings.feature_dependencies)

_DEFAULT_RELEASE: Final = metadata_version(DEFAULT_LEVEL).name
_KRAFT_VERSION: Final = "kraft.version"
_NUMBER: Final = re.compile(r"[+-]?\d+")
_JAVA_SPACES: Final = "".join(map(chr, range(33)))
"""The characters that Java's `String.trim` removes."""

Config = Annotated[
    Path,
    typer.Option("-c", "--config", help="The node's .properties file.", exists=True, dir_okay=False),
]


@app.command("random-uuid", epilog="Example:  kraft storage random-uuid")
def random_uuid() -> None:
    """Print a new id, for a cluster or for a directory."""
    print(id_text(SystemEntropy().new_id()))


ClusterId = Annotated[str, typer.Option("-t", "--cluster-id", help="The cluster's id, any text: see random-uuid.")]
InitialControllers = Annotated[
    str | None,
    typer.Option(
        "-I",
        "--initial-controllers",
        help="The first voters: id@host:port[/grpc-port]:directory-id, comma separated.",
    ),
]
Standalone = Annotated[bool, typer.Option("-s", "--standalone", help="This controller is the only voter.")]
Joins = Annotated[
    bool, typer.Option("-N", "--no-initial-controllers", help="This controller joins a quorum that exists.")
]
Release = Annotated[
    str | None,
    typer.Option(
        "-r",
        "--release-version",
        show_default=_DEFAULT_RELEASE,
        help="metadata.version of a new cluster, such as 4.4 or 4.3-IV0. Brokers of older releases need theirs.",
    ),
]
Features = Annotated[
    list[str] | None, typer.Option("-f", "--feature", help="A feature's level, NAME=LEVEL; may be given again.")
]
IgnoreFormatted = Annotated[
    bool, typer.Option("-g", "--ignore-formatted", help="Leave directories as they are if they are formatted already.")
]


@app.command(
    "format", epilog="Example:  kraft storage format -c node.properties -t $(kraft storage random-uuid) --standalone"
)
def format_storage(
    config: Config,
    cluster_id: ClusterId,
    initial_controllers: InitialControllers = None,
    standalone: Standalone = False,
    no_initial_controllers: Joins = False,
    release_version: Release = None,
    feature: Features = None,
    ignore_formatted: IgnoreFormatted = False,
    strict: Strict = False,
) -> None:
    """Format the log directories of a node, once, before its first start.

    All controllers of the first quorum get the same --initial-controllers and the same --cluster-id. A controller that
    joins later gets --no-initial-controllers. A broker agent, and a controller whose file has controller.quorum.voters,
    get the --cluster-id alone.
    """
    settings = _load(config, strict=strict)
    check_cluster_id(cluster_id)
    level, levels = _levels(release_version, feature or [])
    entropy = SystemEntropy()
    own = DirectoryId(entropy.new_id())
    voters = _voters(settings, own, initial_controllers, standalone, no_initial_controllers)
    _check_kraft_version(settings, levels.pop(_KRAFT_VERSION, None))
    mine = None if voters is None else voters.get(NodeId(settings.node_id))
    if mine is not None:
        _check_own_addresses(mine, settings, config)
    holder = mine.key.directory_id if mine is not None else own
    done = format_directory(
        OsFiles(),
        [
            LogDirectory(
                path=path, directory_id=holder if path == settings.metadata_log_dir else DirectoryId(entropy.new_id())
            )
            for path in _all_directories(settings)
        ],
        settings.metadata_log_dir,
        cluster_id=cluster_id,
        node_id=NodeId(settings.node_id),
        level=level,
        now_ms=time.time_ns() // 1_000_000,
        initial_voters=None if voters is None else tuple(voters),
        kraft_version=_kraft_version(settings),
        features=levels,
        ignore_formatted=ignore_formatted,
    )
    for path in done.formatted:
        print(f"Formatting {path} with metadata.version {metadata_version(level)}.")
    for path in done.already_formatted:
        print(f"{path} is formatted already: left as it is.")


def _load(config: Path, *, strict: bool) -> NodeConfig:
    settings = load_config(config, strict=strict)
    for warning in settings.warnings:
        say(f"kraft: {config}: {warning}")
    return settings


def _all_directories(settings: NodeConfig) -> list[str]:
    return list(dict.fromkeys([*settings.log_dirs, settings.metadata_log_dir]))


def _levels(release: str | None, features: list[str]) -> tuple[int, dict[str, int]]:
    """Return the metadata.version, and the levels of other features. If a name is repeated, the last one counts.

    Raises:
        CliError: `kafka.tools.StorageTool` of Kafka 4.4.0 refuses one of them, too.
    """
    levels = dict(map(_name_and_level, features))
    level = _metadata_level(release, levels.pop("metadata.version", None))
    for name, wanted in levels.items():
        why = None if name == _KRAFT_VERSION else why_no_first_level(name, wanted, level)
        if why is not None:
            raise wrong_use(f"--feature {name}={wanted}: {why}")
    return level, levels


def _name_and_level(text: str) -> tuple[str, int]:
    """Return both sides of NAME=LEVEL, parsed like `StorageTool.parseNameAndLevel`: trimmed, LEVEL an int16."""
    name, _, level = text.partition("=")
    number = int(level) if _NUMBER.fullmatch(level.strip(_JAVA_SPACES)) else None
    if number is None or not -MAX_INT16 <= number <= MAX_INT16:
        raise wrong_use(f"--feature {text!r} is not NAME=LEVEL: LEVEL is a number up to {MAX_INT16}")
    return name.strip(_JAVA_SPACES), number


def _metadata_level(release: str | None, given: int | None) -> int:
    if release is not None and given is not None:
        raise wrong_use(f"--release-version {release} and --feature metadata.version={given}: give one of them")
    try:
        level = parse_release(release or _DEFAULT_RELEASE).level if given is None else given
        metadata_version(level)
    except UnknownLevelError as error:
        raise wrong_use(str(error)) from error
    if not MINIMUM_LEVEL <= level <= LATEST_PRODUCTION:
        raise wrong_use(f"metadata.version {metadata_version(level)} is not in production yet")
    return level


def _voters(
    settings: NodeConfig, own: DirectoryId, initial: str | None, standalone: bool, none: bool
) -> VoterSet | None:
    ways = sum((initial is not None, standalone, none))
    if not settings.is_controller:
        if ways:
            raise wrong_use("a broker agent has no vote: leave the initial controllers out")
        return None
    if len(settings.static_voters):
        if ways:
            raise wrong_use(
                "controller.quorum.voters names static voters (kraft.version 0): leave --initial-controllers, "
                "--standalone and --no-initial-controllers out, or take the key out of the file"
            )
        return None
    if ways != 1:
        raise wrong_use(
            "say which controllers vote at first: one of --initial-controllers, --standalone, --no-initial-controllers "
            "(or, for static voters, set controller.quorum.voters in the file)"
        )
    if initial is not None:
        try:
            return parse_voters(initial, next(iter(settings.kafka_listener_names), CONTROLLER_LISTENER))
        except InvalidVoterError as error:
            raise wrong_use(f"--initial-controllers: {error}") from error
    key = ReplicaKey(node_id=NodeId(settings.node_id), directory_id=own)
    return VoterSet.of([Voter(key=key, endpoints=settings.controller_endpoints)]) if standalone else None


def _check_own_addresses(mine: Voter, settings: NodeConfig, config: Path) -> None:
    """Raise CliError if --initial-controllers gives this node another address than its file.

    Kafka's tool accepts any address; the other voters would then send Vote requests to the wrong place. An entry may
    leave the GRPC listener out, since Kafka's tool has no room for it in a mixed quorum. The node adds it later by
    UpdateRaftVoter.
    """
    for named in mine.endpoints:
        own = next((at for at in settings.advertised_listeners if at.name == named.name), None)
        if own is None or own.port == 0 or (own.host.lower(), own.port) == (named.host.lower(), named.port):
            continue
        raise wrong_use(
            f"--initial-controllers {mine}: by this, voter {mine.key.node_id}, which is this node, has {named}, but by "
            f"{config} it is reached at {own}: correct the entry, for every node that is formatted with it, or "
            "listeners (advertised.listeners, where others reach this node by another address than it binds)"
        )


def _kraft_version(settings: NodeConfig) -> int | None:
    """Return the initial kraft.version of a controller, or None for a broker agent."""
    if not settings.is_controller:
        return None
    return 0 if len(settings.static_voters) else 1


def _check_kraft_version(settings: NodeConfig, given: int | None) -> None:
    """Raise CliError if a given kraft.version is not the one that the form of the voters implies, as Kafka does."""
    if given is None or given == (0 if len(settings.static_voters) else 1):
        return
    if given not in (0, 1):
        raise wrong_use(f"--feature {_KRAFT_VERSION}={given}: there is no such level, only 0 and 1")
    raise wrong_use(
        f"--feature {_KRAFT_VERSION}={given}: it is 0 with controller.quorum.voters in the file, else 1: leave the "
        "option out"
    )


@app.command(
    epilog="Examples:  kraft storage info --config node.properties -o json    kraft storage info /var/lib/kafka/data"
)
def info(
    directories: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIR...]", help="Log directories, ours or Apache Kafka's, or what holds them."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "-c", "--config", help="A node's .properties file, ours or Kafka's, instead.", exists=True, dir_okay=False
        ),
    ] = None,
    output: RowOutput = RowFormat.TABLE,
) -> None:
    """Say what log directories hold, and what is wrong with them. Exit status 1 when anything is.

    It reads no record of a log: kraft log verify does.
    With --config: all that the node has by its configuration, and that it is that node's. Reads only.
    """
    if (config is None) == (not directories):
        raise wrong_use("give log directories, or --config with a node's .properties file")
    rows = rows_of_config(config) if config is not None else rows_of(directories or [])
    show_rows(
        output,
        ("directory", "cluster_id", "node_id", "directory_id", "log", "epoch", "checkpoint", "problem"),
        rows,
        name="directories",
    )
    for row in rows:
        for said in (row[key] for key in ("not_shown", "note") if key in row):
            say(f"kraft: {row['directory']}: {said}")
    unread = [str(row["directory"]) for row in rows if row["log"] and not row["problem"]]
    if unread and output is RowFormat.TABLE:
        verify = shlex.join(["kraft", "log", "verify", *unread])
        print(f"No record of a log was read. To read them: {verify}")
    if any(row["problem"] for row in rows):
        raise typer.Exit(FAILED)
