"""Standard output and error, fit for what commands print.

Decides: what becomes of a character that the encoding has not, of a name that is no UTF-8 (its bytes, as it has them),
and of output that is closed or has no buffer; and that a terminal obeys nothing that a log or a peer says. Imports next
to nothing: every start pays.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from typing import Any, BinaryIO, Final, TextIO

from quorum.plain_text import for_terminal

_HANDLER: Final = "kraft.as-far-as-it-goes"
_FIRST_ESCAPED, _LAST_ESCAPED = 0xDC80, 0xDCFF
_ARROW: Final = "→"


def prepare() -> None:
    """Make this process's standard output and error take whatever is printed; a full or closed one is an OSError."""
    codecs.register_error(_HANDLER, _as_far_as_it_goes)
    if sys.stdout is None:
        sys.stdout = _closed()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (as long as the process)
    _buffer_output()
    if sys.stdout.isatty():
        sys.stdout = Terminal(sys.stdout)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_HANDLER)


class Terminal(io.TextIOWrapper):
    """Standard output that is a terminal: what it would obey, or not show, is escaped, whatever is printed."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(_buffer_of(stream), stream.encoding, stream.errors, line_buffering=True)

    def write(self, text: str) -> int:
        """Write the text without what a terminal would obey."""
        super().write(for_terminal(text))
        return len(text)

    @property
    def trusted(self) -> TrustedTerminal:
        """The same terminal, for a program that colours text and escapes what others said itself."""
        return TrustedTerminal(self)


def _buffer_of(stream: TextIO) -> BinaryIO:
    return stream.detach() if isinstance(stream, io.TextIOWrapper) else stream.buffer


class TrustedTerminal:
    """A terminal that is given everything, see `Terminal.trusted`."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def write(self, text: str) -> int:
        """Write the text as it is."""
        return io.TextIOWrapper.write(self._terminal, text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._terminal, name)


def _as_far_as_it_goes(error: UnicodeError) -> tuple[bytes, int]:
    """In place of what the encoding has not: the byte that a name's character stands for, `->`, or a question mark."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return b"".join(map(_bytes_of, error.object[error.start : error.end])), error.end


def _bytes_of(character: str) -> bytes:
    if _FIRST_ESCAPED <= ord(character) <= _LAST_ESCAPED:
        return character.encode("ascii", "surrogateescape")
    return b"->" if character == _ARROW else b"?"


def _closed() -> io.TextIOWrapper:
    """Stands for output that the caller has closed: nothing can be written to it, which is told as of a full disk.

    It takes the descriptor's place, so that no file that is opened later gets what is printed.
    """
    return io.TextIOWrapper(io.BufferedWriter(io.FileIO(os.open(os.devnull, os.O_RDONLY), "w")), "utf-8")


def _buffer_output() -> None:
    """Where PYTHONUNBUFFERED is set, as in many containers, put a buffer before standard output all the same: without
    one Python drops what the operating system did not take of a write, and a nearly full disk cuts the output silently.
    """
    raw = sys.stdout.buffer
    if isinstance(raw, io.RawIOBase):
        buffer = io.BufferedWriter(raw)
        sys.stdout = io.TextIOWrapper(buffer, sys.stdout.encoding, sys.stdout.errors, line_buffering=True)


class ReaderGone(Exception):
    """The reader of our output has left. Not an OSError: of those click makes another exit status."""
