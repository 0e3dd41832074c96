"""The entry point of `kraft`: which commands there are, and what becomes of an error.

A command's module is imported when that command is the one called, and not before, so that help and completion stay
quick: a controller's server or Spark is not loaded to list topics.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Final

import typer

from quorum.cli.errors import exit_code_of

# name -> (module that holds `app`, or the one command `run` with its EPILOG; what the list of commands says of it)
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "demo": (
        "quorum.cli.demo.command",
        "Run the main job here: three controllers, two agents, one log, one Spark verdict.",
    ),
    "storage": ("quorum.cli.storage", "Format directories, look into them, make ids."),
    "controller": ("quorum.cli.controller", "Run a controller."),
    "agent": ("quorum.cli.agent", "Run a broker agent, or ask one what it holds."),
    "topics": ("quorum.cli.topics", "Create, delete, list and describe topics."),
    "quorum": ("quorum.cli.quorum", "See the quorum: leader, epoch, voters, lags."),
    "check": ("quorum.cli.check", "Say what is wrong with a cluster's directories: run this first."),
    "log": ("quorum.cli.log", "Dump a metadata log, or export a replica's copy of it."),
    "shell": ("quorum.cli.shell", "Walk through all that a log says, at any moment that it holds."),
    "features": ("quorum.cli.features", "See which records of a log another version could not read."),
    "snapshot": ("quorum.cli.snapshot", "Back all metadata up in one file, check it, restore it."),
    "analyze": ("quorum.cli.analyze", "Check exported logs for consistency with Spark."),
}

_HELP = """A KRaft quorum whose metadata log is Apache Kafka's own, byte for byte.

Start with `kraft demo`. Every command takes --help; those that answer with data take -o json.
"""


def _called(arguments: Sequence[str]) -> str | None:
    """The command among the words that the shell gave: to run, or to complete."""
    words = list(arguments)
    if "_KRAFT_COMPLETE" in os.environ:  # bash tells the words by the first of these, zsh and fish by the second
        words = (os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or "").split()[1:]
    return next((word for word in words if not word.startswith("-")), None)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415  (50 ms that only --version pays)

        typer.echo(f"kraft {version('kraft-quorum')}")
        raise typer.Exit


def build_app(arguments: Sequence[str]) -> typer.Typer:
    """The command line, with the one command that `arguments` name loaded and the others known by name."""
    app = typer.Typer(
        name="kraft",
        help=_HELP,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def kraft(
        version: Annotated[
            bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Say the version and exit.")
        ] = False,
    ) -> None:
        """Options of `kraft` itself."""

    called = _called(arguments)
    for name, (module, help_text) in COMMANDS.items():
        loaded = importlib.import_module(module) if name == called else None
        if loaded is not None and not hasattr(loaded, "app"):
            app.command(name, epilog=loaded.EPILOG)(loaded.run)
        else:
            app.add_typer(typer.Typer() if loaded is None else loaded.app, name=name, help=help_text)
    return app


def run(arguments: Sequence[str]) -> int:
    """Carry out one command. Exit status: 0; 1 (it failed, or found something); 2 (wrong use); 130 (Ctrl-C).

    Raises:
        Exception: a bug of ours, whose traceback is worth reporting.
    """
    try:
        build_app(arguments)(list(arguments), prog_name="kraft")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        code = exit_code_of(error)
        if code is None:
            raise
        return code
    return 0


def main() -> None:
    """Run this process's command line."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
