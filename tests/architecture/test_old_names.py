"""Names that the glossary has replaced stay out of the definitions of these packages."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OLD_NAMES = {
    "quorum/raft": {
        *("told_leader", "News", "learn", "learn_leader", "Standing", "told_voters", "alone_since_ms", "is_alone_told"),
        *("may_stand", "patience_ms", "turn_ms", "become_doubting_follower", "become_unattached", "become_voted"),
        *("become_follower", "become_prospective", "become_candidate", "become_leader", "become_resigned"),
        *("_turn_away", "turn_back", "_send_back", "tell_high_watermark", "awaited", "Shut"),
    },
    "quorum/controller": {"Refused"},
    "quorum/node": {"Refused", "Doors", "Gate", "gate", "gate_type", "Unproven", "UnprovenAnswers"},
    "quorum/server": {"Refused", "Caller", "KafkaDoor", "ControllerDoor", "QuorumDoor", "_SPELT", "TellsLeader"},
    "quorum/client": {"Told", "Caller"},
    "quorum/cli": {"Told", "told_of"},
    "quorum/transport": {"Told"},
    "quorum/api": {"only_if_silent"},
}
"""Package → old names of functions, classes and attributes."""


@pytest.mark.parametrize("package", OLD_NAMES)
def test_no_definition_has_an_old_name(package: str) -> None:
    """A definition may have its old name back only if the glossary says so."""
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in (ROOT / package).rglob("*.py")
        for name in _definitions(ast.parse(path.read_text(encoding="utf-8")))
        if name in OLD_NAMES[package]
    }
    assert not found


def _definitions(tree: ast.Module) -> Iterator[str]:
    """Yield the names of functions, classes, and of annotated or assigned variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr
