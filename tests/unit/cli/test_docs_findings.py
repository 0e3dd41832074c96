"""`docs/findings.md` has a line for every kind of finding."""

from __future__ import annotations

import re
from pathlib import Path

from metadata_log.tools.findings.finding import KINDS

PAGE = Path(__file__).parents[3] / "docs" / "findings.md"


def test_every_kind_of_finding_has_its_line() -> None:
    lines = re.findall(r"^\| `(\w+)` \| (\w+) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    due = [(kind.name, kind.severity.value, kind.title) for kind in KINDS.values()]

    lacking = [
        f"| `{name}` | {severity} | {title} |" for name, severity, title in due if (name, severity, title) not in lines
    ]
    assert lacking == [], f"add to docs/findings.md, in the order of kinds.py: {lacking}"
    assert lines == due, "docs/findings.md has other rows than kinds.py, or another order"
