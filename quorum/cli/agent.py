"""`kraft agent`: run a broker agent, or show its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from metadata_log.counts import counted
from metadata_log.ids import METADATA_TOPIC_ID, id_text, parse_topic_id
from metadata_log.tools.times import time_text
from quorum.cli.connection import DEFAULT_TIMEOUT_S, timeout_option
from quorum.cli.errors import wrong_use
from quorum.cli.output import Output, OutputFormat, print_table, show_json, show_object, with_times
from quorum.cli.running import (
    Config,
    LogFormat,
    LogFormatOption,
    LogLevel,
    LogLevelOption,
    Strict,
    log_to_stderr,
    use_one_poller,
)

if TYPE_CHECKING:
    from quorum.client.agent_status import AgentLogDir, AgentStatus

app = typer.Typer(no_args_is_help=True, epilog="Example:  kraft agent start -c agent.properties")

_PARTITION_COLUMNS: Final = ("directory", "topic_id", "leader", "leader_epoch")
_STAGED_COLUMNS: Final = ("staged", "removed_at")


@app.command(epilog="Example:  kraft agent start --config /etc/kraft/agent.properties")
def start(
    config: Config,
    strict: Strict = False,
    log_level: LogLevelOption = LogLevel.INFO,
    log_format: LogFormatOption = LogFormat.TEXT,
) -> None:
    """Run a broker agent in the foreground until SIGTERM or Ctrl-C, which hand its partitions to other leaders first.

    Its directories were formatted once by `kraft storage format`. The log goes to standard error.
    """
    use_one_poller()
    from broker_agent import main  # noqa: PLC0415  (gRPC and all of the agent, which help does not need)

    log_to_stderr(log_level, log_format)
    main.run(config, strict=strict)


@app.command(epilog="Example:  kraft agent describe --agent localhost:9194")
def describe(
    agent: Annotated[str, typer.Option("--agent", help="The agent's GRPC address, host:port.")],
    timeout: Annotated[float, timeout_option("for the agent")] = DEFAULT_TIMEOUT_S,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Show an agent's state: its registration, how far it has come, and the partition directories it holds."""
    import asyncio  # noqa: PLC0415  (not needed for help)

    from quorum.client.agent_status import describe_agent  # noqa: PLC0415  (gRPC)
    from quorum.client.errors import AddressError  # noqa: PLC0415

    try:
        found = asyncio.run(describe_agent(agent, timeout))
    except AddressError as error:
        raise wrong_use(f"--agent: {error}") from error
    if output is OutputFormat.JSON:
        show_json(_as_json(found))
        return
    is_sentinel = found.metadata_topic_id == METADATA_TOPIC_ID
    show_object(
        OutputFormat.TABLE,
        {
            "broker_id": found.broker_id,
            "cluster_id": found.cluster_id,
            "phase": found.phase + (", fenced" if found.is_fenced else ""),
            "broker_epoch": found.broker_epoch,
            "image": f"offset {found.image.offset}, epoch {found.image.epoch}; high watermark {found.high_watermark}",
            "fetches_by": id_text(found.metadata_topic_id) + (" (the sentinel)" if is_sentinel else ""),
            "leader": f"node {found.leader_id}, epoch {found.leader_epoch}" if found.leader_id >= 0 else "none known",
        },
    )
    for log_dir in found.log_dirs:
        _show_log_dir(log_dir)


@app.command(
    epilog="Example:  kraft agent release -c agent.properties --metadata-topic-id 3FrfMA1fQTuK3xT8BGyFuA "
    "--accept aTtHzbjVTN2G1BVcpgLClA"
)
def release(
    config: Config,
    metadata_topic_id: Annotated[
        str, typer.Option("--metadata-topic-id", help="The own id of the metadata topic whose log the agent holds.")
    ],
    accept: Annotated[str, typer.Option("--accept", help="The own id of the only log that it may take instead.")],
) -> None:
    """Let a stopped agent that holds (`kraft_held`) follow another quorum: its metadata log is moved aside.

    Both ids are in the agent's ERROR line, and in /readyz. Where the other one is not known there, `kraft quorum
    describe` of the controllers shows it. The log is fetched again from its beginning. Directories of
    partitions that it does not assign to this broker are quarantined (`-stray`), not deleted.
    """
    from broker_agent.release import release as carry_out  # noqa: PLC0415  (not needed for help)
    from metadata_log.files.os_files import OsFiles  # noqa: PLC0415
    from quorum.node.config.node_config import load_config  # noqa: PLC0415
    from quorum.node.process.system_ports import SystemEntropy  # noqa: PLC0415

    node = load_config(config)
    if node.is_controller:
        raise wrong_use(
            f"{config}: this is a controller's. A controller that holds is replaced: move its metadata log's directory "
            "aside, run `kraft storage format --no-initial-controllers`, and start it"
        )
    released = carry_out(
        OsFiles(), node.log_dirs, node.metadata_log_dir,
        own_id=parse_topic_id(metadata_topic_id), accepted_id=parse_topic_id(accept), new_token=SystemEntropy().new_id,
    )  # fmt: skip
    print(f"The metadata log, committed up to {released.high_watermark}, is now {released.aside}")
    print(f"Start the agent: it fetches the log of {accept}, and holds beside any other.")


@app.command(epilog="Example:  kraft agent verify --agent localhost:9194")
def verify(
    agent: Annotated[str, typer.Option("--agent", help="The agent's GRPC address, host:port.")],
    timeout: Annotated[float, timeout_option("until the agent has compared all")] = DEFAULT_TIMEOUT_S,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Let an agent compare its log directories with the image now, as it does each hour, and act on what it finds.

    Exit status 1 if something is gone or offline.
    """
    import asyncio  # noqa: PLC0415  (not needed for help)

    from quorum.client.agent_status import verify_agent  # noqa: PLC0415  (gRPC)
    from quorum.client.errors import AddressError  # noqa: PLC0415

    try:
        found = asyncio.run(verify_agent(agent, timeout))
    except AddressError as error:
        raise wrong_use(f"--agent: {error}") from error
    if output is OutputFormat.JSON:
        offline = [{"path": path, "why": why} for path, why in found.offline]
        show_json({**msgspec.structs.asdict(found), "offline": offline})
    else:
        print(f"{counted(found.directories, 'partition directory')} in use")
        kinds = ("gone", "appeared", "made", "staged", "quarantined")
        rows = [{"what": kind, "path": path} for kind in kinds for path in getattr(found, kind)]
        rows += [{"what": f"offline: {why}", "path": path} for path, why in found.offline]
        if rows:
            print_table(("what", "path"), rows)
    if found.gone or found.offline:
        raise typer.Exit(1)


def _show_log_dir(log_dir: AgentLogDir) -> None:
    print(f"\n{log_dir.path}  (directory id {log_dir.directory_id})")
    if not (log_dir.partitions or log_dir.staged or log_dir.quarantined):
        print("no partitions")
    if log_dir.partitions:
        print_table(
            _PARTITION_COLUMNS,
            [
                {
                    "directory": each.name,
                    "topic_id": None if each.topic_id is None else id_text(each.topic_id),
                    "leader": "none" if each.leader_id < 0 else each.leader_id,
                    "leader_epoch": each.leader_epoch,
                }
                for each in log_dir.partitions
            ],
        )
    if log_dir.staged:
        print_table(
            _STAGED_COLUMNS,
            [
                {
                    "staged": f"deleting/{each.name}",
                    "removed_at": time_text(each.remove_at_ms),
                }
                for each in log_dir.staged
            ],
        )
    for name in log_dir.quarantined:
        print(f"set aside: {name}")


def _as_json(found: AgentStatus) -> dict[str, object]:
    """Return the state for JSON, with ids in Kafka's base64 form."""

    def text(value: bytes | None) -> str | None:
        return None if value is None else id_text(value)

    return {
        **{
            name: getattr(found, name)
            for name in (
                "broker_id", "cluster_id", "broker_epoch", "phase", "is_fenced", "leader_id", "leader_epoch",
                "high_watermark",
            )
        },
        "incarnation_id": text(found.incarnation_id),
        "metadata_topic_id": text(found.metadata_topic_id),
        "image": msgspec.to_builtins(found.image),
        "log_dirs": [
            {
                "path": log_dir.path,
                "directory_id": log_dir.directory_id,
                "partitions": [
                    {**msgspec.structs.asdict(each), "topic_id": text(each.topic_id)} for each in log_dir.partitions
                ],
                "staged": [
                    with_times({**msgspec.structs.asdict(each), "topic_id": text(each.topic_id)}, "remove_at_ms")
                    for each in log_dir.staged
                ],
                "quarantined": log_dir.quarantined,
            }
            for log_dir in found.log_dirs
        ],
    }  # fmt: skip
