"""`kraft topics alter`: give topics more partitions, with the option names of kafka-topics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from metadata_log.counts import counted
from quorum.cli.connection import DEFAULT_TIMEOUT_S, BootstrapController, Timeout, with_client
from quorum.cli.errors import FAILED, say, wrong_use
from quorum.cli.option_values import MAX_INT32, IfExists, ValidateOnly
from quorum.cli.output import Output, OutputFormat, show_json
from quorum.cli.topic_options import parse_assignments, topic_pattern

if TYPE_CHECKING:
    from quorum.client.client import Client


def alter(
    topic: Annotated[
        str, typer.Option("--topic", help="Names: a regular expression, or several with commas between them.")
    ],
    partitions: Annotated[
        int, typer.Option("--partitions", help="Number of partitions that each topic is to have.", min=1, max=MAX_INT32)
    ],
    bootstrap_controller: BootstrapController = "",
    replica_assignment: Annotated[
        str | None,
        typer.Option(
            "--replica-assignment",
            help="Brokers of all partitions, also of those that the topic has: 11:12,12:11 is of two partitions. Only "
            "the brokers of the new ones count.",
        ),
    ] = None,
    if_exists: IfExists = False,
    validate_only: ValidateOnly = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Give topics more partitions, each topic by itself. The number of partitions never falls.

    Records with a key may go to another partition from then on: the order of a key's records is lost.
    Exit status 1: a topic was refused, or no topic matches.
    """
    pattern = topic_pattern(topic)
    given = [assigned.broker_ids for assigned in parse_assignments(replica_assignment)]
    if given and len(given) != partitions:
        raise wrong_use(f"--replica-assignment is of {len(given)} partitions, and --partitions asks for {partitions}")
    altered = with_client(
        bootstrap_controller,
        timeout,
        lambda client: _grow(client, pattern, partitions, given, validate_only=validate_only),
    )
    if not altered and not if_exists:
        say(f"kraft: there is no topic {topic}: see kraft topics list")
    _show(output, altered, partitions, validate_only=validate_only)
    if any(altered.values()) or not (altered or if_exists):
        raise typer.Exit(FAILED)


async def _grow(
    client: Client,
    pattern: re.Pattern[str],
    partitions: int,
    given: Sequence[tuple[int, ...]],
    *,
    validate_only: bool,
) -> dict[str, Exception | None]:
    """Return the reason of the rejection by topic, or None.

    Of `given`, a broker list a partition, only new ones count.
    """
    from quorum.client import Admin, NewPartitions  # noqa: PLC0415  (not needed for help)

    asked = {
        each.name: NewPartitions(partitions, tuple(given[len(each.partitions) :]) if given else None)
        for each in await client.describe_topics(all_topics=True)
        if each.name is not None and pattern.fullmatch(each.name)
    }
    if not asked:
        return {}
    grown = await Admin(client).create_partitions(asked, validate_only=validate_only)
    return {name: outcome.exception() for name, outcome in grown.values().items()}


def _show(
    output: OutputFormat, altered: Mapping[str, Exception | None], partitions: int, *, validate_only: bool
) -> None:
    done = "could have" if validate_only else "has"
    for name, why in altered.items():
        if why is not None:
            say(f"kraft: {why}")
        elif output is OutputFormat.TABLE:
            print(f"Topic {name} {done} {counted(partitions, 'partition')}.")
    if output is OutputFormat.JSON:
        rows = [
            {
                "topic": name,
                "partitions": partitions,
                "altered": why is None and not validate_only,
                "error": None if why is None else str(why),
            }
            for name, why in altered.items()
        ]
        show_json({"topics": rows, "validate_only": validate_only})
