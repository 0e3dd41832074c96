"""The responses of the shell's commands, as data for programs.

Decides: the form of each response. Must not know: the meaning of commands (`shell` does), and terminals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from metadata_log.tools.shell.image_tree import Node
from metadata_log.tools.shell.shell import Shell, ShellUseError
from metadata_log.tools.times import time_text


def answer(shell: Shell, words: list[str]) -> dict[str, object]:
    """Return the response of a command as lists, objects with names, and texts. A list has a name.

    Raises:
        ShellError: the command fails, or only changes the session.
        MetadataLogError: the files cannot be read.
    """
    if not words or words[0] not in _ANSWERS:
        raise ShellUseError(f"as JSON one of these answers: {', '.join(sorted(_ANSWERS))}")
    return _ANSWERS[words[0]](shell, words[1:])


def _newer(key: str, text: str | None) -> dict[str, object]:
    """Return the key of a response that names the parts of a later release, or an empty object."""
    return {} if text is None else {key: text}


def _time(time_ms: int) -> dict[str, object]:
    return {"time_ms": time_ms, "time": time_text(time_ms) if time_ms >= 0 else None}


def _at(shell: Shell, words: list[str]) -> dict[str, object]:
    lines = list(shell.call(["at", *words]))
    end = shell.here().image.offset_and_epoch
    return {
        "end_offset": int(end.offset),
        "epoch": int(end.epoch),
        **_time(shell.here().image.last_contained_timestamp_ms),
        "note": lines[0] if len(lines) > 1 else None,
    } | _newer("not_shown", shell.not_shown)


def _cat(shell: Shell, words: list[str]) -> dict[str, object]:
    texts = list(shell.call(["cat", *words]))
    return {"texts": [{"path": path, "text": text} for path, text in zip(shell.paths(words), texts, strict=True)]}


def _diff(shell: Shell, words: list[str]) -> dict[str, object]:
    found = shell.difference(words)
    return {
        "from_offset": found.from_end,
        "to_offset": found.to_end,
        "changes": [msgspec.to_builtins(change) for change in found.changes],
    } | _newer("not_shown", found.not_shown)


def _find(shell: Shell, words: list[str]) -> dict[str, object]:
    return {"paths": list(shell.call(["find", *words]))}


def _hash(shell: Shell, words: list[str]) -> dict[str, object]:
    (line,) = shell.call(["hash", *words])
    newer = shell.here().newer
    not_hashed = newer.text("not hashed in full") if newer else None
    return {"hash": line.split()[0], "end_offset": shell.end} | _newer("not_hashed", not_hashed)


def _history(shell: Shell, words: list[str]) -> dict[str, object]:
    return {"moments": [msgspec.to_builtins(each) | _time(each.time_ms) for each in shell.moments(words)]}


def _ls(shell: Shell, words: list[str]) -> dict[str, object]:
    found = []
    for path in shell.paths(words or ["."]):
        node = shell.node(path)
        found.append({"path": path, "names": None if isinstance(node, str) else sorted(node)})
    return {"directories": found}


def _tree(shell: Shell, words: list[str]) -> dict[str, object]:
    return {"trees": [{"path": path, "tree": _plain(shell.node(path))} for path in shell.paths(words or ["."])]}


def _plain(node: Node) -> object:
    return node if isinstance(node, str) else {name: _plain(node[name]) for name in node}


_ANSWERS: Final[Mapping[str, Callable[[Shell, list[str]], dict[str, object]]]] = {
    "at": _at,
    "cat": _cat,
    "diff": _diff,
    "find": _find,
    "hash": _hash,
    "history": _history,
    "ls": _ls,
    "tree": _tree,
}
