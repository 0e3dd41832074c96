"""The shell over one replica of a metadata log: a position in its tree, one in its history, and the commands.

Decides: the response of each command. Must not know: terminals. It only reads. The log may be growing, and `at end`
reads it again.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from metadata_log.errors import MetadataLogError, WrongUseError
from metadata_log.image import ImageChanges
from metadata_log.records.newer import NOTHING_NEWER
from metadata_log.tools.read.gaps import Gap, hidden_state
from metadata_log.tools.read.history import LogHistory, State
from metadata_log.tools.shell.globs import expanded
from metadata_log.tools.shell.image_tree import Node, tree_lines
from metadata_log.tools.shell.names import (
    Change,
    LazyDirectory,
    NoSuchPathError,
    Turn,
    changed_lines,
    changes_between,
    difference,
    leaves,
    node_at,
    parts_of,
    paths_below,
    shell_tree,
)
from metadata_log.tools.shell.view import View, view_at
from metadata_log.tools.times import parse_time_ms, time_text

MANUAL: Final[Mapping[str, tuple[str, str]]] = {
    "at": ("at [OFFSET|TIME|end]", "go to the state at an offset (exclusive) or a time; without: say where we are"),
    "cat": ("cat PATH...", "print files"),
    "cd": ("cd [PATH]", "go to a directory"),
    "diff": ("diff X Y", "what changed between two offsets or times; of an offset within a batch, the whole batch"),
    "exit": ("exit", "leave"),
    "find": ("find [PATH] [PATTERN]", "all paths below, or those whose last name fits a pattern such as orders-*"),
    "hash": ("hash", "the image hash here"),
    "help": ("help [COMMAND]", "this text; man is the same"),
    "history": ("history PATH", "every change of what is at a path, from the start of the log to here"),
    "ls": ("ls [PATH...]", "the names in directories"),
    "man": ("man [COMMAND]", "as help"),
    "pwd": ("pwd", "where we are in the tree"),
    "tree": ("tree [PATH]", "everything below a directory"),
}


class ShellError(MetadataLogError):
    """A command fails; the message is for the user who typed it."""


class ShellUseError(ShellError, WrongUseError):
    """There is no such command, or it does not take these words."""


class Exit(Exception):
    """The user leaves the shell."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The changes between two states, the requested offsets at which no state ends, and parts that are not shown."""

    from_end: int
    to_end: int
    missed: tuple[int, ...]
    changes: tuple[Change, ...]
    not_shown: str | None


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """A change at a path. It is BEGINS for a path that exists where the log begins."""

    end_offset: int
    epoch: int
    time_ms: int
    what: Turn
    changes: tuple[Change, ...]


class Shell:
    """One user's session. `run` carries out a line. The log is read at the first line that needs it."""

    def __init__(self, history: LogHistory, version: str, reopen: Callable[[], LogHistory] | None = None) -> None:
        self._history = history
        self.gaps: Sequence[Gap] = ()
        """The log's gaps, if the caller has looked for them."""
        self.hidden: str | None = None
        """A sentence on the gap that hides the state which the last `at` asked for, or None."""
        self._reopen = reopen
        self._version = version
        self._view: View | None = None
        self._root: Mapping[str, Node] | None = None
        self._place: tuple[str, ...] = ()
        self._newer = NOTHING_NEWER
        self._commands: dict[str, Callable[[list[str]], Iterator[str]]] = {
            "at": self._at, "cat": self._cat, "cd": self._cd, "diff": self._diff, "exit": self._exit,
            "find": self._find, "hash": self._hash, "help": self._help, "history": self._changes, "ls": self._ls,
            "man": self._help, "pwd": self._pwd, "quit": self._exit, "tree": self._tree,
        }  # fmt: skip

    @property
    def place(self) -> str:
        """Return the current path in the tree."""
        return "/" + "/".join(self._place)

    @property
    def end(self) -> int:
        """Return the exclusive end offset of the current view."""
        return self.here().end

    @property
    def not_shown(self) -> str | None:
        """Return a sentence on all parts of a later release that no response so far shows, or None."""
        return self._newer.text("not shown in full") if self._newer else None

    def run(self, line: str) -> Iterator[str]:
        """Yield the response to a line, line by line; nothing for an empty one.

        Raises:
            ShellError: the command fails.
            MetadataLogError: the files cannot be read.
            Exit: the user leaves the shell.
        """
        return self.call(words_of(line))

    def call(self, words: list[str]) -> Iterator[str]:
        """Yield the response to a line that is already split into words; see `run`."""
        if not words:
            return
        command = self._commands.get(words[0])
        if command is None:
            raise ShellUseError(f"there is no command {words[0]!r}: help lists them")
        try:
            yield from command(words[1:])
        except NoSuchPathError as error:
            raise ShellError(str(error)) from error

    def complete(self, line: str) -> list[str]:
        """Return the completions of the last word of `line`: a directory ends with `/`, anything else with a space."""
        before, _, word = line.rpartition(" ")
        if not before.strip():
            return [f"{name} " for name in sorted(MANUAL) if name.startswith(word)]
        directory, slash, start = word.rpartition("/")
        try:
            node = self.node(directory + slash or ".")
        except ShellError:
            return []
        if isinstance(node, str):
            return []
        found = [name for name in sorted(node) if name.startswith(start)]
        of_directories = isinstance(node, LazyDirectory)  # topics: decoding each would take long
        ends = ["/" if of_directories or not isinstance(node[name], str) else " " for name in found]
        return [f"{directory}{slash}{name}{end}" for name, end in zip(found, ends, strict=True)]

    def here(self) -> View:
        """Return the current view; the log's end at first."""
        view = self._view
        if view is None:
            view = view_at(self._history)
            self._go(view)
        return view

    def _tree_root(self) -> Mapping[str, Node]:
        if self._root is None:
            self._root = shell_tree(self.here(), self._version)
        return self._root

    def paths(self, words: list[str]) -> list[str]:
        """Return the paths that the words mean; patterns are replaced by the paths that match."""
        return [path for word in words for path in expanded(self._tree_root(), word, self._place)]

    def _only_path(self, word: str) -> str:
        paths = self.paths([word])
        if len(paths) > 1:
            raise ShellUseError(f"{word} fits {len(paths)} paths ({paths[0]}, {paths[1]}...): name one")
        return paths[0]

    def node(self, path: str) -> Node:
        """Return the node at a path.

        Raises:
            ShellError: the path leads to nothing.
        """
        try:
            return node_at(self._tree_root(), parts_of(path, self._place))
        except NoSuchPathError as error:
            raise ShellError(str(error)) from error

    def _go(self, view: View) -> None:
        self._view, self._root = view, None
        self._look(view)

    def _look(self, view: View) -> View:
        """Return the view, and record the parts that it does not show."""
        self._newer = self._newer.plus(*view.newer.parts)
        return view

    def _offset(self, text: str) -> int | None:
        """Return the end offset that a word names: an offset, a time, `start`, or `end` (None: the log's end)."""
        if text == "end":
            return None
        if text == "start":
            return self._history.start_offset
        if text.isdecimal() and text.isascii():
            return int(text)
        try:
            return self._history.end_at(parse_time_ms(text))
        except ValueError as error:
            raise ShellUseError(f"{text!r} is neither an offset, start, end, nor a time: {error}") from error

    def _at(self, words: list[str]) -> Iterator[str]:
        if len(words) > 1:
            raise ShellUseError("at takes one offset or time")
        if words:
            if self._reopen is not None:
                self._history = self._reopen()
            wanted = self._offset(words[0])
            view = view_at(self._history, wanted)
            self._go(view)
            self.hidden = self._hidden(words[0], wanted, view.end)
            if self.hidden is not None:
                yield f"{self.hidden}; this is the last that is"
            elif wanted is not None and view.end != wanted:
                yield f"no state ends at offset {wanted}: this is the one before it"
        end = self.here().image.offset_and_epoch
        yield f"offset {end.offset}, epoch {end.epoch}, {time_text(self.here().image.last_contained_timestamp_ms)}"

    def _hidden(self, word: str, wanted: int | None, end: int) -> str | None:
        limit = end if wanted is None else wanted if word in ("start", str(wanted)) else wanted + 1  # `word` is a time
        return hidden_state(self.gaps, end, limit, (int(known.offset) for known, _ in self._history.checkpoints))

    def _ls(self, words: list[str]) -> Iterator[str]:
        paths = self.paths(words or ["."])
        nodes = [(path, self.node(path)) for path in paths]
        for path, node in nodes:
            if isinstance(node, str):
                yield path if len(paths) > 1 else parts_of(path, self._place)[-1]
        for path, node in nodes:
            if not isinstance(node, str):
                if len(paths) > 1:
                    yield f"{path}:"
                yield from sorted(node)

    def _cat(self, words: list[str]) -> Iterator[str]:
        if not words:
            raise ShellUseError("cat takes paths: cat /image/features/metadataVersion")
        for path in self.paths(words):
            node = self.node(path)
            if not isinstance(node, str):
                raise ShellError(f"{path} is a directory: tree {path} prints all of it")
            yield node

    def _cd(self, words: list[str]) -> Iterator[str]:
        path = self._only_path(words[0]) if words else "/"
        if isinstance(self.node(path), str):
            raise ShellError(f"{path} is a file")
        self._place = parts_of(path, self._place)
        yield from ()

    def _pwd(self, words: list[str]) -> Iterator[str]:
        if words:
            raise ShellUseError("pwd takes nothing")
        yield self.place

    def _tree(self, words: list[str]) -> Iterator[str]:
        for path in self.paths(words or ["."]):
            yield from tree_lines(self.node(path))

    def _find(self, words: list[str]) -> Iterator[str]:
        if len(words) > 2:
            raise ShellUseError("find takes a path and a pattern")
        pattern = words[1] if len(words) > 1 else None
        for path in self.paths(words[:1] or ["."]):
            for found in paths_below(self.node(path), path):
                if pattern is None or fnmatchcase(found.rpartition("/")[2], pattern):
                    yield found

    def _hash(self, words: list[str]) -> Iterator[str]:
        if words:
            raise ShellUseError("hash takes nothing: it is of the offset that `at` went to")
        yield f"{self.here().hash}  offset {self.end}"

    def difference(self, words: list[str]) -> Difference:
        """Return the response of `diff` with these words."""
        if len(words) != 2:
            raise ShellUseError("diff takes two offsets or times: diff 120 end")
        wanted = [self._offset(word) for word in words]
        one, other = (self._look(View(state)) for state in self._around(*wanted))
        newer = one.newer.plus(*other.newer.parts)
        missed = [offset for offset, end in zip(wanted, (one.end, other.end), strict=True) if offset not in (None, end)]
        return Difference(
            from_end=one.end,
            to_end=other.end,
            missed=tuple(offset for offset in missed if offset is not None),
            changes=difference(one, other, self._version),
            not_shown=newer.text("not shown in full") if newer else None,
        )

    def _diff(self, words: list[str]) -> Iterator[str]:
        found = self.difference(words)
        missed = " and ".join(map(str, found.missed))
        note = f"; no state ends at {missed}: states end where a batch does" if missed else ""
        yield f"offset {found.from_end} (-) and offset {found.to_end} (+){note}"
        yield from changed_lines(found.changes)

    def _around(self, one: int | None, other: int | None) -> tuple[State, State]:
        """Return the states at two offsets. For an offset within a batch, take the nearest state outside of the two."""
        if one is None or other is None or one == other:
            return self._history.state_at(one), self._history.state_at(other)
        if one < other:
            return self._history.state_at(one), self._history.state_from(other)
        return self._history.state_from(one), self._history.state_at(other)

    def moments(self, words: list[str]) -> Iterator[Moment]:
        """Yield the response of `history` with these words, each change as it is found."""
        if len(words) != 1:
            raise ShellUseError("history takes one path: history /topics/by-name/orders")
        parts = parts_of(words[0], self._place)
        state = self._history.first_state()
        before = self._leaves(state, parts)
        ever = bool(before)
        if before:
            yield _moment({}, before, state, Turn.BEGINS)
        for later in self._history.states(state, self.end):
            if _may_differ(state, later):
                after = self._leaves(later, parts)
                if after != before:
                    turn = Turn.CREATED if not before else Turn.REMOVED if not after else Turn.CHANGED
                    yield _moment(before, after, later, turn)
                before, ever = after, ever or bool(after)
            state = later
        if not ever:
            raise ShellError(
                f"there never was anything at {words[0]} from offset {self._history.start_offset} to {self.end}"
            )

    def _changes(self, words: list[str]) -> Iterator[str]:
        for moment in self.moments(words):
            if moment.what is Turn.BEGINS:
                yield f"offset {moment.end_offset}, where this log begins:"
            else:
                when = f"epoch {moment.epoch}, {time_text(moment.time_ms)}"
                yield f"up to offset {moment.end_offset}, {when}: {moment.what}"
            yield from (f"  {line}" for line in changed_lines(moment.changes))

    def _leaves(self, state: State, parts: tuple[str, ...]) -> dict[str, str]:
        try:
            return leaves(node_at(shell_tree(View(state), self._version), parts), "/" + "/".join(parts))
        except NoSuchPathError:
            return {}

    def _help(self, words: list[str]) -> Iterator[str]:
        for word in words:
            if word not in MANUAL:
                raise ShellUseError(f"there is no command {word!r}: help lists them")
        for name in words or MANUAL:
            usage, meaning = MANUAL[name]
            yield f"{usage:<24}{meaning}"
        if not words:
            yield "Paths may have *, ?, [a-c] and {one,two} in them."
            yield "Offsets are exclusive ends; times are UTC (2026-01-31T12:00:00) or ms since 1970; also start, end."

    def _exit(self, words: list[str]) -> Iterator[str]:
        raise Exit


def words_of(line: str) -> list[str]:
    """Return the words of a line.

    Raises:
        ShellUseError: a quotation is not closed.
    """
    try:
        return shlex.split(line, comments=True)
    except ValueError as error:
        raise ShellUseError(f"{line!r}: {error}") from error


def _may_differ(one: State, other: State) -> bool:
    return one.quorum is not other.quorum or other.replayer.changes != ImageChanges()


def _moment(before: dict[str, str], after: dict[str, str], state: State, what: Turn) -> Moment:
    end = state.image.offset_and_epoch
    return Moment(
        end_offset=state.end,
        epoch=int(end.epoch),
        time_ms=state.image.last_contained_timestamp_ms,
        what=what,
        changes=changes_between(before, after),
    )
