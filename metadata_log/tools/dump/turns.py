"""One file's pieces, rendered by several processes that write in turn, so that the output keeps its order.

Decides: which process renders a piece (every n-th), and when each may write: a token circulates, and only its holder
writes. So no bytes are copied between processes, and each holds one piece in memory. Must not know: the rendering.

An error ends the round: the token carries its place, and the calling process repeats that piece to raise it.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

import msgspec

from metadata_log.errors import MetadataLogError
from metadata_log.tools.dump.pieces import PIECE_BYTES, Piece

WORTH_IT: Final = 8 * PIECE_BYTES
"""A smaller file is finished before the other processes have started."""

_TOKEN: Final = struct.Struct(">iq")
_GO_ON: Final = 0
_STOP: Final = -1


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    """A piece as bytes to write. `error`: the reason why no more can follow."""

    content: bytes
    error: MetadataLogError | None = None


class _Ended(Exception):
    """The round is over: an operating system's error number, or `_STOP`, at a piece."""

    def __init__(self, code: int, at: int) -> None:
        super().__init__(code, at)
        self.code = code
        self.at = at


def processes() -> int:
    """Return the number of processes that are worthwhile here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") and hasattr(os, "fork") else 1


def write_in_turns(
    open_pieces: Callable[[], Iterator[Piece]], render: Callable[[Piece], Rendered], descriptor: int, count: int
) -> None:
    """Write every piece, rendered, to `descriptor`, by `count` processes including this one.

    Args:
        open_pieces: yields the same pieces in each process.

    Raises:
        MetadataLogError: the error of rendering or reading, after everything before it was written.
        OSError: the output cannot be written: BrokenPipeError if its reader is gone.
    """
    pipes = [os.pipe() for _ in range(count)]
    children: list[int] = []
    for index in range(1, count):
        child = os.fork()
        if child == 0:
            _be_child(_Turns(index, pipes), open_pieces, render, descriptor)
        children.append(child)
    turns = _Turns(0, pipes)
    turns.pass_on(_GO_ON, 0, to_self=True)
    try:
        _take_part(turns, open_pieces, render, descriptor)
    except _Ended as ended:
        if ended.code != _STOP:
            raise OSError(ended.code, os.strerror(ended.code)) from ended
        _meet_again(open_pieces, render, ended.at)
    finally:
        turns.close()
        for child in children:
            os.waitpid(child, 0)


class _Turns:
    """One process's place in the round: the pipe on which it waits, and the one that wakes the next."""

    def __init__(self, index: int, pipes: list[tuple[int, int]]) -> None:
        self.index = index
        self.count = len(pipes)
        self._read = pipes[index][0]
        self._write = pipes[(index + 1) % len(pipes)][1]
        self._own_write = pipes[index][1]
        kept = {self._read, self._write} | ({self._own_write} if index == 0 else set())
        for end in {end for pipe in pipes for end in pipe} - kept:
            os.close(end)

    def wait(self) -> None:
        """Wait until it is this process's turn.

        Raises:
            _Ended: the round is over, or the process before is gone.
        """
        token = os.read(self._read, _TOKEN.size)
        if len(token) < _TOKEN.size:
            raise _Ended(_STOP, -1)
        code, at = _TOKEN.unpack(token)
        if code != _GO_ON:
            raise _Ended(code, at)

    def wait_or_pass_on(self) -> None:
        """Wait; if the round is over, pass that on to the next process."""
        try:
            self.wait()
        except _Ended as ended:
            with contextlib.suppress(BrokenPipeError):  #   # it knew already, and has ended
                self.pass_on(ended.code, ended.at)
            raise

    def pass_on(self, code: int, at: int, *, to_self: bool = False) -> None:
        os.write(self._own_write if to_self else self._write, _TOKEN.pack(code, at))
        if to_self and self._own_write != self._write:
            os.close(self._own_write)

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)


def _take_part(
    turns: _Turns, open_pieces: Callable[[], Iterator[Piece]], render: Callable[[Piece], Rendered], descriptor: int
) -> None:
    """Render this process's pieces, write each in its turn, and pass the token on until no piece is left."""
    at = turns.index
    stream = islice(open_pieces(), turns.index, None, turns.count)
    while True:
        try:
            piece = next(stream, None)
            done = Rendered(content=b"") if piece is None else render(piece)
        except MetadataLogError as error:
            piece, done = None, Rendered(content=b"", error=error)
        turns.wait_or_pass_on()
        try:
            write_all(descriptor, done.content)
        except OSError as error:
            turns.pass_on(error.errno or _STOP, at)
            raise
        if done.error is not None or piece is None:
            turns.pass_on(_STOP, at)
            raise _Ended(_STOP, at)
        turns.pass_on(_GO_ON, at)
        at += turns.count


def _be_child(
    turns: _Turns, open_pieces: Callable[[], Iterator[Piece]], render: Callable[[Piece], Rendered], descriptor: int
) -> None:
    """Take part and end, without the exit handlers and buffers that belong to the parent.

    The parent reports an unexpected error; its traceback is printed if the environment has KRAFT_DEBUG.
    """
    known = False
    try:
        _take_part(turns, open_pieces, render, descriptor)
    except (_Ended, OSError, KeyboardInterrupt):
        known = True
    finally:
        if not known and os.environ.get("KRAFT_DEBUG", "") not in ("", "0"):
            import traceback  # noqa: PLC0415  (2 ms that only a bug of ours pays)

            traceback.print_exc()
        os._exit(0 if known else 1)


def _meet_again(open_pieces: Callable[[], Iterator[Piece]], render: Callable[[Piece], Rendered], at: int) -> None:
    """Raise the error that some process met at piece `at`; if it does not recur, everything was written."""
    if at < 0:
        raise ChildProcessError(
            "a process that rendered a part of the dump ended before it was done: KRAFT_DEBUG=1 shows why"
        )
    piece = next(islice(open_pieces(), at, None), None)
    if piece is not None and (error := render(piece).error) is not None:
        raise error


def write_all(descriptor: int, content: bytes) -> None:
    """Write all of it, in as many calls as necessary."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
