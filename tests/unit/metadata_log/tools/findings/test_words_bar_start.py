"""Advice says in words that a node must not start if, and only if, its data says so."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import metadata_log
from metadata_log.tools.findings.kinds import KINDS
from metadata_log.tools.findings.remedy import Advice
from tests.support.advice_texts import named_advice

_FORBIDS: Final = re.compile(
    r"(?<!and )\b(do|must) not (re)?start|\b(re)?start (no|neither|nothing|none)\b|\bstart and stop no\b|"
    r"\bbefore (it|the broker|the node) starts\b",
    re.IGNORECASE,
)
"""Not that brokers read a file "and do not start", which is a fact."""
_BARS: Final = re.compile(f"{_FORBIDS.pattern}|does not start|never start both", re.IGNORECASE)
_COMPLETED: Final = {"_WRITER", "OFFSETS", "VOTERS_ID"}
"""Parts of advice, and advice with a placeholder: the completed advice has the data."""
_OF_OTHERS: Final = {
    "_LEADER_WITHOUT_EPOCH",  # of the leader, which the file of another node names
    "LEADER_WITHOUT_EPOCH",
    "leader_without_epoch",
    "NEWER",  # of this version's controllers: those of the release that wrote the log may start
    "_AND_OTHERS",  # of the directories that took over the id; their own advice says what to do first
}
_FACTS: Final = {"newer_release", "torn_tail", "TORN"}
"""Advice to do nothing, which adds where software stops."""
_PACKAGE: Final = Path(metadata_log.__file__).parent


def _forbidding(path: Path) -> Iterator[tuple[str | None, str]]:
    """Yield the name and the text of each forbidding string that is not advice with the data."""
    tree = ast.parse(path.read_text())
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not _FORBIDS.search(node.value):
            continue
        chain = [node, *_chain(above, node)]
        if isinstance(chain[1], ast.Expr) or any(isinstance(one, ast.Call) and _has_data(one) for one in chain):
            continue
        names = [one.target.id for one in chain if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
        yield (names[0] if names else None), node.value


def _chain(above: dict[ast.AST, ast.AST], node: ast.AST) -> Iterator[ast.AST]:
    while node in above:
        node = above[node]
        yield node


def _has_data(call: ast.Call) -> bool:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    return name == "no_start" or (name == "Advice" and any(one.arg == "bars_start" for one in call.keywords))


def test_what_forbids_a_start_has_the_data() -> None:
    found = [
        f"{path.relative_to(_PACKAGE)}: {name}: {text}"
        for path in sorted(_PACKAGE.rglob("*.py"))
        for name, text in _forbidding(path)
        if name not in _COMPLETED | _OF_OTHERS
    ]
    assert found == []


def _every_advice() -> dict[str, Advice]:
    return named_advice() | {kind.name: kind.remedy for kind in KINDS.values()}


@pytest.mark.parametrize(("name", "given"), sorted(_every_advice().items()))
def test_words_and_data_agree(name: str, given: Advice) -> None:
    assert given.bars_start == bool(_BARS.search(given.text)) or name in {*_OF_OTHERS, *_FACTS}
    assert given.bars_start or not given.until_compared
    assert given.bars_start or not given.doubts_vote
