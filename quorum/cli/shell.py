"""`kraft shell`: a time-travelling shell over a metadata log, at a terminal or for one command."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from quorum import __version__
from quorum.cli.errors import FAILED, say, wrong_use
from quorum.cli.log_history import an_earlier_offset_may_help, only_history, say_what_is_lost, what_is_lost
from quorum.cli.option_values import Redact, reading_files
from quorum.cli.output import Output, OutputFormat, show_json
from quorum.plain_text import on_one_line

if TYPE_CHECKING:
    from metadata_log.tools.read.history import LogHistory
    from metadata_log.tools.shell.shell import Shell

EPILOG: Final = (
    "Examples:  kraft shell /var/lib/kafka/data    kraft shell node-1 -c 'history /topics/by-name/orders'    "
    "kraft shell node-1 --at 300 tree /image/topics    kraft shell node-1 diff 100 end    "
    "kraft shell node-1 ls /image/topics/byName -o json"
)


def run(
    path: Annotated[Path, typer.Argument(help="A node's directory, a metadata directory, a segment or a checkpoint.")],
    words: Annotated[
        list[str] | None, typer.Argument(help="One command to answer: ls /image. Without: a prompt.")
    ] = None,
    commands: Annotated[
        list[str] | None, typer.Option("-c", "--command", help="A command to answer; may be repeated.")
    ] = None,
    at: Annotated[str | None, typer.Option("--at", help="Begin at this offset (exclusive) or time.")] = None,
    redact: Redact = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Walk through all that a metadata log says, at any moment that it still holds: help lists the commands.

    The paths are those of Kafka's metadata shell (/image/topics/byName/...), and shorter ones (/topics/by-name/...).
    Reads only and takes no lock: it may be used on the directory of a running node. -o json answers one command: at,
    cat, diff, find, hash, history, ls or tree. Exit status of a single command: 1 if nothing is at a path, or if the
    log is damaged, lacks the state of --at, or (without --at) has lost its end. 2: there is no such command, or no log.
    """
    if output is OutputFormat.JSON and bool(words) + len(commands or ()) != 1:
        raise wrong_use("-o json answers one command: kraft shell DIR ls /image -o json")
    from metadata_log.tools.shell.answers import answer  # noqa: PLC0415
    from metadata_log.tools.shell.shell import Exit, Shell, words_of  # noqa: PLC0415  (not needed for help)

    def opened() -> LogHistory:
        return msgspec.structs.replace(only_history(path), files=reading_files(redact=redact))

    history = opened()
    lost = what_is_lost(history)
    is_short = say_what_is_lost(history, lost)
    shell = Shell(history, __version__, opened)
    shell.gaps = lost.gaps
    with an_earlier_offset_may_help():
        _go(shell, at)
        if output is OutputFormat.JSON:
            show_json(answer(shell, words or words_of((commands or [""])[0])))
            _say_newer(shell, None)
        elif not words and not commands:
            _talk(shell)
        else:
            with contextlib.suppress(Exit):
                for command in commands or ():
                    _answer(shell, shell.run(command))
                _answer(shell, shell.call(words or []))
    if shell.hidden is not None and at is None:
        say(f"kraft: {history.path}: {shell.hidden}")
    is_wrong = shell.hidden is not None or (is_short and at is None)  # the end that was asked about is not the log's
    if is_wrong and (words or commands or not sys.stdin.isatty()):
        raise typer.Exit(FAILED)


def _go(shell: Shell, at: str | None) -> None:
    """Go to the state of --at, if it is given. Report on standard error if the state differs from the requested one."""
    if at is None:
        return
    *notes, where = shell.call(["at", at])
    for note in notes:
        say(f"kraft: --at {at}: {note}: {where}")


def _print(lines: Iterable[str]) -> None:
    if sys.stdout.isatty():  # a pipe gets names unchanged, line ends included, as from Kafka's shell
        lines = map(on_one_line, lines)
    sys.stdout.writelines(f"{line}\n" for line in lines)


def _answer(shell: Shell, lines: Iterable[str]) -> None:
    """Print an answer, then report on standard error if it lacks records of a later release."""
    before = shell.not_shown
    try:
        _print(lines)
    finally:
        sys.stdout.flush()
        _say_newer(shell, before)


def _say_newer(shell: Shell, before: str | None) -> None:
    if shell.not_shown not in (None, before):
        say(f"kraft: {shell.not_shown}")


def _talk(shell: Shell) -> None:
    """Read commands until the end: with a prompt, completion and history at a terminal, in silence from a pipe.

    At a terminal an error is printed and the session goes on; from a pipe it ends the session with its exit status.
    """
    from metadata_log.errors import MetadataLogError  # noqa: PLC0415  (not needed for help)
    from metadata_log.tools.shell.shell import Exit  # noqa: PLC0415

    interactive = sys.stdin.isatty()
    if interactive:
        _prepare_terminal(shell)
        _answer(shell, shell.call(["at"]))
    while True:
        try:
            line = input(f"[{shell.end}] {on_one_line(shell.place)} >> ") if interactive else sys.stdin.readline()
            if not line and not interactive:
                return
            _answer(shell, shell.run(line))
        except (EOFError, Exit):
            return
        except KeyboardInterrupt:
            if not interactive:
                raise
            print()
        except MetadataLogError as error:
            if not interactive:
                raise
            say(str(error))


def _prepare_terminal(shell: Shell) -> None:
    import atexit  # noqa: PLC0415  (only for a person at a terminal)
    import importlib.util  # noqa: PLC0415

    if importlib.util.find_spec("readline") is None:  # so built, as in the one file: no history, no completion
        return
    import readline  # noqa: PLC0415

    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "kraft"
    past = state / "shell_history"

    def complete(word: str, index: int) -> str | None:
        line = readline.get_line_buffer()[: readline.get_endidx()]
        found = [text for text in shell.complete(line) if on_one_line(text) == text]  # readline shows them as they are
        return found[index] if index < len(found) else None

    def keep() -> None:
        try:
            state.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(past)
        except OSError as error:
            say(f"kraft: the history of commands was not kept: {error}")

    if past.exists():
        readline.read_history_file(past)
    readline.set_history_length(1000)
    readline.set_completer_delims(" ")
    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")
    atexit.register(keep)
