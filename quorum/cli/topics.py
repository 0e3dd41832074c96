"""`kraft topics`: create, alter, delete, list and describe topics, with the option names of kafka-topics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from metadata_log.ids import TopicId, id_text, parse_topic_id
from quorum.cli import topic_alter
from quorum.cli.configs import TopicsConfigs, set_for_topic, topics_configs
from quorum.cli.connection import (
    DEFAULT_TIMEOUT_S,
    AtLeastOption,
    BootstrapController,
    Consistency,
    ConsistencyOption,
    Timeout,
    at_least_offset,
    with_client,
)
from quorum.cli.errors import FAILED, say, wrong_use
from quorum.cli.option_values import MAX_INT16, MAX_INT32, ExcludeInternal, IfExists
from quorum.cli.output import OF_TOPICS, Output, OutputFormat, print_table, show_json, show_object, show_rows
from quorum.cli.topic_options import existing_text, parse_assignments, parse_configs, topic_pattern
from quorum.cli.topic_reports import (
    NONE_FOUND,
    AtMinIsr,
    DescribeFormat,
    DescribeOutput,
    Report,
    Unavailable,
    UnderMinIsr,
    UnderReplicated,
    WithOverrides,
    kafka_lines,
    overrides,
    report_of,
    reported,
)

if TYPE_CHECKING:
    from metadata_log.offsets import Offset
    from quorum.api.described_configs import DescribedConfig
    from quorum.api.topics import CreatableTopicResult, DescribedPartition, DescribedTopic
    from quorum.client.client import Client

app = typer.Typer(no_args_is_help=True, epilog="Example:  kraft topics list --bootstrap-controller localhost:9094")

_PARTITION_COLUMNS: Final = ("partition", "leader", "replicas", "isr", "elr", "last_known_elr", "offline")
_NO_SUCH: Final = "There are no such topics."
_NONE_YET: Final = "There are no topics yet."
_EVERY: Final = re.compile("")

Name = Annotated[str, typer.Option("--topic", help="The topic's name.")]
Pattern = Annotated[
    str | None, typer.Option("--topic", help="Names: a regular expression, or several with commas between them.")
]
Partitions = Annotated[
    int | None,
    typer.Option("--partitions", help="Number of partitions; else the controller's default.", min=1, max=MAX_INT32),
]
ReplicationFactor = Annotated[
    int | None,
    typer.Option("--replication-factor", help="Replicas of each; else the controller's default.", min=1, max=MAX_INT16),
]
Ids = Annotated[list[str] | None, typer.Option("--topic-id", help="A topic's id; may be given again.")]


@app.command(epilog="Example:  kraft topics create --bootstrap-controller localhost:9094 --topic orders --partitions 3")
def create(
    topic: Name,
    bootstrap_controller: BootstrapController = "",
    partitions: Partitions = None,
    replication_factor: ReplicationFactor = None,
    replica_assignment: Annotated[
        str | None,
        typer.Option(
            "--replica-assignment",
            help="Brokers of each partition instead of numbers: 11:12,12:11 puts two replicas of two partitions.",
        ),
    ] = None,
    config: Annotated[
        list[str] | None, typer.Option("--config", help="A config of the topic, name=value; may be given again.")
    ] = None,
    if_not_exists: Annotated[
        bool, typer.Option("--if-not-exists", help="A topic that is there already is no error.")
    ] = False,
    validate_only: Annotated[
        bool, typer.Option("--validate-only", help="Check whether it could be created, and write nothing.")
    ] = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Create a topic and print the id that it was given."""
    assignments = parse_assignments(replica_assignment)
    if assignments and (partitions is not None or replication_factor is not None):
        raise wrong_use("--replica-assignment sets both: leave --partitions and --replication-factor out")
    configs = parse_configs(config or [])
    created = with_client(
        bootstrap_controller,
        timeout,
        lambda client: client.create_topic(
            topic,
            num_partitions=-1 if partitions is None else partitions,
            replication_factor=-1 if replication_factor is None else replication_factor,
            assignments=assignments,
            configs=configs,
            validate_only=validate_only,
            if_not_exists=if_not_exists,
        ),
    )
    asked = {"partition": len(assignments) or partitions, "replica": replication_factor}
    _show_created(output, created, asked, validate_only)


def _show_created(
    output: OutputFormat, created: CreatableTopicResult, asked: Mapping[str, int | None], validate_only: bool
) -> None:
    is_there = created.error_message is not None
    fields = {
        "topic": created.name,
        "created": not is_there and not validate_only,
        "topic_id": None if validate_only and not is_there else id_text(created.topic_id),
        "partitions": created.num_partitions,
        "replication_factor": created.replication_factor,
    }
    if output is OutputFormat.TABLE:
        done = f"Topic {created.name} could be created." if validate_only else f"Created topic {created.name}."
        print(existing_text(created, asked) if is_there else done)
    show_object(output, fields, OF_TOPICS)


app.command(
    "alter",
    epilog="Example:  kraft topics alter --bootstrap-controller localhost:9094 --topic orders --partitions 6",
)(topic_alter.alter)


@app.command(epilog="Example:  kraft topics delete --bootstrap-controller localhost:9094 --topic orders")
def delete(
    bootstrap_controller: BootstrapController = "",
    topic: Annotated[
        list[str] | None, typer.Option("--topic", help="A topic's exact name; may be given again.")
    ] = None,
    topic_id: Ids = None,
    if_exists: IfExists = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Delete topics. Brokers stage their partitions' directories, and remove them after delete.topic.delay.ms.

    An id names one topic for certain: a topic of the same name may have taken its place.
    """
    from quorum.api.error_codes import Error  # noqa: PLC0415  (not needed for help)

    names, ids = topic or [], _ids(topic_id)
    if not names and not ids:
        raise wrong_use("say which: --topic NAME or --topic-id ID")
    results = with_client(
        bootstrap_controller, timeout, lambda client: client.delete_topics(names, topic_ids=ids, if_exists=if_exists)
    )
    rows: list[dict[str, object]] = []
    for asked, result in zip([*names, *map(id_text, ids)], results, strict=True):
        is_refused, is_absent = result.error is not Error.NONE, result.error_message is not None
        rows.append(
            {
                "topic": result.name or asked,
                "deleted": not is_refused and not is_absent,
                "error": result.error.name if is_refused else None,
            }
        )
        if is_refused:
            say(f"kraft: topic {asked}: {result.error_message or 'refused'} ({result.error.name})")
        elif output is OutputFormat.TABLE:
            print(f"Topic {asked} is not there." if is_absent else f"Deleted topic {result.name or asked}.")
    if output is OutputFormat.JSON:
        show_json({"topics": rows})
    if any(row["error"] is not None for row in rows):
        raise typer.Exit(FAILED)


@app.command("list", epilog="Example:  kraft topics list --bootstrap-controller localhost:9094 --topic 'orders.*'")
def list_topics(
    bootstrap_controller: BootstrapController = "",
    topic: Pattern = None,
    exclude_internal: ExcludeInternal = False,
    consistency: ConsistencyOption = Consistency.LINEARIZABLE,
    at_least: AtLeastOption = None,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    output: Output = OutputFormat.TABLE,
) -> None:
    """List topics with their ids."""
    pattern = _EVERY if topic is None else topic_pattern(topic)
    offset = at_least_offset(consistency, at_least)
    found = with_client(
        bootstrap_controller, timeout, lambda client: client.describe_topics(all_topics=True, at_least_offset=offset)
    )
    rows = [
        {
            "topic": each.name,
            "topic_id": id_text(each.topic_id),
            "partitions": len(each.partitions),
            "replication_factor": _replication_factor(each),
        }
        for each in found
        if _is_meant(each, pattern) and not (exclude_internal and each.is_internal)
    ]
    columns = ("topic", "topic_id", "partitions", "replication_factor")
    show_rows(output, columns, rows, name="topics", empty=_NO_SUCH if found else _NONE_YET, headings=OF_TOPICS)


@app.command(
    epilog="Examples:  kraft topics describe --bootstrap-controller localhost:9094 --topic orders -o json"
    "    kraft topics describe --bootstrap-controller localhost:9094 --under-replicated-partitions"
)
def describe(
    bootstrap_controller: BootstrapController = "",
    topic: Pattern = None,
    topic_id: Ids = None,
    exclude_internal: ExcludeInternal = False,
    if_exists: IfExists = False,
    under_replicated: UnderReplicated = False,
    unavailable: Unavailable = False,
    under_min_isr: UnderMinIsr = False,
    at_min_isr: AtMinIsr = False,
    topics_with_overrides: WithOverrides = False,
    consistency: ConsistencyOption = Consistency.LINEARIZABLE,
    at_least: AtLeastOption = None,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    output: DescribeOutput = DescribeFormat.TABLE,
) -> None:
    """Describe topics, the configs that they have set, and their partitions: leader, replicas, who is in sync.

    --topic-id wins over --topic. A report shows only the partitions, or topics, that it means, as kafka-topics does;
    its exit status is 0 whether or not there are any.
    """
    report = report_of(under_replicated, unavailable, under_min_isr, at_min_isr, topics_with_overrides)
    ids, offset = _ids(topic_id), at_least_offset(consistency, at_least)

    async def ask(client: Client) -> tuple[list[DescribedTopic], list[str], TopicsConfigs]:
        if ids:
            found, missing = await _find_by_id(client, ids, offset)
            missing += [_left_out(each) for each in found if exclude_internal and each.is_internal]
        else:
            found = await _find(client, topic, offset)
        found = [each for each in found if not (exclude_internal and each.is_internal)]
        if not ids:
            missing = [] if found or topic is None else [f"there is no topic {topic}: see kraft topics list"]
        names = [each.name for each in found if each.name is not None]
        return found, missing, await topics_configs(client, names, offset)

    found, missing, configs = with_client(bootstrap_controller, timeout, ask)
    if if_exists:
        missing = []
    for why in missing:
        say(f"kraft: {why}")
    if found or not missing:
        empty = _NONE_YET if topic is None and not ids else _NO_SUCH
        meant = reported(found, report, configs)
        _show_described(output, meant, configs, NONE_FOUND[report] if found and report is not None else empty, report)
    if missing:
        raise typer.Exit(FAILED)


def _show_described(
    output: DescribeFormat, found: Sequence[DescribedTopic], configs: TopicsConfigs, empty: str, report: Report | None
) -> None:
    is_of_partitions = report is not None and report is not Report.OVERRIDES
    if output is DescribeFormat.JSON:
        show_json({"topics": [_as_json(each, configs.get(each.name or ""), report) for each in found]})
    elif output is DescribeFormat.KAFKA:
        for each in found:
            for line in kafka_lines(each, report, configs):
                print(line)
    elif not found:
        print(empty)
    elif is_of_partitions:
        rows = [{"topic": each.name, **_cells(partition)} for each in found for partition in each.partitions]
        print_table(("topic", *_PARTITION_COLUMNS), rows)
    else:
        for each in found:
            _show_topic(each, _shown_configs(configs.get(each.name or ""), report), report)


def _show_topic(topic: DescribedTopic, configs: Mapping[str, str | None] | None, report: Report | None) -> None:
    print(
        f"Topic: {topic.name}  TopicId: {id_text(topic.topic_id)}  PartitionCount: {len(topic.partitions)}  "
        f"ReplicationFactor: {_replication_factor(topic)}  Configs: {_configs_text(configs)}"
    )
    if report is None:
        print_table(_PARTITION_COLUMNS, [_cells(partition) for partition in topic.partitions])


def _shown_configs(
    entries: tuple[DescribedConfig, ...] | None, report: Report | None
) -> Mapping[str, str | None] | None:
    """Return the configs that are set for the topic; in the report of overrides, all that are not defaults."""
    return overrides(entries) if entries is not None and report is Report.OVERRIDES else set_for_topic(entries)


async def _find_by_id(
    client: Client, ids: Sequence[TopicId], offset: Offset | None
) -> tuple[list[DescribedTopic], list[str]]:
    """Return the topics of these ids, and a line for each id that no topic has.

    Raises:
        RefusedError: the principal may not describe a topic.
    """
    from quorum.client import Admin, InvalidTopicError, TopicCollection, UnknownTopicError  # noqa: PLC0415

    described = await Admin(client).describe_topics(TopicCollection.of_topic_ids(ids), at_least_offset=offset)
    found: list[DescribedTopic] = []
    missing: list[str] = []
    for outcome in (described.topic_id_values() or {}).values():
        if isinstance(outcome.error, UnknownTopicError | InvalidTopicError):
            missing.append(str(outcome.error))
        else:
            found.append(outcome.result())
    return found, missing


def _left_out(topic: DescribedTopic) -> str:
    return (
        f"topic id {id_text(topic.topic_id)} is that of {topic.name}, an internal topic: leave --exclude-internal out"
    )


async def _find(client: Client, topic: str | None, offset: Offset | None) -> list[DescribedTopic]:
    """Return the existing topics that match. The metadata topic, which is in no list, is found by its exact name."""
    from quorum.api.error_codes import Error  # noqa: PLC0415  (not needed for help)

    if topic is not None:
        named = await client.describe_topics([topic], at_least_offset=offset)
        if named and named[0].error is Error.NONE:
            return [named[0]]
    pattern = _EVERY if topic is None else topic_pattern(topic)
    found = await client.describe_topics(all_topics=True, at_least_offset=offset)
    return [each for each in found if _is_meant(each, pattern)]


def _is_meant(topic: DescribedTopic, pattern: re.Pattern[str]) -> bool:
    return pattern is _EVERY or pattern.fullmatch(topic.name or "") is not None


def _ids(texts: list[str] | None) -> list[TopicId]:
    return [parse_topic_id(text) for text in texts or []]


def _replication_factor(topic: DescribedTopic) -> int:
    return len(topic.partitions[0].replicas) if topic.partitions else 0


def _configs_text(configs: Mapping[str, str | None] | None) -> str:
    if configs is None:
        return "unknown"
    return ",".join(f"{name}={value}" for name, value in configs.items()) or "-"


def _cells(partition: DescribedPartition) -> dict[str, object]:
    return {
        "partition": partition.partition_index,
        "leader": "none" if partition.leader_id < 0 else partition.leader_id,
        "replicas": partition.replicas,
        "isr": partition.isr,
        "elr": partition.eligible_leader_replicas,
        "last_known_elr": partition.last_known_elr,
        "offline": partition.offline_replicas,
    }


def _as_json(
    topic: DescribedTopic, entries: tuple[DescribedConfig, ...] | None, report: Report | None
) -> dict[str, object]:
    more = {"overrides": overrides(entries)} if entries is not None and report is Report.OVERRIDES else {}
    return {
        "topic": topic.name,
        "topic_id": id_text(topic.topic_id),
        "internal": topic.is_internal,
        "configs": set_for_topic(entries),
        **more,
        "partitions": [
            {
                "partition": partition.partition_index,
                "leader": partition.leader_id,
                "leader_epoch": partition.leader_epoch,
                "partition_epoch": partition.partition_epoch,
                "replicas": partition.replicas,
                "isr": partition.isr,
                "elr": partition.eligible_leader_replicas,
                "last_known_elr": partition.last_known_elr,
                "offline": partition.offline_replicas,
                "adding": partition.adding_replicas,
                "removing": partition.removing_replicas,
            }
            for partition in topic.partitions
        ],
    }
