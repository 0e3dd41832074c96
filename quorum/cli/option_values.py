"""Options and checks of their values that several commands share.

Source: int16 and int32 of Kafka's protocol and of kraft.v1.
"""

from __future__ import annotations

from typing import Annotated, Final

import typer

from metadata_log.files.os_files import OsFiles
from metadata_log.ids import DirectoryId, InvalidIdError, doubt_of_cluster_id, parse_directory_id, why_no_cluster_id
from quorum.cli.errors import say, wrong_use

MAX_INT16: Final = (1 << 15) - 1
MAX_INT32: Final = (1 << 31) - 1
GroupReadable = Annotated[
    bool,
    typer.Option("--group-readable", help="Let the group read the files, too. Other users never can."),
]

ExcludeInternal = Annotated[bool, typer.Option("--exclude-internal", help="Leave the cluster's own topics out.")]

IfExists = Annotated[bool, typer.Option("--if-exists", help="A topic that is not there is no error.")]

ValidateOnly = Annotated[
    bool, typer.Option("--validate-only", help="Check whether it could be changed, and write nothing.")
]

Redact = Annotated[
    bool, typer.Option("--redact", help="Show no SCRAM salts and keys, and no passwords of configs; lengths stay.")
]

_MOST_S: Final = 1e9
"""About thirty years. A longer time, infinity or NaN is a mistake."""


def reading_files(*, redact: bool) -> OsFiles:
    """Return the file access for logs, with or without their secrets."""
    if not redact:
        return OsFiles()
    from metadata_log.tools.read.redacted_files import RedactedFiles  # noqa: PLC0415  (not needed for help)

    return RedactedFiles()


def a_time(seconds: float) -> float:
    """Return the seconds: the callback of an option.

    Raises:
        CliError: the number is too large, or NaN.
    """
    if not seconds <= _MOST_S:
        raise wrong_use(f"{seconds} seconds: give a number up to {_MOST_S:.0f}")
    return seconds


def check_cluster_id(text: str, option: str = "--cluster-id") -> None:
    """Reject an invalid cluster id, and warn of one that is not a UUID.

    Raises:
        CliError: the id is invalid; the message names the option.
    """
    why = why_no_cluster_id(text, option)
    if why is not None:
        raise wrong_use(why)
    doubt = doubt_of_cluster_id(text, option)
    if doubt is not None:
        say(f"kraft: {doubt}")


def directory_id_of(text: str | None, option: str) -> DirectoryId | None:
    """Return the directory id, or None without one.

    Raises:
        CliError: the text is not an id; the message names the option.
    """
    try:
        return None if text is None else parse_directory_id(text)
    except InvalidIdError as error:
        raise wrong_use(f"{option}: {error}; `kraft quorum describe --replication` shows it") from error
