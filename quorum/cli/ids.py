"""Ids as options give them: refused where they are none, with the option's name and what to do instead.

Decides: which ids no cluster may have. Must not know: what they are for.
"""

from __future__ import annotations

from metadata_log.ids import (
    DirectoryId,
    InvalidIdError,
    TopicId,
    is_reserved_topic_id,
    parse_directory_id,
    parse_id,
)
from quorum.cli.errors import wrong_use


def check_cluster_id(text: str, option: str = "--cluster-id") -> None:
    """Refuse what is no cluster's id: the null id and the metadata topic's sentinel stand for something else.

    Raises:
        CliError: naming the option.
    """
    advice = "make one with `kraft storage random-uuid`"
    try:
        value = TopicId(parse_id(text))
    except InvalidIdError as error:
        raise wrong_use(f"{option}: {error}; {advice}") from error
    if is_reserved_topic_id(value):
        raise wrong_use(f"{option} {text}: this id is reserved, and no cluster's; {advice}")


def directory_id_of(text: str | None, option: str) -> DirectoryId | None:
    """The directory id, or None where none is given.

    Raises:
        CliError: it is none; the option is named.
    """
    try:
        return None if text is None else parse_directory_id(text)
    except InvalidIdError as error:
        raise wrong_use(f"{option}: {error}; `kraft quorum describe --replication` shows it") from error
