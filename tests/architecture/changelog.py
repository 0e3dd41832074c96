"""The form of `CHANGELOG.md`: run `python tests/architecture/changelog.py` to see each line that breaks it.

Releases are `## Unreleased` and `## VERSION`, newest first. Each has sections of known names in a fixed order, and each
entry is one line of at most 25 words. `docs/english.md` has the rule.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

CHANGELOG: Final = Path(__file__).resolve().parents[2] / "CHANGELOG.md"
SECTIONS: Final = ("Added", "Changed", "Fixed", "Removed", "Security")
MOST_WORDS: Final = 25

_VERSION: Final = re.compile(r"\d+\.\d+\.\d+")


def complaints(text: str) -> list[str]:
    """Return what is wrong with the form of a changelog, a line each."""
    return [f"CHANGELOG.md:{number}: {what}" for number, what in _wrong(text)]


def _wrong(text: str) -> Iterator[tuple[int, str]]:
    releases: list[str] = []
    sections: list[str] = []
    entries: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("## "):
            yield from ((number, what) for what in _release_complaints(line[3:], releases))
            releases.append(line[3:])
            sections, entries = [], {}
        elif line.startswith("### "):
            yield from ((number, what) for what in _section_complaints(line[4:], sections))
            sections.append(line[4:])
        elif line.startswith("- "):
            yield from ((number, what) for what in _entry_complaints(line[2:], sections, entries))
            entries[line] = number
        elif sections and line.strip():
            yield number, "an entry has one line, beginning with `- `"


def _release_complaints(name: str, before: list[str]) -> Iterator[str]:
    """Yield what is wrong with the heading of a release that follows the releases `before`."""
    if not before and name != "Unreleased":
        yield f"the first release is `Unreleased`, not `{name}`"
    if before and not _VERSION.fullmatch(name):
        yield f"`{name}` is no version"
    elif len(before) > 1 and _numbers(name) >= _numbers(before[-1]):
        yield f"`{name}` is not older than `{before[-1]}`"


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


def _section_complaints(name: str, before: list[str]) -> Iterator[str]:
    """Yield what is wrong with the heading of a section that follows the sections `before` of its release."""
    if name not in SECTIONS:
        yield f"`{name}` is not one of {', '.join(SECTIONS)}"
    elif name in before:
        yield f"a second section `{name}` in one release"
    elif any(SECTIONS.index(name) < SECTIONS.index(one) for one in before if one in SECTIONS):
        yield f"`{name}` is out of order: {', '.join(SECTIONS)}"


def _entry_complaints(entry: str, sections: list[str], before: dict[str, int]) -> Iterator[str]:
    """Yield each complaint about an entry after the entries `before` of its release."""
    words = len(entry.split())
    if words > MOST_WORDS:
        yield f"{words} words, at most {MOST_WORDS} are allowed"
    if not sections:
        yield "an entry without a section"
    if f"- {entry}" in before:
        yield f"the same entry as in line {before[f'- {entry}']}"


def main() -> int:
    """Print the complaints about the changelog."""
    found = complaints(CHANGELOG.read_text(encoding="utf-8"))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
