"""The Markdown pages: links, readers and the index, and that each break is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.pages import INDEX, ROOT, anchors, complaints, pages

READER = "# One\n\nFor operators: what is this?\n"
SOUND = {
    INDEX: "# Index\n\nFor readers: where?\n\n## Operate\n- [one](one.md): it.\n  - [two](runs/two.md): it.\n"
    "## Repair\n## Understand\n## Change\n",
    "docs/one.md": READER + "[two](runs/two.md#a-b-c) [here](#one) [folder](runs) [out](https://one.example/none.md)\n",
    "docs/runs/two.md": READER + "\n## A `b`: c\n\n[up](../one.md)\n",
    "outside.md": "No reader. [one](docs/one.md)\n\n```\n[a](none.md)\n```\n\n    [b](none.md)\n\n`[c](none.md)`\n",
}


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A checkout with the sound pages."""
    for name, text in SOUND.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_every_page_is_sound() -> None:
    found = pages(ROOT)
    assert {"README.md", "CHANGELOG.md", INDEX, "docs/runbooks/cloned-volume.md", "quorum/DESIGN.md"} <= set(found)
    assert complaints(ROOT, found) == []


def test_sound_pages_are_taken(planted: Path) -> None:
    (planted / ".hidden").mkdir()
    (planted / ".hidden" / "page.md").write_text("[a](none.md)")
    assert pages(planted) == SOUND
    assert complaints(planted, SOUND) == []


@pytest.mark.parametrize(
    ("page", "before", "after", "said"),
    [
        ("outside.md", "docs/one.md", "docs/none.md", "outside.md: the link docs/none.md leads nowhere"),
        ("outside.md", "docs/one.md", "../../etc", "outside.md: the link ../../etc leads nowhere"),
        ("docs/one.md", "#a-b-c", "#a-b", "docs/one.md: the link runs/two.md#a-b leads nowhere"),
        ("docs/one.md", "#one", "#two", "docs/one.md: the link #two leads nowhere"),
        ("docs/one.md", "(runs)", "(runs#one)", "docs/one.md: the link runs#one leads nowhere"),
        ("docs/one.md", "[here]", "\n[none]: none.md\n[here]", "docs/one.md: the link none.md leads nowhere"),
        (
            "docs/one.md",
            "For operators: what is this?",
            "This page is for operators.",
            "docs/one.md:3: name the page's reader: `For READER: QUESTION?`",
        ),
        ("docs/one.md", "what is", "what " + "very " * 25, "docs/one.md:3: 29 words, at most 25 are allowed"),
        ("docs/runs/two.md", "# One\n\n", "# One\n", "docs/runs/two.md: it begins with a title and a blank line"),
        (
            INDEX,
            "- [one](one.md): it.",
            "[one](one.md)",
            "docs/README.md: docs/one.md needs a row, `- [one.md](one.md): what it has`",
        ),
        (INDEX, "## Repair\n", "", "docs/README.md: its sections are Operate, Repair, Understand, Change"),
    ],
)
def test_a_break_is_found(planted: Path, page: str, before: str, after: str, said: str) -> None:
    assert before in SOUND[page]
    assert complaints(planted, {**SOUND, page: SOUND[page].replace(before, after, 1)}) == [said]


def test_a_second_heading_of_one_name_has_a_number() -> None:
    assert anchors("# A b\n## A b\n### [C](x.md) d_e\n# A b\n```\n# none\n```\n") == {"a-b", "a-b-1", "a-b-2", "c-d_e"}
