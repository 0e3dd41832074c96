"""Markdown pages, and the paths of this repository that they name.

A word names a path if it is code (between backticks, outside of fenced blocks) and one of these holds:

1. It has a slash, and its first component is a folder of `TOPS`, or a folder of `quorum` or `metadata_log`:
   `tests/interop/`, `quorum/raft/outbox.py`, `raft/outbox`. `.py` may be left out. A star matches any text.
2. It ends in `.py`, `.md` or `.proto`: a file of this name exists somewhere.
3. It starts with a package and a dot: `quorum.raft.outbox`, `quorum.client.Admin`.
4. A table of the page has it in a column called `file`, `module` or `where`. A cell that begins with a word and a
   colon has none (`brokers: ...`).
5. It is in the parentheses behind a heading or behind bold words that open a paragraph.

Behind a module a name may follow, which the module then defines: `raft/log_state.proven_offset`. Other words with a
slash are no paths of the repository: `/etc/kraft`, `deleting/{topic_id}_{partition}`, `copies/broker-11`.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Final

TOPS: Final = (
    ".ci",
    "benchmarks",
    "broker_agent",
    "deploy",
    "docs",
    "kraft",
    "metadata_log",
    "proto",
    "quorum",
    "tests",
)
"""The folders at the top. Others, such as `demo-out`, are made by commands."""
PACKAGES: Final = ("broker_agent", "metadata_log", "quorum")
_DOTTED: Final = (*PACKAGES, "benchmarks", "tests")
_TRANSCRIPTS: Final = "tests/unit/raft/transcripts"
_SUFFIXES: Final = (".py", ".md", ".proto")
_COLUMNS: Final = ("file", "module", "where")
_FENCE: Final = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
_CODE: Final = re.compile(r"`([^`]+)`")
_LINK: Final = re.compile(r"\]\(([^()\s]+)\)")
_LEAD: Final = re.compile(r"^(?:#+ .*|(?:\d+\. )?\*\*[^*\n]+\*\*) \(([^()]*`[^()]*)\)", re.MULTILINE)
_PATH: Final = re.compile(r"[\w.*/-]+")


class Repository:
    """The files of a checkout."""

    def __init__(self, root: Path) -> None:
        self.root: Final = root

    @cached_property
    def files(self) -> frozenset[str]:
        """The files below `TOPS`, and those at the top, as paths from the root."""
        found = {entry.name for entry in self.root.iterdir() if entry.is_file()}
        for top in TOPS:
            for folder, folders, names in os.walk(self.root / top):
                folders[:] = [name for name in folders if name != "__pycache__"]
                found.update((Path(folder) / name).relative_to(self.root).as_posix() for name in names)
        return frozenset(found)

    @cached_property
    def folders(self) -> frozenset[str]:
        """The folders that hold a file, at any depth."""
        return frozenset(str(parent) for file in self.files for parent in Path(file).parents)

    @cached_property
    def anchors(self) -> dict[str, tuple[str, ...]]:
        """The folders from which a path may be written, by the first component of the path."""
        found: dict[str, tuple[str, ...]] = dict.fromkeys(TOPS, ("",))
        for package in ("quorum", "metadata_log"):
            for folder in self.folders:
                parent, _, name = folder.rpartition("/")
                if parent == package:
                    found[name] = (*found.get(name, ()), f"{package}/")
        found["transcripts"] = (_TRANSCRIPTS.removesuffix("transcripts"),)
        return found

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(file.rpartition("/")[2] for file in self.files)

    def pages(self) -> list[str]:
        """Return the Markdown pages, as paths from the root."""
        return sorted(file for file in self.files if file.endswith(".md"))

    def missing(self, page: str, text: str) -> list[str]:
        """Return the paths and link targets on a page that lead nowhere."""
        prose = _FENCE.sub("", text)
        must = set(_words(" ".join(_LEAD.findall(prose)))) | set(_in_columns(prose))
        words = [word for word in _words(prose) if word in must or self._names_path(word)]
        own = page.rpartition("/")[0]
        absent = [word for word in dict.fromkeys(words) if not self._leads_somewhere(word, own)]
        targets = dict.fromkeys(_LINK.findall(prose))
        return absent + [target for target in targets if not self._has_target(page, target)]

    def _names_path(self, word: str) -> bool:
        first, slash, _ = word.partition("/")
        return (bool(slash) and first in self.anchors) or word.endswith(_SUFFIXES) or _is_dotted(word)

    def _leads_somewhere(self, word: str, own: str) -> bool:
        if "/" not in word and _is_dotted(word):
            return self._has_name(word.replace(".", "/"))
        path = word.rstrip("/")
        if "/" not in word:
            return fnmatch_any(self._names, path)
        starts = self.anchors.get(path.partition("/")[0], ())
        return any(self._has_member(start + path) for start in (*starts, f"{own}/"))

    def _has_member(self, path: str) -> bool:
        """Return True if this is a file, a folder, a module, or a module and a name in it or in one of its classes."""
        if self.has(path):
            return True
        module, _, name = path.rpartition(".")
        if f"{module}.py" not in self.files:
            return False
        return name in {defined.rpartition(".")[2] for defined in self.definitions(f"{module}.py")}

    def has(self, path: str) -> bool:
        """Return True if this is a file, a folder, or a module without its suffix."""
        found = path in self.files or path in self.folders or f"{path}.py" in self.files
        return found or ("*" in path and fnmatch_any(self.files, path))

    def _has_name(self, path: str) -> bool:
        """Return True if `path` is a package, a module, or a name that the longest module in it defines."""
        if self.has(path):
            return True
        module, _, name = path.rpartition("/")
        for file in (f"{module}.py", f"{module}/__init__.py"):
            if file in self.files:
                return name in self.definitions(file)
        return False

    def definitions(self, file: str) -> set[str]:
        """Return the names that a module defines or imports, and `Class.method` of its classes."""
        found: set[str] = set()
        for node in ast.parse((self.root / file).read_text()).body:
            found |= _names_of(node)
            if isinstance(node, ast.ClassDef):
                found |= {f"{node.name}.{name}" for child in node.body for name in _names_of(child)}
        return found

    def _has_target(self, page: str, target: str) -> bool:
        if "://" in target:
            return True
        path, _, anchor = target.partition("#")
        aim = os.path.normpath(f"{page.rpartition('/')[0]}/{path}").lstrip("/") if path else page
        if aim not in self.files and aim not in self.folders:
            return False
        return not anchor or anchor in _anchors((self.root / aim).read_text())


def fnmatch_any(names: frozenset[str], pattern: str) -> bool:
    """Return True if a name matches the pattern, in which a star matches any text."""
    return pattern in names or ("*" in pattern and any(fnmatchcase(name, pattern) for name in names))


def _words(text: str) -> Iterator[str]:
    """Yield the words of code that may be paths, each without what follows `::` and a line number."""
    for code in _CODE.findall(text):
        for word in code.split():
            path = word.partition("::")[0].strip("(),;:'\"").rstrip(".")
            if _PATH.fullmatch(path):
                yield path


def _is_dotted(word: str) -> bool:
    return re.fullmatch(rf"({'|'.join(_DOTTED)})(\.\w+)+", word) is not None


def _in_columns(text: str) -> Iterator[str]:
    """Yield the words of code in the columns of tables that `_COLUMNS` names."""
    named: list[int] = []
    before = ""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("|") else []
        if cells and not before.startswith("|"):
            named = [number for number, cell in enumerate(cells) if cell.strip("| ") in _COLUMNS]
        elif cells:
            for number in named:
                if number < len(cells) and not re.match(r"\w+:", cells[number]):
                    yield from _words(cells[number])
        before = line


def _names_of(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name for alias in node.names}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", _FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
