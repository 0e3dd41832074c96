"""Paths with `*`, `?`, `[a-c]` and `{one,two}` in them, as in Kafka's metadata shell.

Decides: which names match a pattern. Must not know: commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import translate
from itertools import product
from typing import Final

from metadata_log.tools.shell.image_tree import Node
from metadata_log.tools.shell.names import NoSuchPathError, node_at, parts_of

_SIGNS: Final = re.compile(r"[*?\[{]")
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_MOST_BRACES: Final = 4
"""Each pair of braces multiplies the patterns. A name with more pairs is taken literally."""


def expanded(root: Node, path: str, current: tuple[str, ...] = ()) -> list[str]:
    """Return the paths that match `path`, sorted by name on each level, or `path` itself if it has no pattern.

    An existing name is taken literally before it is taken as a pattern: a user may be called `*`.

    Raises:
        NoSuchPathError: no path matches.
    """
    if not _SIGNS.search(path):
        return [path]
    found = ["/" if path.startswith("/") else ""]
    is_sure = True
    for name in filter(None, path.split("/")):
        is_sure = is_sure and not _SIGNS.search(name)  # after a pattern, a literal name must exist to match
        if not is_sure:
            found = [f"{at}{fit}/" for at in found for fit in _fitting(root, at, name, current)]
        else:
            found = [f"{at}{name}/" for at in found]
    if not found:
        raise NoSuchPathError(f"nothing fits {path}")
    return [at.rstrip("/") for at in found]


def _fitting(root: Node, at: str, name: str, current: tuple[str, ...]) -> Iterator[str]:
    """Yield the names in the directory `at` that match one part of a path."""
    if name in (".", ".."):
        yield name
        return
    try:
        node = node_at(root, parts_of(at or ".", current))
    except NoSuchPathError:
        return
    if isinstance(node, str):
        return
    if name in node:
        yield name
    elif _SIGNS.search(name):
        fits = re.compile("|".join(map(translate, _without_braces(name)))).match
        yield from (child for child in sorted(node) if fits(child))


def _without_braces(pattern: str) -> list[str]:
    """Return the patterns without braces: `abd` and `acd` for `a{b,c}d`."""
    parts = _BRACES.split(pattern)
    if len(parts) == 1 or len(parts) > 2 * _MOST_BRACES + 1:
        return [pattern]
    choices = [part.split(",") if index % 2 else [part] for index, part in enumerate(parts)]
    return ["".join(chosen) for chosen in product(*choices)]
