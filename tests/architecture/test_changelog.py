"""The form of `CHANGELOG.md`, and that each break of it is found."""

from __future__ import annotations

import pytest

from tests.architecture.changelog import CHANGELOG, complaints

SOUND = """# Changes

An introduction.

## Unreleased

What it brings.

### Added
- One.

### Fixed
- Two.

## 0.2.0

### Added
- One.

## 0.1.0

### Security
- Three.
"""


def test_the_changelog_has_its_form() -> None:
    assert complaints(CHANGELOG.read_text(encoding="utf-8")) == []


def test_a_sound_one_is_taken() -> None:
    assert complaints(SOUND) == []
    assert complaints(SOUND.replace("- One.", "- " + "word " * 25)) == []


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("- One.", "- " + "word " * 26, "CHANGELOG.md:10: 26 words, at most 25 are allowed"),
        ("- One.", "- One,\n  of two lines.", "CHANGELOG.md:11: an entry has one line, beginning with `- `"),
        ("- One.", "- One.\n- One.", "CHANGELOG.md:11: the same entry as in line 10"),
        ("## Unreleased", "## 0.3.0", "CHANGELOG.md:5: the first release is `Unreleased`, not `0.3.0`"),
        ("## 0.1.0", "## 0.2.0", "CHANGELOG.md:20: `0.2.0` is not older than `0.2.0`"),
        ("## 0.1.0", "## first", "CHANGELOG.md:20: `first` is no version"),
        ("### Fixed", "### Added", "CHANGELOG.md:12: a second section `Added` in one release"),
        (
            "### Added",
            "### Security",
            "CHANGELOG.md:12: `Fixed` is out of order: Added, Changed, Fixed, Removed, Security",
        ),
        (
            "### Fixed",
            "### New",
            "CHANGELOG.md:12: `New` is not one of Added, Changed, Fixed, Removed, Security",
        ),
        ("### Added\n", "", "CHANGELOG.md:9: an entry without a section"),
    ],
)
def test_a_break_of_the_form_is_found(before: str, after: str, said: str) -> None:
    assert complaints(SOUND.replace(before, after, 1)) == [said]
