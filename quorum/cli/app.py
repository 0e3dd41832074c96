"""The command line in typer, with one command loaded. The quick path of `main` does without it.

Help is plain text: drawing it with rich took half of its time.
"""

from __future__ import annotations

import functools
import gc
import importlib
import inspect
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final

import typer
from typer.main import get_command

from quorum import __version__
from quorum.cli.metavars import name_values
from quorum.cli.output import begin_answer
from quorum.cli.program import completion_variable
from quorum.cli.streams import ReaderGone
from quorum.plain_text import plain

_HELP: Final = """A KRaft quorum whose metadata log is Apache Kafka's own, byte for byte.

Start with `{name} check` on a metadata log, or with `{name} dev` for a quorum. Every command takes --help; those that
answer with data take -o json.
"""
_TELLS_APART: Final = "tells_apart"


def _called(arguments: Sequence[str], is_completing: bool) -> str | None:
    """Return the command among the words from the shell, to run or to complete, or None."""
    words = list(arguments)
    if is_completing:  # bash passes the words in the first variable, zsh and fish in the second
        words = (os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or "").split()[1:]
    return next((word for word in words if not word.startswith("-")), None)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kraft {__version__}")
        raise typer.Exit


def call(arguments: Sequence[str], commands: Mapping[str, tuple[str, str]], name: str) -> None:
    """Run one command of the program that was called by this name.

    Raises:
        SystemExit: the command has ended, with this status.
    """
    gc.disable()  # what imports and the building of commands make stays: no need to look through it again and again
    command: Any = get_command(build_app(arguments, commands, name))
    _refuse_repeated(command)
    _leave_opening(command)
    name_values(command)
    command.make_context = _in_plain_text(command.make_context)
    command.invoke = _in_plain_text(command.invoke)
    gc.enable()
    begin_answer()
    command(list(arguments), prog_name=name)


_NO_NUMBER: Final = re.compile(r"is not a valid (int|integer|float)( range)?\.$")
"""Click's message, which names the types as Python does."""


def _as_number(match: re.Match[str]) -> str:
    return "is no number." if match[1] == "float" else "is no whole number."


def _in_plain_text(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the same function with its usage errors escaped: they quote arguments, control characters included."""

    @functools.wraps(function)
    def carry_out(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except Exception as error:
            if hasattr(error, "format_message"):  # of click, which typer has a copy of
                error.message = _NO_NUMBER.sub(_as_number, plain(error.message))  # type: ignore[attr-defined]
            raise

    return carry_out


def _refuse_repeated(command: Any) -> None:
    """Have an option that takes one value rejected if it is given twice: click would ignore the first value."""
    for one in getattr(command, "commands", {}).values():
        _refuse_repeated(one)
    make_parser = command.make_parser

    def checking(context: Any) -> Any:
        parser = make_parser(context)
        parse = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            values, rest, given = parse(args)
            for option in given:
                if _takes_one_value(option) and given.count(option) > 1 and not context.resilient_parsing:
                    context.fail(f"{option.opts[-1]} is given {given.count(option)} times, and takes one value")
            return values, rest, given

        parser.parse_args = parse_args
        return parser

    command.make_parser = checking


def _leave_opening(command: Any) -> None:
    """Leave it to the command to open its files: of one that cannot be read, click would not say what to do."""
    for one in getattr(command, "commands", {}).values():
        _leave_opening(one)
    for parameter in command.params:
        if hasattr(parameter.type, "readable"):
            parameter.type.readable = False


def _takes_one_value(parameter: Any) -> bool:
    return parameter.param_type_name == "option" and not (parameter.multiple or parameter.is_flag or parameter.count)


def build_app(arguments: Sequence[str], commands: Mapping[str, tuple[str, str]], program: str = "kraft") -> typer.Typer:
    """Return the command line, with the command that `arguments` name loaded and the others known by name."""
    app = typer.Typer(
        name="kraft",
        help=_HELP.format(name=program),
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={
            "help_option_names": ["-h", "--help"],
            "max_content_width": shutil.get_terminal_size().columns,
        },
    )

    @app.callback()
    def kraft(
        version: Annotated[
            bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Say the version and exit.")
        ] = False,
        debug: Annotated[
            bool, typer.Option("--debug", help="Show the traceback of an unexpected error, as KRAFT_DEBUG=1 does.")
        ] = False,
    ) -> None:
        """Options of `kraft` itself."""

    is_completing = completion_variable(program) in os.environ
    called = _called(arguments, is_completing)
    for name, (module, help_text) in commands.items():
        loaded = importlib.import_module(module) if name == called else None
        if loaded is not None and not hasattr(loaded, "app"):
            epilog = _a_line_each(loaded.EPILOG, program)
            app.command(name, epilog=epilog, short_help=help_text)(_told_apart(loaded.run))
            continue
        if loaded is not None:
            for info in loaded.app.registered_commands:
                info.callback = None if info.callback is None else _told_apart(info.callback)
        if loaded is not None and not is_completing:  # a shell shows one line, which click cuts to fit
            _spell_out(loaded.app, program)
        group = typer.Typer() if loaded is None else loaded.app
        app.add_typer(group, name=name, help=help_text, short_help=help_text)
    return app


def _told_apart(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command, with a BrokenPipeError raised as ReaderGone: click would report a failure."""
    if getattr(command, _TELLS_APART, False):  # done in an earlier call of this process
        return command

    @functools.wraps(command)
    def carry_out(*arguments: Any, **options: Any) -> Any:
        try:
            return command(*arguments, **options)
        except BrokenPipeError as error:
            raise ReaderGone from error

    setattr(carry_out, _TELLS_APART, True)
    return carry_out


def _spell_out(app: typer.Typer, program: str) -> None:
    """Give each command its whole first sentence in the list of commands, and its examples a line each."""
    app.info.epilog = _a_line_each(app.info.epilog, program)
    for info in app.registered_commands:
        info.epilog = _a_line_each(info.epilog, program)
        info.short_help = info.short_help or _first_paragraph(info.callback)


def _first_paragraph(callback: Any) -> str:
    return " ".join((inspect.getdoc(callback) or "").partition("\n\n")[0].split())


def _a_line_each(epilog: str | None, program: str) -> str | None:
    """Return `Example:  one    two` as click prints it unfolded, with the name of the program in each example."""
    if epilog is None or not epilog.startswith("Example"):
        return epilog
    title, _, examples = epilog.partition(":")
    named = re.sub(r"(?<![\w/.-])kraft(?= )", program, examples)
    return "\n".join(["\b", f"{title}:", *(f"  {example.strip()}" for example in named.split("    "))])
