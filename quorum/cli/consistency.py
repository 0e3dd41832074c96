"""The options that say how current an answer has to be: of all commands that read from the controllers.

Decides: their names and defaults. etcdctl's `--consistency=l` and `s` are the examples, and its default is ours.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Annotated

import typer

from quorum.cli.errors import wrong_use

if TYPE_CHECKING:
    from metadata_log.offsets import Offset


class Consistency(enum.StrEnum):
    """What `--consistency` takes (DESIGN 15)."""

    LINEARIZABLE = "linearizable"
    AT_LEAST = "at-least"


ConsistencyOption = Annotated[
    Consistency,
    typer.Option(
        "--consistency",
        help="linearizable: all that was committed when you asked, which the leader proves with a majority; at-least: "
        "what the controller that is asked has, also while nobody leads.",
        case_sensitive=False,
    ),
]
AtLeastOption = Annotated[
    int | None,
    typer.Option("--at-least-offset", help="With at-least: wait for everything before this offset of the log.", min=0),
]


def at_least_offset(consistency: Consistency, offset: int | None) -> Offset | None:
    """What the client is to be told: None for a linearizable read.

    Raises:
        CliError: an offset for a linearizable read.
    """
    if consistency is Consistency.AT_LEAST:
        from metadata_log.offsets import Offset  # noqa: PLC0415  (not needed for help)

        return Offset(offset or 0)
    if offset is not None:
        raise wrong_use("--at-least-offset goes with --consistency at-least")
    return None
