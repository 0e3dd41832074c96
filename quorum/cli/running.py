"""The options and preparations that the commands which run a node share."""

from __future__ import annotations

import enum
import os
from pathlib import Path
from typing import Annotated, Final

import typer

Config = Annotated[
    Path,
    typer.Option("-c", "--config", help="The node's .properties file.", exists=True, dir_okay=False),
]


Strict = Annotated[bool, typer.Option("--strict", help="Refuse unknown keys in the file, instead of warning.")]


class LogLevel(enum.StrEnum):
    """The values of `--log-level`."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(enum.StrEnum):
    """The values of `--log-format`."""

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
    """Have gRPC poll its connections in the thread that also completes calls. Call this before gRPC is imported.

    Since 1.79 its Python package polls in threads of an "event engine", so each message passes through one more thread.
    That makes 7 context switches a round trip instead of 4: with one client, a fifth of a leader's CPU time per commit.
    A GRPC_EXPERIMENTS that is set already stays as it is.
    """
    os.environ.setdefault("GRPC_EXPERIMENTS", _GRPC_EXPERIMENTS)


def fork_without_grpc() -> None:
    """Keep gRPC out of the forks of a process that starts other programs. Call this before gRPC is imported.

    Its fork handlers run before the other program starts, and now and then hang or abort there (grpc/grpc#37259).
    Python mostly starts programs without a real fork. It does fork on macOS, and if a function must run in the child,
    as PySpark requires. A GRPC_ENABLE_FORK_SUPPORT that is set already stays as it is.
    """
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
