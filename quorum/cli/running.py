"""What the commands that run nodes have in common: the options, where a log goes, what is settled before gRPC loads."""

from __future__ import annotations

import enum
import os
from pathlib import Path
from typing import Annotated, Final

import typer

Config = Annotated[
    Path,
    typer.Option("-c", "--config", help="The node's .properties file.", exists=True, dir_okay=False, readable=True),
]


Strict = Annotated[bool, typer.Option("--strict", help="Refuse unknown keys in the file, instead of warning.")]


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
    from quorum.node.process.log_lines import configure_logging  # noqa: PLC0415  (not needed for help)

    configure_logging(level=level.name, as_json=log_format is LogFormat.JSON)


_GRPC_EXPERIMENTS: Final = "-event_engine_client,-event_engine_listener"


def use_one_poller() -> None:
    """Have gRPC wait for its connections in the thread that also completes calls; before gRPC is imported, or in vain.

    Since 1.79 its Python package waits in threads of an "event engine", so that each message passes through one thread
    more: 7 context switches a round trip instead of 4, a fifth of a leader's processor time a commit with one client.
    Who sets GRPC_EXPERIMENTS decides alone.
    """
    os.environ.setdefault("GRPC_EXPERIMENTS", _GRPC_EXPERIMENTS)


def fork_without_grpc() -> None:
    """Keep gRPC out of the forks of a process that starts other programs; before gRPC is imported, or in vain.

    Its handlers run between the fork and the start of the other program, which has no use for gRPC, and now and then
    hang or abort there (grpc/grpc#37259). Python mostly starts programs without a real fork, but neither on macOS nor
    with a function to run in the child, as PySpark does. Who sets GRPC_ENABLE_FORK_SUPPORT decides alone.
    """
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
