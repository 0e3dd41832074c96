"""`kraft controller`: run a controller."""

from __future__ import annotations

import typer

from quorum.cli.running import (
    Config,
    LogFormat,
    LogFormatOption,
    LogLevel,
    LogLevelOption,
    Strict,
    log_to_stderr,
    use_one_poller,
)

app = typer.Typer(no_args_is_help=True, epilog="Example:  kraft controller start -c node.properties")


@app.command(epilog="Example:  kraft controller start --config /etc/kraft/controller.properties")
def start(
    config: Config,
    strict: Strict = False,
    log_level: LogLevelOption = LogLevel.INFO,
    log_format: LogFormatOption = LogFormat.TEXT,
) -> None:
    """Run a controller in the foreground until SIGTERM or Ctrl-C, which hand leadership over first.

    Its directories were formatted once by `kraft storage format`. The file may be that of Apache Kafka's controller.
    The log goes to standard error.
    """
    use_one_poller()
    from quorum.server import main  # noqa: PLC0415  (gRPC and all of the server, which help does not need)

    log_to_stderr(log_level, log_format)
    main.run(config, strict=strict)
