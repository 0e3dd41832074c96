"""Ids as options give them: refused where they are none, with the option's name and what to do instead.

Decides: how they are refused. Must not know: which are refused, and what they are for.
"""

from __future__ import annotations

from metadata_log.ids import DirectoryId, InvalidIdError, parse_directory_id, why_no_cluster_id
from quorum.cli.errors import wrong_use


def check_cluster_id(text: str, option: str = "--cluster-id") -> None:
    """Refuse what is no cluster's id.

    Raises:
        CliError: naming the option.
    """
    why = why_no_cluster_id(text, option)
    if why is not None:
        raise wrong_use(why)


def directory_id_of(text: str | None, option: str) -> DirectoryId | None:
    """The directory id, or None where none is given.

    Raises:
        CliError: it is none; the option is named.
    """
    try:
        return None if text is None else parse_directory_id(text)
    except InvalidIdError as error:
        raise wrong_use(f"{option}: {error}; `kraft quorum describe --replication` shows it") from error
