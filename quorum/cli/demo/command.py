"""`kraft demo`: the main job of this project on one machine, in acts that check their claims.

Decides: the order of the acts, and that no process is left running. Must not know: an act's content.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from quorum.cli.errors import CliError, say, wrong_use
from quorum.cli.extras import ANALYSIS, require
from quorum.cli.running import fork_without_grpc

if TYPE_CHECKING:
    from quorum.cli.demo.story import Story

EPILOG: Final = "Example:  kraft demo --directory /tmp/kraft-demo"

_DEFAULT: Final = Path("demo-out")
_PROPERTIES: Final = {"metadata.max.idle.interval.ms": "0"}
"""In one act a leader writes without its followers. A NoOp that they cannot commit would delay the topic."""


def run(
    directory: Annotated[
        Path,
        typer.Option("--directory", help="Where everything goes. What a demo left there is replaced.", file_okay=False),
    ] = _DEFAULT,
) -> None:
    """Run the main job here, about a minute: three controllers, two broker agents, one metadata log, one Spark verdict.

    Real processes on loopback: an election, topics, a killed leader, a stale replica, a divergence that Spark finds.
    Each act proves what it says; exit status 1 names what did not hold. Ctrl-C leaves no process behind.
    """
    fork_without_grpc()
    from quorum.cli.demo.interrupts import Interrupted, interrupts  # noqa: PLC0415  (not needed for help)
    from quorum.cli.demo.place import own_directory  # noqa: PLC0415

    _check_spark()
    try:
        with interrupts(), own_directory(directory) as place:
            _tell(place)
    except Interrupted as interrupted:
        say(f"\nkraft demo: stopped by {interrupted}; no process is left. See {directory}")
        raise typer.Exit(interrupted.exit_code) from interrupted


def _check_spark() -> None:
    """Raise CliError before anything is started if a package is missing that the last acts need."""
    require(ANALYSIS, "pyspark", "pyarrow", "numpy")
    from metadata_log.analysis.errors import JavaNotFoundError  # noqa: PLC0415  (not needed for help)
    from metadata_log.analysis.java import find_java  # noqa: PLC0415

    try:
        with tempfile.TemporaryDirectory() as scratch:
            find_java(Path(scratch))
    except JavaNotFoundError as error:
        raise wrong_use(str(error)) from error


def _tell(place: Path) -> None:
    """Run all acts, and print the end.

    Raises:
        CliError: a check failed, or a process did.
    """
    from quorum.cli.demo import (  # noqa: PLC0415  (not needed for help)
        alone,
        comeback,
        divergence,
        elect,
        failover,
        proof,
        stale,
        take_up,
        verdict,
    )
    from quorum.cli.demo.cluster import Cluster, NodeFailedError  # noqa: PLC0415
    from quorum.cli.demo.interrupts import shielded  # noqa: PLC0415
    from quorum.cli.demo.stage import Stage  # noqa: PLC0415
    from quorum.cli.demo.story import CheckFailedError, Story  # noqa: PLC0415
    from quorum.client.errors import ClientError  # noqa: PLC0415
    from quorum.client.loop_thread import LoopThread  # noqa: PLC0415

    acts = (elect, take_up, failover, stale, comeback, alone, proof, verdict, divergence)
    story = Story(len(acts))
    story.title("The main job: three controllers, two broker agents, one metadata log, one Spark verdict")
    heading = ""
    try:
        with Cluster(place, properties=_PROPERTIES) as cluster, LoopThread(close_timeout_s=10.0) as loop:
            stage = Stage(place, story, cluster, loop)
            try:
                for act in acts:
                    heading = act.HEADING
                    story.act(heading)
                    act.run(stage)
            finally:
                with shielded():
                    stage.close()
    except (CheckFailedError, NodeFailedError, TimeoutError, ClientError) as error:
        raise CliError(f"the demo failed in the act {heading!r}: {error}\nEverything is left in {place}") from error
    _end(story, place)


def _end(story: Story, place: Path) -> None:
    from quorum.cli.demo.place import as_written, kraft_command  # noqa: PLC0415  (not needed for help)

    here, kraft = as_written(place), kraft_command()
    story.title(f"\nDone in {story.seconds:.0f} s: everything held, and no process is left. In {here}:")
    story.say("controller-*/ agent-*/     configuration (node.properties), log (node.log) and data of each node")
    story.say("exports/                   the five exported logs; planted/ is the copy with the divergence")
    story.say("verdict.html               Spark's page on this run; verdict-planted.html on the changed copy")
    story.title("What to try next:")
    story.say(f"{kraft} log dump {here}/controller-1/data | less")
    story.say(f"{kraft} analyze {here}/exports --report again.html")
    story.say(f"{kraft} controller start --config {here}/controller-1/node.properties     (and 2, in another terminal)")
    story.say(f"{kraft} topics --help")
