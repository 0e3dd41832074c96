"""Standard output and error, made fit for everything that commands print.

Decides: the bytes for a character that the encoding lacks and for a name that is not UTF-8. Decides also: output that
is closed or unbuffered, and that no text from a log or a peer controls the terminal. Every start imports this module,
so it imports almost nothing.
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
    """Make this process's standard output and error accept any text. A full or closed one raises OSError."""
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
    """Standard output that is a terminal: control characters and invisible ones are escaped in everything it prints."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(_buffer_of(stream), stream.encoding, stream.errors, line_buffering=True)

    def write(self, text: str) -> int:
        """Write the text with control characters escaped."""
        super().write(for_terminal(text))
        return len(text)

    @property
    def trusted(self) -> TrustedTerminal:
        """The same terminal for a program that adds colours, and escapes foreign text itself."""
        return TrustedTerminal(self)


def _buffer_of(stream: TextIO) -> BinaryIO:
    return stream.detach() if isinstance(stream, io.TextIOWrapper) else stream.buffer


class TrustedTerminal:
    """A terminal that receives all text unescaped; see `Terminal.trusted`."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def write(self, text: str) -> int:
        """Write the text as it is."""
        return io.TextIOWrapper.write(self._terminal, text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._terminal, name)


def _as_far_as_it_goes(error: UnicodeError) -> tuple[bytes, int]:
    """Return the substitute for characters that the encoding lacks.

    An undecodable byte of a name is written as that byte, an arrow as `->`, any other character as a question mark.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return b"".join(map(_bytes_of, error.object[error.start : error.end])), error.end


def _bytes_of(character: str) -> bytes:
    if _FIRST_ESCAPED <= ord(character) <= _LAST_ESCAPED:
        return character.encode("ascii", "surrogateescape")
    return b"->" if character == _ARROW else b"?"


def _closed() -> io.TextIOWrapper:
    """Return a substitute for a closed standard output: a write to it fails, and is reported like a full disk.

    It occupies descriptor 1. Otherwise the next opened file would get it, and with it the output.
    """
    return io.TextIOWrapper(io.BufferedWriter(io.FileIO(os.open(os.devnull, os.O_RDONLY), "w")), "utf-8")


def _buffer_output() -> None:
    """Put a buffer before standard output if PYTHONUNBUFFERED, which many containers set, has removed it.

    Without one Python drops the rest of a partial write, and a nearly full disk would cut the output silently.
    """
    raw = sys.stdout.buffer
    if isinstance(raw, io.RawIOBase):
        buffer = io.BufferedWriter(raw)
        sys.stdout = io.TextIOWrapper(buffer, sys.stdout.encoding, sys.stdout.errors, line_buffering=True)


class ReaderGone(Exception):
    """The reader of the output is gone. Not an OSError: click turns those into another exit status."""
