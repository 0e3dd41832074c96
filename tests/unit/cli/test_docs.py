"""Commands, options and kinds of findings that the documents on the toolkit name exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from metadata_log.tools.findings.finding import KINDS
from quorum.cli.main import COMMANDS, run

DOCS = Path(__file__).parents[3] / "docs"
PAGES = (DOCS / "toolkit.md", DOCS / "broken-quorum.md")
NOT_KINDS = {"schema_version", "node_id", "leader_change", "kraft_voters", "not_judged"}


def commands(page: Path) -> list[str]:
    """Every use of a command: in indented examples and between backticks."""
    text = page.read_text()
    examples = re.findall(r"^ {4,}(kraft [^|>\n]*)", text, re.MULTILINE)
    return examples + [used for used in re.findall(r"`(kraft [^`]*)`", text) if used not in ("kraft snapshot",)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_and_option_exists(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = commands(page)
    assert len(found) > 10
    for used in found:
        words = shlex.split(used)[1:]
        assert words[0] in COMMANDS, used
        named = words[:2] if words[0] in ("log", "storage", "snapshot", "features", "quorum") else words[:1]
        assert run([*named, "--help"]) == 0, used
        described = capsys.readouterr().out
        for option in (word for word in words if word.startswith("-")):
            assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", described), used


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_kind_of_finding_exists(page: Path) -> None:
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", page.read_text())) - NOT_KINDS
    assert named <= set(KINDS), named - set(KINDS)
