"""The rules of the whole tree: imports, packaging, sizes, generated files."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("kraft", "metadata_log", "pyspark_kraft", "quorum", "broker_agent")


def _sources() -> Iterator[Path]:
    for package in PACKAGES:
        yield from (file for file in sorted((ROOT / package).rglob("*.py")) if "_pb2" not in file.name)


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).parent / words[0]), *words[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_nobody_imports_what_the_design_forbids() -> None:
    done = _run("lint-imports", "--no-cache")
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_package_is_named_in_pyproject() -> None:
    named = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    present = {".".join(file.parent.relative_to(ROOT).parts) for file in _sources() if file.name == "__init__.py"}
    pages = {name for name in named if name.startswith("quorum.pages")}  # docs/, which holds no code
    assert named - pages == present


def test_every_folder_of_code_is_a_package() -> None:
    missing = {str(file.parent.relative_to(ROOT)) for file in _sources() if not (file.parent / "__init__.py").exists()}
    assert not missing


def test_every_module_has_a_docstring() -> None:
    """A module that begins with a text that is not empty has that for its docstring."""
    begin = re.compile(r'(?:#.*\n)*r?"""[^"\s]')
    assert [str(file.relative_to(ROOT)) for file in _sources() if not begin.match(file.read_text())] == []


@pytest.mark.parametrize(
    "command",
    [("python", "-m", "metadata_log.records.generate", "--check"), ("python", "proto/generate.py", "--check")],
)
def test_generated_files_are_fresh(command: tuple[str, ...]) -> None:
    done = _run(*command)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_pure_cores_do_not_swallow_or_switch_off() -> None:
    for package in ("quorum/raft", "quorum/controller"):
        for file in (ROOT / package).rglob("*.py"):
            assert "except Exception" not in file.read_text(), file
