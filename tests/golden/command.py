"""One `kraft` command, run in this process, as one text: exit status, standard output, standard error.

Decides: what a command sees of the machine. It sees a working directory, a fixed environment, an empty standard input
and a network where every connection is refused. Must not know: the cases.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import ipaddress
import os
import re
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from quorum.cli.main import run
from quorum.cli.streams import prepare

PLACE: Final = "/golden"
"""Written in place of the working directory's path."""
_ENVIRONMENT: Final = {"COLUMNS": "100", "LINES": "40", "HOME": f"{PLACE}/home", "LOGNAME": "golden", "PATH": ""}
"""All that a command finds in its environment. `COLUMNS` sets the width of help, which no terminal changes then."""
BUG: Final = "bug: "
"""The beginning of a text whose command ended with a traceback."""
_UNEXPECTED: Final = "this is a bug in kraft"
"""Part of the message of an exception that no command expects."""


def is_of_bug(text: str) -> bool:
    """Return True if the command of this text ended with an exception that it does not expect."""
    return text.startswith(BUG) or _UNEXPECTED in text


def _text(output: bytes) -> str:
    return output.decode("utf-8", "backslashreplace")


def run_command(
    arguments: Sequence[str],
    directory: Path,
    words: Mapping[str, str] | None = None,
    rendered: Callable[[bytes], str] = _text,
) -> str:
    """Return the status and the output of `kraft ARGUMENTS` with `directory` as its working directory.

    Arguments name paths below `directory` by relative paths, so that no table's width depends on its place. Absolute
    paths in the output start with `PLACE`. `words`: regular expressions of other texts to replace, with the word that
    replaces each. `rendered`: makes text of standard output. A bug, which `kraft` would end with a traceback, takes the
    place of the status.
    """
    place = directory.resolve()
    out, err = io.BytesIO(), io.BytesIO()
    with _fixed_machine(place, ["kraft", *arguments]), _streams(out, err):
        try:
            ended = f"exit status {run(arguments)}"
        except Exception as error:  # noqa: BLE001  (any bug is an output, too)
            ended = f"{BUG}{type(error).__name__}: {error}"
        sys.stdout.flush()
        sys.stderr.flush()
    text = f"{ended}\n--- standard output\n{rendered(out.getvalue())}--- standard error\n{_text(err.getvalue())}"
    text = text.replace(str(place), PLACE)
    for found, word in (words or {}).items():
        text = re.sub(found, word, text)
    return text


@contextlib.contextmanager
def _fixed_machine(place: Path, argv: list[str]) -> Iterator[None]:
    """Let the code inside see a fixed environment, the given words as its command line, and no network."""
    environment, words = dict(os.environ), sys.argv
    _Network.install()
    try:
        os.environ.clear()
        os.environ.update(_ENVIRONMENT)
        sys.argv = argv
        _Network.is_refused = True
        with contextlib.chdir(place):
            yield
    finally:
        _Network.is_refused = False
        sys.argv = words
        os.environ.clear()
        os.environ.update(environment)
        gc.enable()  # a command that failed while it was built leaves the collection off


@contextlib.contextmanager
def _streams(out: io.BytesIO, err: io.BytesIO) -> Iterator[None]:
    """Give the code inside these streams, prepared as `kraft` prepares its own.

    They have no descriptor, so that nothing that is done to a command's output reaches this process's.
    """
    kept = sys.stdin, sys.stdout, sys.stderr
    text_out = io.TextIOWrapper(out, encoding="utf-8", newline="\n")
    text_err = io.TextIOWrapper(err, encoding="utf-8", newline="\n", line_buffering=True)
    sys.stdin, sys.stdout, sys.stderr = io.StringIO(), text_out, text_err
    try:
        prepare()
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = kept
        text_out.detach()
        text_err.detach()


class _Network:
    """The network that a command sees while `is_refused`: no host has a name, and every connection is refused.

    A repair asks the endpoints that logs name for a living leader, and has no option against that. An audit hook is
    Python's own seam before each connection: it can refuse one, and nothing of the product is replaced. No hook can be
    removed, so that one is installed once and heeds `is_refused`.
    """

    is_refused = False
    _is_installed = False

    @classmethod
    def install(cls) -> None:
        """Put the hook in place, once in a process."""
        if not cls._is_installed:
            cls._is_installed = True
            sys.addaudithook(cls._hear)

    @classmethod
    def _hear(cls, event: str, arguments: tuple[object, ...]) -> None:
        if not cls.is_refused or not event.startswith("socket."):
            return
        if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
        if event == "socket.getaddrinfo" and not _is_address(str(arguments[0])):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
