"""Documents against the tree: every path, module and link that a page names exists.

`tests/support/documents.py` defines which words of a page name a path. Fenced blocks are left out: they hold
transcripts and file formats. Two whole pages are left out: `docs/english.md` quotes old sentences with their places,
`CHANGELOG.md` names files as they were.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.documents import Repository

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = Repository(ROOT)
LEFT_OUT = {"CHANGELOG.md", "docs/english.md"}
PAGES = [page for page in REPOSITORY.pages() if page not in LEFT_OUT]
DESIGN = "quorum/DESIGN.md"


@pytest.mark.parametrize("page", PAGES)
def test_every_path_that_a_page_names_exists(page: str) -> None:
    assert REPOSITORY.missing(page, (ROOT / page).read_text()) == []


def test_all_pages_are_looked_at() -> None:
    assert {"README.md", "CONTRIBUTING.md", DESIGN, "metadata_log/FORMAT.md", "docs/toolkit.md"} <= set(PAGES)
    assert len(PAGES) > 20


@pytest.mark.parametrize(
    "word",
    [
        "quorum/node/backlog.py",
        "node/backlog",
        "tests/unit/raft/test_nothing.py",
        "docs/nothing.md",
        "parking.py",
        "quorum.raft.peers",
        "quorum.raft.outbox.Inbox",
        "raft/outbox.Inbox",
        "tools/verify_pass",
        "proto/kraft/v2/*.proto",
        "transcripts/nothing.txt",
        "quorum/raft/nothing/",
    ],
)
def test_a_path_that_is_not_there_is_found(word: str) -> None:
    assert REPOSITORY.missing(DESIGN, f"The leader (`{word}`) replicates.") == [word]


@pytest.mark.parametrize(
    "word",
    [
        "quorum/raft/outbox.py",
        "raft/outbox",
        "raft/outbox.Outbox",
        "quorum.raft.outbox.Outbox",
        "quorum.client.Admin",
        "tests/interop/",
        "quorum/",
        "SCENARIOS.md",
        "proto/kraft/v1/*.proto",
        "tests/architecture/test_paths_in_documents.py::test_fenced_blocks_are_left_out",
    ],
)
def test_a_path_that_is_there_is_not(word: str) -> None:
    assert REPOSITORY.missing(DESIGN, f"The leader (`{word}`) replicates.") == []


@pytest.mark.parametrize(
    "word",
    [
        "/etc/kraft/controller.properties",
        "deleting/{topic_id}_{partition}",
        "__cluster_metadata-0/partition.metadata",
        "demo-out/*/node.properties",
        "controller.quorum.voters",
        "CONTROLLER://host1:9093",
        "read/write",
    ],
)
def test_other_words_with_slashes_and_dots_name_no_path(word: str) -> None:
    assert REPOSITORY.missing(DESIGN, f"The leader (`{word}`) replicates.") == []


def test_a_row_names_files() -> None:
    for column in ("file", "module", "where"):
        table = f"| {column} | decides |\n|---|---|\n| `parking`, `raft/outbox` | `epoch` |\n"
        assert REPOSITORY.missing(DESIGN, table) == ["parking"]
    table = "| step | where |\n|---|---|\n| `epoch` | `raft/peers` |\n| moved | brokers: `kafka-topics` |\n"
    assert REPOSITORY.missing(DESIGN, table) == ["raft/peers"]


def test_parentheses_behind_a_heading_or_bold_words_name_modules() -> None:
    page = "## Segments (`segment`, `storage/segment`)\n\n**Lost.** A (`word`).\n\n**Lost** (`excess`). A (`word`).\n"
    assert REPOSITORY.missing("metadata_log/FORMAT.md", page) == ["segment", "excess"]


def test_a_link_leads_to_a_file_and_its_heading() -> None:
    page = (
        "[a](SCENARIOS.md) [b](SCENARIOS.md#kafkaraftclienttest) [c](https://kafka.apache.org/x) [d](#here)\n\n# Here\n"
    )
    assert REPOSITORY.missing(DESIGN, page) == ["#here"]
    assert REPOSITORY.missing(DESIGN, "[a](NOTHING.md) [b](SCENARIOS.md#nothing)") == [
        "NOTHING.md",
        "SCENARIOS.md#nothing",
    ]


def test_fenced_blocks_are_left_out() -> None:
    assert REPOSITORY.missing(DESIGN, "```\n`quorum/nothing.py`\n```\n`quorum/other.py`\n") == ["quorum/other.py"]


def test_every_section_of_the_design_page_that_a_source_names_exists() -> None:
    sections = set(re.findall(r"^#+ ([\d.]*\d)\.? ", (ROOT / DESIGN).read_text(), re.MULTILINE))
    sources = [
        path for top in ("quorum", "metadata_log", "broker_agent", "tests") for path in (ROOT / top).rglob("*.py")
    ]
    named = {
        number for path in sources for number in re.findall(r"\bDESIGN(?:\.md)? (\d[\d.]*\d|\d)", path.read_text())
    }
    assert len(named) > 5
    assert named - sections == set()
