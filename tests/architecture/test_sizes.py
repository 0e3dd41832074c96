"""The budget of sizes in `sizes.json`, and that a file, a function or a fragment over it is found."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from tests.architecture.sizes import BUDGET, Source, complaints, sources

NOTHING: dict[str, dict[str, str]] = {"files": {}, "functions": {}, "fragments": {}}


def _source(name: str, text: str) -> Source:
    return Source(name, name.removesuffix(".py").replace("/", "."), text, ast.parse(text))


@pytest.fixture(scope="module")
def product() -> list[Source]:
    return sources()


def test_every_size_is_within_the_budget(product: list[Source]) -> None:
    assert complaints(product, json.loads(BUDGET.read_text())) == []


def test_every_file_is_looked_at(product: list[Source]) -> None:
    names = {source.name for source in product}
    assert {"quorum/raft/machine.py", "metadata_log/format/batch.py", "broker_agent/main.py"} <= names
    assert "metadata_log/records/codec.py" not in names


FUNCTION = "def f():\n" + "    x = 1\n" * 50
DEEP = "def f():\n" + "".join("    " * depth + "if x:\n" for depth in range(1, 6)) + "    " * 6 + "pass\n"
FLAT = "def f():\n    if x:\n        pass\n" + "    elif y:\n        pass\n" * 6


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n" * 401, "quorum/a.py: 401 lines, more than 400: split "),
        ("x = 1\n" * 601, "quorum/a.py: 601 lines, more than 600"),
        (FUNCTION, "quorum/a.py::f: 51 lines, more than 50: split "),
        ("class C:\n    " + FUNCTION.replace("\n", "\n    "), "quorum/a.py::C.f: 51 lines, more than 50: split "),
        (FUNCTION + "    x = 1\n" * 40, "quorum/a.py::f: 91 lines, more than 80"),
        (DEEP, "quorum/a.py::f: nested 5 deep, more than 4"),
    ],
)
def test_what_is_over_the_budget_is_found(text: str, said: str) -> None:
    assert any(line.startswith(said) for line in complaints([_source("quorum/a.py", text)], NOTHING))


def test_a_chain_of_elif_is_one_level() -> None:
    assert complaints([_source("quorum/a.py", FLAT)], NOTHING) == []


def test_a_fragment_is_a_short_file_that_one_other_imports() -> None:
    fragment = _source("quorum/a.py", "x = 1\n")
    one, other = (_source(f"quorum/{name}.py", "from quorum.a import x\n" + "y = x\n" * 40) for name in "bc")
    lazy = _source("quorum/d.py", "def f():\n    from quorum import a\n    return a\n" + "y = 1\n" * 40)
    said = [
        "quorum/a.py: 1 lines, at most 40, and one file imports it: move its content there;"
        " or give the reason in tests/architecture/sizes.json, fragments"
    ]
    assert complaints([fragment, one], NOTHING) == said
    assert complaints([fragment, lazy], NOTHING) == said
    assert complaints([fragment, one, other], NOTHING) == []
    assert complaints([fragment, one, lazy], NOTHING) == []


def test_a_handler_is_no_fragment() -> None:
    handler = _source("quorum/controller/handlers/a.py", "x = 1\n")
    table = _source("quorum/controller/b.py", "from quorum.controller.handlers.a import x\n" + "y = x\n" * 40)
    assert complaints([handler, table], NOTHING) == []


def test_the_budget_names_nothing_that_needs_no_entry() -> None:
    budget = {**NOTHING, "functions": {"quorum/a.py::f": "a table", "quorum/b.py::g": " "}}
    assert complaints([_source("quorum/a.py", FUNCTION)], budget) == [
        "quorum/b.py::g: sizes.json names it in functions, which is not needed",
        "quorum/b.py::g: sizes.json gives no reason",
    ]


def test_the_budget_itself_is_bounded() -> None:
    budget = {**NOTHING, "files": {f"quorum/{number}.py": "a table" for number in range(9)}}
    assert "sizes.json names 9 files, more than 8" in complaints([], budget)


def test_the_names_in_the_budget_exist() -> None:
    root = Path(__file__).resolve().parents[2]
    named = [name.partition("::")[0] for kind in json.loads(BUDGET.read_text()).values() for name in kind]
    assert named
    assert [name for name in named if not (root / name).is_file()] == []
