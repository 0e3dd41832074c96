"""What the commands that run a node have in common: the options, and where its log goes."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[
    Path,
    typer.Option("-c", "--config", help="The node's .properties file.", exists=True, dir_okay=False, readable=True),
]


class LogLevel(enum.StrEnum):
    """What `--log-level` takes."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(enum.StrEnum):
    """What `--log-format` takes."""

    TEXT = "text"
    JSON = "json"


LogLevelOption = Annotated[
    LogLevel, typer.Option("--log-level", help="The least that is logged.", case_sensitive=False)
]
LogFormatOption = Annotated[
    LogFormat, typer.Option("--log-format", help="text for people; json: one object a line.", case_sensitive=False)
]


def log_to_stderr(level: LogLevel, log_format: LogFormat) -> None:
    """Set up the log of this process."""
    from quorum.node.logging import configure_logging  # noqa: PLC0415  (not needed for help)

    configure_logging(level=level.name, as_json=log_format is LogFormat.JSON)
