"""`docs/architecture.md` against the code: all names exist, none is missing."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGES: Final = ("metadata_log", "pyspark_kraft", "quorum", "broker_agent")
OTHER_FOLDERS: Final = ("kraft", "proto", "tests", "deploy", "docs", "benchmarks")
ERROR_CODES: Final = "quorum/api/error_codes.py"
"""Its names may follow any file: the page names the errors that a function responds with."""

_CODE: Final = re.compile(r"`([^`\n]+)`")
_BLOCK: Final = re.compile(r"\n\s*\n|\n(?=\s*(?:[-|#]|\d+\.)\s?)")
_FILE: Final = re.compile(r"[\w./-]+/[\w-]+\.[\w.]+|[\w.-]+\.(?:py|md|toml|json|proto|sh)")
_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_STEP: Final = re.compile(r"\d+\. ")


def folder_complaints(page: str, root: Path) -> list[str]:
    """Return what the table of folders lacks, repeats or makes up."""
    named = Counter(re.findall(r"^\| `([^`]+)/` \|", page, re.MULTILINE))
    packages = {path.parent for top in PACKAGES for path in (root / top).rglob("__init__.py")}
    wanted = {str(folder.relative_to(root)) for folder in packages} | {*OTHER_FOLDERS}
    return [
        *(f"{folder}/: the tree does not name it" for folder in sorted(wanted - set(named))),
        *(f"{folder}/: the tree names it, and it is no package" for folder in sorted(set(named) - wanted)),
        *(f"{folder}/: no such folder" for folder in sorted(named) if not (root / folder).is_dir()),
        *(f"{folder}/: named {count} times" for folder, count in sorted(named.items()) if count > 1),
    ]


def names_in(path: Path) -> set[str]:
    """Return the functions, classes and variables of a module, those of a class as `Class.name`."""
    return set(_defined(ast.parse(path.read_text()).body, ""))


def _defined(body: list[ast.stmt], prefix: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield prefix + node.name
            yield from _defined(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (prefix + target.id for target in targets if isinstance(target, ast.Name))


def name_complaints(page: str, root: Path) -> list[str]:
    """Return the files of a page that do not exist, and the names that the file before them does not define.

    A name belongs to the last file before it in the same paragraph, list item or row.
    """
    codes = root / ERROR_CODES
    errors = {name.removeprefix("Error.") for name in names_in(codes)} if codes.is_file() else set()
    said = []
    for block in _BLOCK.split(page):
        file, known = "", set[str]()
        for code in _CODE.findall(block):
            if _FILE.fullmatch(code):
                file, known = code, set()
                if not (root / code).is_file():
                    said.append(f"{code}: no such file")
                    file = ""
                elif code.endswith(".py"):
                    known = names_in(root / code) | errors
            elif file.endswith(".py") and _NAME.fullmatch(code) and code not in known:
                said.append(f"{file}: it defines no {code}")
    return said


def step_complaints(page: str) -> list[str]:
    """Return the numbered steps that name no file with a name after it."""
    blocks = [block.strip() for block in _BLOCK.split(page)]
    steps = [block for block in blocks if _STEP.match(block)]
    return [f"no file with a function: {step[:40]}" for step in steps if not re.search(r"\.py`,?\s+`\w", step)]


PAGE: Final = (ROOT / "docs" / "architecture.md").read_text()


def test_the_tree_names_every_folder() -> None:
    assert folder_complaints(PAGE, ROOT) == []


def test_it_counts_the_contracts() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    forbidding = [one for one in contracts if one["type"] == "forbidden"]
    section = PAGE[PAGE.index("## Who may import whom") : PAGE.index("## Add a request")]
    assert f"holds {len(contracts)} contracts." in section
    assert len(forbidding) == 9, "the page says nine"
    assert "Nine contracts forbid imports" in section
    assert len(re.findall("^- ", section, re.MULTILINE)) == len(forbidding)


def test_every_file_and_name_exists() -> None:
    assert name_complaints(PAGE, ROOT) == []
    assert step_complaints(PAGE[PAGE.index("## Path 1") :]) == []
    assert len(_STEP.findall(PAGE)) > 30


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A checkout of two packages and two pages."""
    files = {
        "quorum/__init__.py": "",
        "quorum/raft/__init__.py": "",
        "quorum/raft/a.py": "TURN_MS: int = 1\nclass C:\n    size: int = 0\n    async def f(self): ...\ndef g(): ...\n",
        ERROR_CODES: "class Error:\n    NOT_CONTROLLER = 41\n",
        "docs/one.md": "",
        "docs/two/one.md": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in OTHER_FOLDERS:
        (tmp_path / name).mkdir(exist_ok=True)
    return tmp_path


WHOLE: Final = "\n".join(f"| `{name}/` | it |" for name in ("quorum", "quorum/raft", *OTHER_FOLDERS))


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (WHOLE, []),
        (WHOLE.replace("| `quorum/raft/` | it |\n", ""), ["quorum/raft/: the tree does not name it"]),
        (WHOLE + "\n| `docs/` | it |", ["docs/: named 2 times"]),
        (WHOLE + "\n| `docs/two/` | it |", ["docs/two/: the tree names it, and it is no package"]),
        (
            WHOLE + "\n| `quorum/b/` | it |",
            ["quorum/b/: the tree names it, and it is no package", "quorum/b/: no such folder"],
        ),
    ],
)
def test_a_wrong_tree_is_found(planted: Path, page: str, said: list[str]) -> None:
    assert folder_complaints(page, planted) == said


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("`h`, and `quorum/raft/a.py` `C.f`, `C.size`, `g` and `TURN_MS`: `NOT_CONTROLLER`", []),
        ("1. `quorum/raft/a.py`\n   `C.g`", ["quorum/raft/a.py: it defines no C.g"]),
        ("`quorum/raft/a.py` responds with `f`", ["quorum/raft/a.py: it defines no f"]),
        ("`quorum/raft/a.py` `C.f` with `NO_SUCH_ERROR`", ["quorum/raft/a.py: it defines no NO_SUCH_ERROR"]),
        ("`quorum/raft/b.py` `h`", ["quorum/raft/b.py: no such file"]),
        ("`one.toml`, `docs/one.md` `h`", ["one.toml: no such file"]),
        ("1. `quorum/raft/a.py` `g`\n2. `h`\n\n`h`", []),
    ],
)
def test_a_wrong_file_or_name_is_found(planted: Path, page: str, said: list[str]) -> None:
    assert name_complaints(page, planted) == said


def test_a_step_without_a_function_is_found() -> None:
    assert step_complaints("1. `a.py` `f`.\n2. `a.py` runs `f`.\n\n3. It\n   calls `a.py`,\n   `g`.") == [
        "no file with a function: 2. `a.py` runs `f`."
    ]
