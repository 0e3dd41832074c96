"""What the options of `kraft topics` stand for.

Decides: how assignments, configs and patterns are written, as kafka-topics has them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from quorum.cli.errors import wrong_use

if TYPE_CHECKING:
    from quorum.api.topics import CreatableReplicaAssignment, CreatableTopicResult


def parse_assignments(text: str | None) -> tuple[CreatableReplicaAssignment, ...]:
    """`11:12,12:11`: the brokers of partition 0, then those of partition 1.

    Raises:
        CliError: it is not written so.
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
    """Each `name=value`.

    Raises:
        CliError: one is not written so, or a name is given twice.
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
    """What `--topic` means where several topics may be meant: a regular expression, commas between several.

    Raises:
        CliError: it is no regular expression.
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
    """What is said of a topic that `--if-not-exists` found; `asked`: how many partitions and replicas of each."""
    has = {"partition": found.num_partitions, "replica": found.replication_factor}
    others = [
        f"{has[what]} {what}{'' if has[what] == 1 else 's'} where {number} {'was' if number == 1 else 'were'} asked for"
        for what, number in asked.items()
        if number is not None and number != has[what]
    ]
    return (
        f"Topic {found.name} exists already, and stays as it is{': it has ' if others else ''}{' and '.join(others)}."
    )
