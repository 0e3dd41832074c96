"""`docs/kip-516.md` and `docs/kip-4.md` against the tree: every file and every test that they name is there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "docs" / "kip-516.md", ROOT / "docs" / "kip-4.md")
DISAGREEMENTS = "Where they disagree"
NOT_OURS = ("moot: ", "unclaimed: ")
BROKERS = "brokers: "
DIFFERS = "differs: "
"""What we do instead, after the name of the line that the list of disagreements has for it."""
FOLLOWED = ("the paper's", "brokers' own", "none")
"""The last cell of a line begins so if the paper is followed, or the line is about brokers alone."""
_TEST = re.compile(r"^(?: {4})?def (test_\w+)", re.MULTILINE)
_SKIPPING = {"skip", "skipif", "xfail", "importorskip"}


def _rows(page: Path) -> Iterator[tuple[str, str, str]]:
    """The paper's word, where, shown by: of every table but the one of disagreements."""
    for part in page.read_text().split("\n## ")[1:]:
        heading, _, body = part.partition("\n")
        if heading != DISAGREEMENTS:
            lines = [line for line in body.splitlines() if line.startswith("| ")]
            assert lines, heading
            for line in lines[1:]:
                cells = [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]
                assert len(cells) == 3, line
                yield cells[0], cells[1], cells[2]


def _named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@cache
def _tests() -> dict[str, tuple[Path, set[str]]]:
    """Return the file and the tests of each module, those in classes too."""
    found: dict[str, tuple[Path, set[str]]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        assert path.stem not in found, f"two modules are called {path.stem}"
        found[path.stem] = (path, set(_TEST.findall(path.read_text())))
    return found


@cache
def _may_skip(path: Path) -> bool:
    tree = ast.parse(path.read_text())
    return any(isinstance(node, ast.Attribute) and node.attr in _SKIPPING for node in ast.walk(tree))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_row_says_where_and_what_shows_it_or_why_there_is_nothing(page: Path) -> None:
    rows = list(_rows(page))
    assert len(rows) > 20
    for said, where, shown in rows:
        assert said, where
        if where.startswith(NOT_OURS):
            assert len(where.partition(": ")[2]) > 4, said
            assert not shown, said
        else:
            assert shown, said
            assert where.startswith(BROKERS) or _named(where), said
            assert all("::" in name for name in _named(shown)), said


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_file_and_test_that_is_named_is_there_and_runs(page: Path) -> None:
    tests = _tests()
    for said, where, shown in _rows(page):
        if not where.startswith((*NOT_OURS, BROKERS)):
            files = [name for name in _named(where) if "/" in name]
            assert files, said
            assert [name for name in files if not (ROOT / name).is_file()] == [], said
        for name in _named(shown):
            module, _, function = name.partition("::")
            assert module in tests, name
            path, functions = tests[module]
            assert function in functions, name
            assert not _may_skip(path), f"{path} may skip a test, so that {name} may not be run"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_disagreement_says_what_is_done_here(page: Path) -> None:
    lines = page.read_text().split(f"\n## {DISAGREEMENTS}\n")[1].splitlines()
    rows = [line.removeprefix("|").removesuffix("|").split("|") for line in lines if line.startswith("| ")]
    assert len(rows) > 5
    for row in rows:
        assert len(row) == 5, row
        assert row[0].strip(), row
        assert row[4].strip(), row


def _disagreements(page: Path) -> dict[str, tuple[str, str]]:
    """Return the paper's rule and ours in each line of the list, by the line's name."""
    lines = page.read_text().split(f"\n## {DISAGREEMENTS}\n")[1].splitlines()
    rows = [line.removeprefix("|").removesuffix("|").split("|") for line in lines if line.startswith("| ")]
    return {row[0].strip(): (row[1].strip(), row[4].strip()) for row in rows[1:]}


def _lines_to_tell(page: Path) -> set[str]:
    """Return the lines in which our rule is not the paper's."""
    return {
        name
        for name, (paper, here) in _disagreements(page).items()
        if paper and here != paper and not here.startswith(FOLLOWED)
    }


def _where_we_differ(page: Path) -> list[tuple[str, str]]:
    """(the line that a row names, the paper's word)."""
    rows = [(said, where.removeprefix(DIFFERS)) for said, where, _ in _rows(page) if where.startswith(DIFFERS)]
    return [(where.partition(": ")[0], said) for said, where in rows]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_where_we_differ_the_list_of_disagreements_has_a_line(page: Path) -> None:
    known = _disagreements(page)
    assert [said for line, said in _where_we_differ(page) if line not in known] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_line_in_which_the_paper_is_not_followed_has_a_row_that_says_so(page: Path) -> None:
    assert len(_lines_to_tell(page)) > 5
    assert _lines_to_tell(page) - {line for line, _ in _where_we_differ(page)} == set()


def _errors_named_in(module: str) -> set[str]:
    """Return each X of `Error.X` in a file."""
    tree = ast.parse((ROOT / module).read_text())
    attributes = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == "Error"}


@pytest.mark.parametrize(
    ("request_", "modules", "by_authorize"),
    [
        ("CreateTopics", ("create_topics", "new_topic"), ""),
        ("DeleteTopics", ("delete_topics", "too_large"), ""),
        ("CreatePartitions", ("create_partitions", "new_topic"), ""),
        ("AlterPartitionReassignments", ("alter_partition_reassignments",), "CLUSTER_AUTHORIZATION_FAILED"),
        ("ElectLeaders", ("elect_leaders", "too_large"), "CLUSTER_AUTHORIZATION_FAILED"),
    ],
)
def test_each_error_that_a_request_may_be_answered_with_has_its_row(
    request_: str, modules: tuple[str, ...], by_authorize: str
) -> None:
    said = (row[0].partition(":")[0].split() for row in _rows(PAGES[1]))
    listed = {words[1] for words in said if len(words) == 2 and words[0] == request_}
    of_any = {"NOT_CONTROLLER", "REQUEST_TIMED_OUT", "RECORD_LIST_TOO_LARGE", by_authorize}
    named = (_errors_named_in(f"quorum/controller/handlers/{module}.py") for module in modules)
    assert listed == set().union(of_any, *named) - {"NONE", ""}


def test_what_a_page_names_is_also_what_it_links_to() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([\w.-]+\.md)\)", page.read_text()):
            assert (page.parent / target).is_file(), target
        for name in re.findall(r"`(tests/[^`]+)`", page.read_text()):
            assert (ROOT / name).is_file(), name
