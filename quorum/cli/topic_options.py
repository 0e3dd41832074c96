"""The values of options of `kraft topics`.

Decides: the syntax of assignments, configs and patterns, which is that of kafka-topics.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from quorum.cli.errors import wrong_use

if TYPE_CHECKING:
    from quorum.api.topics import CreatableReplicaAssignment, CreatableTopicResult


def parse_assignments(text: str | None) -> tuple[CreatableReplicaAssignment, ...]:
    """Parse `11:12,12:11`: the brokers of partition 0, then those of partition 1.

    Raises:
        CliError: the text has another form.
    """
    from quorum.api.topics import CreatableReplicaAssignment  # noqa: PLC0415  (not needed for help)

    if text is None:
        return ()
    found: list[CreatableReplicaAssignment] = []
    for index, part in enumerate(text.split(",")):
        brokers = [word.strip() for word in part.split(":")]
        if not all(broker.isascii() and broker.isdigit() for broker in brokers):
            raise wrong_use(
                f"--replica-assignment {text}: {part!r} is not a list of broker ids: write 11:12,12:11 for two "
                "partitions with two replicas each"
            )
        found.append(CreatableReplicaAssignment(partition_index=index, broker_ids=tuple(map(int, brokers))))
    return tuple(found)


def parse_configs(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Parse each `name=value`.

    Raises:
        CliError: a text has another form, or a name is given twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        name = name.strip()
        if not separator or not name:
            raise wrong_use(f"--config {text}: write name=value")
        if name in found:
            raise wrong_use(f"--config {name} is given twice")
        found[name] = value.strip()
    return tuple(found.items())


def topic_pattern(text: str) -> re.Pattern[str]:
    """Return the pattern of a `--topic` that may name several topics: regular expressions with commas between them.

    Raises:
        CliError: a part is not a regular expression.
    """
    parts = [part.strip() for part in text.split(",")]
    for part in parts:  # alone, for the position that its error names to be one in it
        _compiled(part, part)
    return _compiled("|".join(f"(?:{part})" for part in parts), text)


def _compiled(pattern: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise wrong_use(f"--topic {text} is not a regular expression: {error}") from error


def existing_text(found: CreatableTopicResult, asked: Mapping[str, int | None]) -> str:
    """Return the sentence about a topic that `--if-not-exists` found.

    `asked`: the requested partitions and replicas.
    """
    has = {"partition": found.num_partitions, "replica": found.replication_factor}
    others = [
        f"{has[what]} {what}{'' if has[what] == 1 else 's'} where {number} {'was' if number == 1 else 'were'} asked for"
        for what, number in asked.items()
        if number is not None and number != has[what]
    ]
    return (
        f"Topic {found.name} exists already, and stays as it is{': it has ' if others else ''}{' and '.join(others)}."
    )
