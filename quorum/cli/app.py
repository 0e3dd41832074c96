"""The command line as typer has it, with one command loaded. Needed for all but the plainest use (see `main`)."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Final

import typer

_HELP: Final = """A KRaft quorum whose metadata log is Apache Kafka's own, byte for byte.

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


def build_app(arguments: Sequence[str], commands: Mapping[str, tuple[str, str]]) -> typer.Typer:
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
    for name, (module, help_text) in commands.items():
        loaded = importlib.import_module(module) if name == called else None
        if loaded is not None and not hasattr(loaded, "app"):
            app.command(name, epilog=loaded.EPILOG)(loaded.run)
        else:
            app.add_typer(typer.Typer() if loaded is None else loaded.app, name=name, help=help_text)
    return app
