"""The supported interpreters that this machine may lack: wheels of all locked dependencies, types and syntax."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.distributions import CONSTRAINTS, ROOT

pytestmark = pytest.mark.campaign

VERSIONS = ["3.11", "3.12", "3.13", "3.14"]
NO_WHEEL = {"pyspark": VERSIONS, "immutables": ["3.14"]}
"""pyspark is published as a source distribution alone, of pure Python. immutables needs a compiler on 3.14."""


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_versions_are_those_of_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [line.rpartition(" :: ")[2] for line in project["classifiers"] if ":: Python :: 3." in line]
    assert named == VERSIONS
    assert project["requires-python"] == f">={VERSIONS[0]}"


@pytest.mark.parametrize("version", VERSIONS)
def test_every_locked_dependency_has_a_wheel(version: str, tmp_path: Path) -> None:
    wanted = [
        line
        for line in CONSTRAINTS.read_text().splitlines()
        if line and not line.startswith("#") and version not in NO_WHEEL.get(line.partition("==")[0], [])
    ]
    assert len(wanted) > 40
    (tmp_path / "wanted.txt").write_text("\n".join(wanted))
    done = _run(
        "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run", "--no-deps", "--ignore-installed",
        "--only-binary", ":all:", "--python-version", version, "--target", str(tmp_path / "nothing"),
        "--requirement", str(tmp_path / "wanted.txt"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("version", VERSIONS if os.environ.get("LONG") else VERSIONS[-1:])
def test_types_hold(version: str, tmp_path: Path) -> None:
    """The newest, or with LONG=1 all: `make check` asks the oldest, and a module that one removed stays removed."""
    done = _run("mypy", "--python-version", version, "--cache-dir", str(tmp_path))
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("version", VERSIONS)
def test_the_syntax_is_known(version: str) -> None:
    target = f"py{version.replace('.', '')}"
    done = _run("ruff", "check", "--no-cache", "--no-fix", "--select", "E9,F", "--target-version", target, ".")
    assert done.returncode == 0, done.stdout
