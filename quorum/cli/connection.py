"""The connection of a command to the controllers: its options, and one client for the time of the command.

Decides: which option or variable names the controllers. Must not know: the requests.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from quorum.cli.errors import wrong_use
from quorum.cli.option_values import a_time

if TYPE_CHECKING:
    from quorum.client.client import Client

T = TypeVar("T")

VARIABLE: Final = "KRAFT_BOOTSTRAP_CONTROLLER"

BootstrapController = Annotated[
    str,
    typer.Option(
        "--bootstrap-controller",
        envvar=VARIABLE,
        help="GRPC addresses of controllers, host:port[,host:port...]; one that answers is enough.",
        show_default=False,
    ),
]


def timeout_option(what: str) -> Any:
    """Return the option `--timeout`; `what` completes the sentence "How long to wait"."""
    return typer.Option("--timeout", help=f"How long to wait {what}.", min=0.1, callback=a_time)


Timeout = Annotated[float, timeout_option("for the controllers")]
DEFAULT_TIMEOUT_S: Final = 10.0


def with_client(bootstrap: str, timeout_s: float, work: Callable[[Client], Awaitable[T]]) -> T:
    """Run `work` with a client of these controllers, and return its result.

    Raises:
        CliError: no controller is named, or an address is not `host:port`.
        ClientError: as the client's methods raise it.
    """
    import asyncio  # noqa: PLC0415  (not needed for help, no more than gRPC)

    from quorum.client.client import Client  # noqa: PLC0415
    from quorum.client.errors import AddressError  # noqa: PLC0415

    async def run() -> T:
        async with Client(bootstrap, timeout_s=timeout_s) as client:
            return await work(client)

    if not bootstrap:
        raise wrong_use(f"no controller is named: give --bootstrap-controller host:port, or set {VARIABLE}")
    try:
        return asyncio.run(run())
    except AddressError as error:
        raise wrong_use(f"--bootstrap-controller {bootstrap}: {error}") from error


if TYPE_CHECKING:
    from metadata_log.offsets import Offset


class Consistency(enum.StrEnum):
    """The values of `--consistency` (DESIGN 2.1)."""

    LINEARIZABLE = "linearizable"
    AT_LEAST = "at-least"


ConsistencyOption = Annotated[
    Consistency,
    typer.Option(
        "--consistency",
        help="linearizable: all that was committed when you asked, which the leader proves with a majority; at-least: "
        "what the controller that is asked has, also while there is no leader.",
        case_sensitive=False,
    ),
]
AtLeastOption = Annotated[
    int | None,
    typer.Option("--at-least-offset", help="With at-least: wait for everything before this offset of the log.", min=0),
]


def at_least_offset(consistency: Consistency, offset: int | None) -> Offset | None:
    """Return the client's `at_least_offset`, or None for a linearizable read.

    Raises:
        CliError: an offset is given for a linearizable read.
    """
    if consistency is Consistency.AT_LEAST:
        from metadata_log.offsets import Offset  # noqa: PLC0415  (not needed for help)

        return Offset(offset or 0)
    if offset is not None:
        raise wrong_use("--at-least-offset goes with --consistency at-least")
    return None
