"""Every path that a document names exists.

A document names a path in a link's target, or in backticks. A word in backticks is a path of this repository if
 - it has a slash and begins with a top folder, or with a folder of `quorum` or `metadata_log`: `node/core/gate`,
   `tests/unit/`, `quorum/raft/outbox.py`, `raft/replication.successors` (a name in that file);
 - it is dotted and begins with a package: `quorum.raft.outbox`, `metadata_log.reconcile`;
 - it is the name of a source: `outbox.py`, `quorum.proto`.
Code blocks are left out, and with them the transcripts of runbooks; so are `docs/english.md`, which shows old places,
and the changelog.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("quorum", "metadata_log", "broker_agent")
TOPS = (*PACKAGES, "proto", "tests", "deploy", "docs", "benchmarks")
APART = {ROOT / "CHANGELOG.md", ROOT / "docs" / "english.md"}
SOURCE = re.compile(r"[\w-]+\.(?:py|proto|go|css)")
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)+/?")
DOTTED = re.compile(rf"(?:{'|'.join((*PACKAGES, 'tests', 'benchmarks'))})(?:\.[A-Za-z_]\w*)+")


def documents() -> list[Path]:
    """Return every Markdown file of the repository that is checked."""
    found = [*ROOT.glob("*.md"), *(path for top in TOPS for path in (ROOT / top).rglob("*.md"))]
    return sorted(path for path in found if path not in APART and "fixtures" not in path.parts)


def complaints(document: Path, text: str) -> list[str]:
    """Return each path that the text names in vain, as `document` would hold it."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    words = [word for word in re.findall(r"`([^`\n]+)`", prose) if not _exists(word)]
    targets = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose))
    return [*words, *(target for target in targets if not _is_reached(document, target, text))]


def _exists(word: str) -> bool:
    """Return False if the word is a path of this repository that does not exist."""
    if SOURCE.fullmatch(word):
        return word in _source_names()
    if DOTTED.fullmatch(word):
        return _is_module(word.replace(".", "/"))
    first = word.partition("/")[0]
    if not PATH.fullmatch(word) or first not in _first_folders():
        return True
    return any((base / word).exists() or _is_module(f"{base.relative_to(ROOT)}/{word}") for base in _bases(first))


def _bases(first: str) -> list[Path]:
    below = [ROOT / package for package in ("quorum", "metadata_log") if (ROOT / package / first).is_dir()]
    return [ROOT, *below] if first in TOPS else below


def _is_module(path: str) -> bool:
    """Return True if this is a module or package, or a module followed by a name that it defines."""
    file = ROOT / f"{path}.py"
    if file.is_file() or (ROOT / path / "__init__.py").is_file() or (ROOT / path).is_dir():
        return True
    head, separator, name = re.sub(r"\.(?=\w+$)", "/", path).rpartition("/")
    holders = (ROOT / f"{head}.py", ROOT / head / "__init__.py")
    return bool(separator) and any(holder.is_file() and name in _names(holder) for holder in holders)


@cache
def _names(file: Path) -> frozenset[str]:
    """Return every name that a file defines or imports, those in classes, too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
    return frozenset(found)


@cache
def _source_names() -> frozenset[str]:
    every = (path for top in TOPS for path in (ROOT / top).rglob("*"))
    return frozenset(path.name for path in every if SOURCE.fullmatch(path.name))


@cache
def _first_folders() -> frozenset[str]:
    below = (path for package in ("quorum", "metadata_log") for path in (ROOT / package).iterdir())
    return frozenset({*TOPS, *(path.name for path in below if (path / "__init__.py").is_file())})


def _is_reached(document: Path, target: str, text: str) -> bool:
    if re.match(r"[a-z]+:", target):
        return True
    path, _, anchor = target.partition("#")
    file = (document.parent / path).resolve() if path else document
    if not file.exists():
        return False
    held = text if file == document else file.read_text() if file.suffix == ".md" else ""
    return not anchor or anchor in set(_anchors(held))


def _anchors(text: str) -> Iterator[str]:
    for heading in re.findall(r"^#+ +(.+)$", text, re.MULTILINE):
        words = re.sub(r"[^\w\s-]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower())
        yield words.strip().replace(" ", "-")


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_path_in_a_document_exists(document: Path) -> None:
    assert complaints(document, document.read_text()) == []


def test_the_pages_that_matter_are_looked_at() -> None:
    names = {str(path.relative_to(ROOT)) for path in documents()}
    assert {"README.md", "CONTRIBUTING.md", "quorum/DESIGN.md", "metadata_log/FORMAT.md", "docs/toolkit.md"} <= names


@pytest.mark.parametrize(
    "word",
    [
        "raft/ballots", "quorum/raft/ballots.py", "node/backlog", "transport/convert", "metadata_log/file_log",
        "quorum.recovery.told", "metadata_log.tools.verify_reach", "ballots.py", "tests/unit/none/",
        "raft/replication.none", "quorum/raft/outbox.txt",
    ],
)  # fmt: skip
def test_a_path_that_does_not_exist_is_found(word: str) -> None:
    assert complaints(ROOT / "README.md", f"See `{word}`, please.") == [word]


@pytest.mark.parametrize("target", ["docs/none.md", "quorum/DESIGN.md#none", "#none"])
def test_a_link_that_leads_nowhere_is_found(target: str) -> None:
    assert complaints(ROOT / "README.md", f"# Here\n\nSee [it]({target}).") == [target]


@pytest.mark.parametrize(
    "word",
    [
        "raft/outbox", "quorum/raft/outbox.py", "node/core/", "outbox.py", "quorum.raft.outbox", "quorum.proto",
        "raft/replication.successors", "quorum.raft.outbox.Outbox", "deleting/{topic_id}_{partition}", "and/or",
        "__cluster_metadata-0/quorum-state", "/etc/kraft/controller.properties", "controller.quorum.voters",
    ],
)  # fmt: skip
def test_a_path_that_exists_and_what_is_no_path_pass(word: str) -> None:
    assert complaints(ROOT / "README.md", f"# Here\n\nSee `{word}` and [it](docs/toolkit.md) [there](#here).") == []


def test_code_blocks_are_left_out() -> None:
    assert complaints(ROOT / "README.md", "```\n`raft/ballots`\n```\n") == []
