"""The entry point of `kraft`: which commands there are, and what becomes of an error.

A command's module is imported when that command is the one called, and not before, so that help and completion stay
quick: a controller's server or Spark is not loaded to list topics.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

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
    "log": ("quorum.cli.log", "Dump, verify, compare, hash, draw and export metadata logs."),
    "shell": ("quorum.cli.shell", "Walk through all that a log says, at any moment that it holds."),
    "features": ("quorum.cli.features", "See which records of a log another version could not read."),
    "snapshot": ("quorum.cli.snapshot", "Back all metadata up in one file, check it, restore it."),
    "analyze": ("quorum.cli.analyze", "Check exported logs for consistency with Spark."),
}


def run(arguments: Sequence[str]) -> int:
    """Carry out one command. Exit status: 0; 1 (it failed, or found something); 2 (wrong use); 130 (Ctrl-C).

    Raises:
        Exception: a bug of ours, whose traceback is worth reporting.
    """
    try:
        paths = _plain_dump(arguments)
        if paths is not None:
            return _dump(paths)
        from quorum.cli.app import build_app  # noqa: PLC0415  (a third of the time of a small dump)

        build_app(arguments, COMMANDS)(list(arguments), prog_name="kraft")
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


def _plain_dump(arguments: Sequence[str]) -> list[str] | None:
    """The paths of `kraft log dump PATH...` without an option: called in loops over files, it has to be quick."""
    words = list(arguments)
    is_plain = words[:2] == ["log", "dump"] and len(words) > 2 and "_KRAFT_COMPLETE" not in os.environ
    return words[2:] if is_plain and not any(word.startswith("-") for word in words) else None


def _dump(paths: Sequence[str]) -> int:
    from quorum.cli.dump_output import Renderer, show_files  # noqa: PLC0415
    from quorum.cli.log_files import files_of  # noqa: PLC0415

    return show_files(list(files_of(map(Path, paths))), Renderer())


def main() -> None:
    """Run this process's command line."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
