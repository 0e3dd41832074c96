"""How a command reaches the controllers: the option that names them, and one client for the time of one command.

Decides: which option or variable says where they are. Must not know: what is asked of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer

from quorum.cli.errors import wrong_use
from quorum.cli.seconds import a_time

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
Timeout = Annotated[
    float, typer.Option("--timeout", help="How long to wait for the controllers, in seconds.", min=0.1, callback=a_time)
]
DEFAULT_TIMEOUT_S: Final = 10.0


def with_client(bootstrap: str, timeout_s: float, work: Callable[[Client], Awaitable[T]]) -> T:
    """What `work` returns, done with a client of these controllers.

    Raises:
        CliError: no controller is named, or one of the addresses is none.
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
