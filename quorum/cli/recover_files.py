"""The files that a repair writes, removes and backs up, for people: where there are many of a kind, one line for all.

Decides: which lines. Must not know: how a repair is shown besides. JSON has every name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Final

import msgspec

from metadata_log.files.port import Files
from quorum.recovery.journal.changes import FileChange, Rewrite

_MANY: Final = 4
"""As many files of a kind are shown as one line."""
_SEGMENTS, _INDEXES, _CHECKPOINTS, _OTHERS = "segment", "index file", "checkpoint", "other file"
_KINDS: Final = {
    ".log": _SEGMENTS, ".index": _INDEXES, ".timeindex": _INDEXES, ".txnindex": _INDEXES, ".snapshot": _INDEXES,
    ".checkpoint": _CHECKPOINTS,
}  # fmt: skip


class _Listed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A file that is changed. `held`: its size now; None: it is not there. `size`: of what is written or removed."""

    verb: str
    name: str
    kind: str
    offset: int
    size: int
    held: int | None


def file_lines(files: Files, rewrite: Rewrite, work_root: str) -> Iterator[str]:
    """What is backed up below `work_root`, and what is written and removed, of the directory as it is before.

    Raises:
        OSError: a file that is to be changed cannot be read.
    """
    found = [_listed(files, rewrite.log_dir, change) for change in rewrite.changes]
    held = [one for one in found if one.held is not None]
    if held:
        yield f"back up {_counts(held)} ({_size(sum(one.held or 0 for one in held))}) first, below {work_root}"
    shown: set[tuple[str, str]] = set()
    for one in found:
        same = [other for other in found if (other.verb, other.kind) == (one.verb, one.kind)]
        if one.kind == _OTHERS or len(same) < _MANY:
            yield f"{one.verb} {one.name}"
        elif (one.verb, one.kind) not in shown:
            shown.add((one.verb, one.kind))
            yield f"{one.verb} {_range(same)} ({_size(sum(other.size for other in same))})"


def _listed(files: Files, log_dir: str, change: FileChange) -> _Listed:
    held = _held(files, f"{log_dir}/{change.name}")
    content = change.content
    base = change.name.rpartition("/")[2]
    suffix = base[base.rfind(".") :] if base[:20].isdecimal() else ""
    return _Listed(
        verb="remove" if content is None else "write ",
        name=change.name,
        kind=_KINDS.get(suffix, _OTHERS),
        offset=int(base[:20]) if base[:20].isdecimal() else 0,
        size=(held or 0) if content is None else content.size + len(content.data),
        held=held,
    )


def _held(files: Files, path: str) -> int | None:
    if not files.exists(path):
        return None
    with closing(files.open(path, read_only=True)) as handle:
        return handle.size()


def _range(same: Sequence[_Listed]) -> str:
    offsets = [one.offset for one in same]
    return f"{_count(len(same), same[0].kind)}, {min(offsets)} … {max(offsets)}"


def _counts(found: Sequence[_Listed]) -> str:
    """All kinds with their numbers; files that are no part of a log by their names."""
    kinds = [one.kind for one in found]
    said = [_count(kinds.count(kind), kind) for kind in (_SEGMENTS, _INDEXES, _CHECKPOINTS) if kind in kinds]
    said += [one.name.rpartition("/")[2] for one in found if one.kind == _OTHERS]
    return ", ".join(said)


def _count(number: int, kind: str) -> str:
    return f"{number} {kind}{'' if number == 1 else 's'}"


def _size(size: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"
