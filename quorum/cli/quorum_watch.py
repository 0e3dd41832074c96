"""`kraft quorum describe --watch`: the description again and again, until Ctrl-C.

Decides: the form: in place on a terminal, one block after the other in a pipe, one JSON object a line for programs. If
no controller answers, it says so and goes on: people watch a quorum when it has a problem.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING

from quorum.cli.connection import with_client
from quorum.cli.output import OutputFormat, show_json_line, terminal_console
from quorum.cli.quorum_output import Parts, as_json, lines_of
from quorum.cli.tables import wrapped
from quorum.client.errors import UnavailableError, UnresolvableError

if TYPE_CHECKING:
    from quorum.client.client import Client
    from quorum.client.quorum_status import QuorumStatus

Show = Callable[["QuorumStatus | UnavailableError"], None]


def watch_quorum(bootstrap: str, timeout_s: float, interval_s: float, output: OutputFormat, parts: Parts) -> None:
    """Show the quorum every `interval_s` seconds, until KeyboardInterrupt (exit status 130).

    Raises:
        CliError: no controller is named, or an address is not `host:port`.
        ClientError: as `Client.describe_quorum`, except UnavailableError, which is shown before the next attempt.
    """
    if output is OutputFormat.JSON:
        _run(bootstrap, timeout_s, interval_s, lambda answer: _show_json(answer, parts))
    elif sys.stdout.isatty():
        _run_live(bootstrap, timeout_s, interval_s, parts)
    else:
        _run(bootstrap, timeout_s, interval_s, lambda answer: _show_block(answer, parts))


def _run(bootstrap: str, timeout_s: float, interval_s: float, show: Show) -> None:
    async def work(client: Client) -> None:
        while True:
            show(await _ask(client))
            await asyncio.sleep(interval_s)

    with_client(bootstrap, timeout_s, work)


async def _ask(client: Client) -> QuorumStatus | UnavailableError:
    try:
        return await client.describe_quorum()
    except UnresolvableError:
        raise
    except UnavailableError as error:
        return error


def _run_live(bootstrap: str, timeout_s: float, interval_s: float, parts: Parts) -> None:
    from rich.live import Live  # noqa: PLC0415  (only on a terminal)
    from rich.text import Text  # noqa: PLC0415

    with Live(console=terminal_console(), auto_refresh=False) as live:
        _run(
            bootstrap,
            timeout_s,
            interval_s,
            lambda answer: live.update(Text("\n".join(_block(answer, parts)), no_wrap=True), refresh=True),
        )


def _show_block(answer: QuorumStatus | UnavailableError, parts: Parts) -> None:
    print("\n".join(_block(answer, parts)), end="\n\n", flush=True)


def _block(answer: QuorumStatus | UnavailableError, parts: Parts) -> list[str]:
    """Return the time, and the description or the error as lines."""
    lines = [str(answer)] if isinstance(answer, UnavailableError) else lines_of(answer, parts)
    return [_now(), *chain.from_iterable(map(wrapped, lines))]


def _show_json(answer: QuorumStatus | UnavailableError, parts: Parts) -> None:
    said = {"error": str(answer)} if isinstance(answer, UnavailableError) else as_json(answer, parts)
    show_json_line({"time": _now(), **said})
    sys.stdout.flush()


def _now() -> str:
    now = datetime.now(UTC)
    return f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03d}Z"
