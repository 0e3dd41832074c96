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
    "metadata_log/tools": {
        *("Told", "told", "_told", "told_node_id", "Quiet", "Parting", "with_second_look", "kindred", "kindred_groups"),
        *("aliens", "without_alien_checkpoints", "Brought", "BroughtDirectories", "GoneConfigs", "loose_configs"),
    },
    "metadata_log/analysis": {"Told", "told", "_told", "Quiet", "Parting", "aliens", "kindred"},
    "quorum/recovery": {
        *("Told", "told", "_told", "told_of", "told_repairs", "told_unfinished", "with_told", "told_by", "Silent"),
        *(
            "silent_ones",
            "Survey",
            "survey",
            "speaks",
            "mute_voters",
            "Excess",
            "excess",
            "_excess",
            "Gone",
            "LetGo",
            "let_go_by",
        ),
        *("_let_go", "_was_let_go", "Outlook", "Heard", "Answer", "Rivals", "rivals_of", "heed_rivals"),
        *("refuse_rivals", "told_of_clone", "told_of_stale", "all_there"),
    },
    "broker_agent": {"Told", "told", "AgentDoor", "Caller", "Gate"},
}
"""Package → old names of functions, classes, parameters, variables and attributes."""


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


OLD_MODULES = {
    *("told", "speakers", "outlook", "kept_elsewhere", "let_go", "once_held", "leavings", "beside", "homes"),
    *("excess", "rivals", "electorate", "related", "inspect", "loneliness", "serving", "parking"),
    *("following", "voter_asks", "gate", "settle", "several", "verify_passed", "verify_reach", "one_moment"),
    *("settled", "kindred", "second_look", "alien_logs", "left_configs", "brought_directories", "doors"),
}
"""Names of modules before the glossary."""


@pytest.mark.parametrize("package", OLD_NAMES)
def test_no_module_has_an_old_name(package: str) -> None:
    found = {path.relative_to(ROOT) for path in (ROOT / package).rglob("*.py") if path.stem in OLD_MODULES}
    assert not found


def _definitions(tree: ast.Module) -> Iterator[str]:
    """Yield the names of functions, classes, parameters, and of annotated or assigned variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr
