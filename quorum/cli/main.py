"""The entry point of `kraft`: the list of commands, and the handling of errors.

A command's module is imported only when that command is called. Help and completion stay quick: listing topics loads
neither a controller's server nor Spark.
"""

from __future__ import annotations

import gc
import itertools
import os
import sys
from collections.abc import Sequence
from typing import Final

from quorum.cli.program import completion_variable, program_name
from quorum.cli.streams import ReaderGone, prepare

# name -> (module that holds `app`, or the one command `run` with its EPILOG; what the list of commands says of it)
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "demo": (
        "quorum.cli.demo.command",
        "Run the main job here: three controllers, two agents, one log, one Spark verdict.",
    ),
    "dev": ("quorum.cli.dev.command", "Run three controllers and two agents here, in the foreground, without Spark."),
    "storage": ("quorum.cli.storage", "Format directories, look into them, make ids."),
    "controller": ("quorum.cli.controller", "Run a controller."),
    "agent": ("quorum.cli.agent", "Run a broker agent, or ask one what it holds."),
    "topics": ("quorum.cli.topics", "Create, alter, delete, list and describe topics."),
    "cluster": ("quorum.cli.cluster", "Print the id of the cluster."),
    "brokers": ("quorum.cli.brokers", "List and describe the registered brokers."),
    "configs": ("quorum.cli.configs", "See and change configs of topics, brokers, groups, client metrics."),
    "quorum": ("quorum.cli.quorum", "See the quorum: leader, voters, lags; change its voters or its leader."),
    "check": ("quorum.cli.check", "Say what is wrong with a cluster's directories: run this first."),
    "log": ("quorum.cli.log.log", "Dump, verify, compare, hash, draw and export metadata logs."),
    "shell": ("quorum.cli.shell", "Walk through all that a log says, at any moment that it holds."),
    "features": (
        "quorum.cli.features",
        "See and change levels of features; see which records a release could not read.",
    ),
    "snapshot": ("quorum.cli.snapshot", "Back up all metadata in one file, check it, restore it."),
    "recover": ("quorum.cli.recover.recover", "Bring a dead quorum back from the directories that are left."),
    "analyze": ("quorum.cli.analyze", "Check exported logs for consistency with Spark."),
    "docs": ("quorum.cli.docs", "List the pages of the documentation, or print one."),
}
DEBUG_VARIABLE: Final = "KRAFT_DEBUG"
_NODES: Final = (("controller", "start"), ("agent", "start"))


def run(arguments: Sequence[str], name: str = "kraft") -> int:
    """Run one command. Exit status: 0; 1 (it failed, or found something); 2 (wrong use); 130 (Ctrl-C).

    `name`: the program's, in usage lines, examples and completion.

    Raises:
        Exception: a bug in this software, if `--debug` asks for its traceback or the command runs a node.
    """
    try:
        status = _carry_out(arguments, name)
        sys.stdout.flush()  # at the end of the process, Python would report a full disk with a traceback
        return status
    except KeyboardInterrupt:
        return 130
    except (BrokenPipeError, ReaderGone):  # `head`, say, has seen enough
        _forget_output()
        return 141
    except Exception as error:
        from quorum.cli.errors import say, unexpected, user_error_of  # noqa: PLC0415

        user_error = user_error_of(error)
        if user_error is None and _shows_tracebacks(arguments):
            raise
        user_error = user_error or unexpected(error)
        say(f"kraft: {user_error.sentence}")
        cause = error.__cause__ or error
        if isinstance(cause, OSError) and cause.filename is None:
            _forget_output()
        else:
            from quorum.cli.output import show_failure  # noqa: PLC0415

            show_failure(user_error.sentence)
        return user_error.exit_code


def _carry_out(arguments: Sequence[str], name: str) -> int:
    _refuse_empty(arguments)
    paths = _plain_dump(arguments, name)
    if paths is not None:
        return _dump(paths)
    from quorum.cli.app import call  # noqa: PLC0415  (more than a small dump takes)

    try:
        call(arguments, COMMANDS, name)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


def _refuse_empty(arguments: Sequence[str]) -> None:
    """Reject an empty argument. As a path it would mean the working directory.

    Raises:
        CliError: an argument, or the value of an option, is empty.
    """
    for number, word in enumerate(arguments, 1):
        if not word or (word.startswith("--") and word.endswith("=") and word.count("=") == 1):
            from quorum.cli.errors import wrong_use  # noqa: PLC0415

            after = f", after {arguments[number - 2]}" if not word and number > 1 else ""
            what = f"{word} has no value" if word else f"word {number}{after} is empty"
            raise wrong_use(f"{what}: is it a variable that is not set?")


def _shows_tracebacks(arguments: Sequence[str]) -> bool:
    """Return True after `--debug`, and for a node: its failure may not be reproducible, so its log must show it."""
    options = list(itertools.takewhile(lambda word: word.startswith("-"), arguments))
    is_asked = "--debug" in options or os.environ.get(DEBUG_VARIABLE, "") not in ("", "0")
    return is_asked or tuple(arguments[len(options) :][:2]) in _NODES


def _forget_output() -> None:
    """Discard the rest of standard output: its reader is gone, or it cannot be written."""
    try:
        sink = os.open(os.devnull, os.O_WRONLY)
    except FileNotFoundError:  # an empty root directory has no devices
        sink = os.memfd_create("output that has no reader")
    os.dup2(sink, sys.stdout.fileno())


def _plain_dump(arguments: Sequence[str], name: str) -> list[str] | None:
    """Return the paths of `kraft log dump PATH...` without an option, or None. Such a call has a quick path."""
    words, paths = list(arguments[:2]), list(arguments[2:])
    is_plain = words == ["log", "dump"] and paths and completion_variable(name) not in os.environ
    return paths if is_plain and not any(path.startswith("-") for path in paths) else None


def _dump(paths: Sequence[str]) -> int:
    gc.disable()  # what imports make stays: to look through it again and again takes a tenth of a small dump
    _import_msgspec()
    from quorum.cli.log.dump_output import Renderer, show_files  # noqa: PLC0415

    if all(os.path.isfile(path) and os.path.normpath(path) == path for path in paths):
        gc.enable()
        return show_files(paths, Renderer())
    from pathlib import Path  # noqa: PLC0415  (with what it imports, a tenth of a small dump)

    from quorum.cli.log.files import check_one_cluster_of, files_of, say_missing_segments  # noqa: PLC0415

    named = list(map(Path, paths))
    files = list(map(str, files_of(named)))
    if len(named) > 1:
        check_one_cluster_of(named)
    gc.enable()
    return max(show_files(files, Renderer()), say_missing_segments(named))


def _import_msgspec() -> None:
    """Import msgspec without typing_extensions: Python's own typing has the two names that msgspec needs.

    That module costs as much as the rest of msgspec. None in `sys.modules` is Python's own sign of an absent module. It
    is removed after the import, so that later imports of typing_extensions work.
    """
    if "msgspec" not in sys.modules and "typing_extensions" not in sys.modules:
        sys.modules["typing_extensions"] = None  # type: ignore[assignment]
        import msgspec  # noqa: F401, PLC0415

        del sys.modules["typing_extensions"]


def main() -> None:
    """Run this process's command line."""
    prepare()
    name, arguments = program_name(sys.argv[0]), sys.argv[1:]
    status = run(arguments, name)
    if _plain_dump(arguments, name) is not None:  # taking all modules down again is a twentieth of a small dump
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


if __name__ == "__main__":
    main()
