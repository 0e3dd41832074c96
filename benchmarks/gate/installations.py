"""The three sides, each installed from a wheel in its own virtual environment.

The tree is built and installed like the release that it is compared with. The finder of an
editable installation would cost every start some time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.gate.pairs import BASE, CONTROL, TREE
from benchmarks.loadgen.build import ROOT
from tests.support.environments import environment_python, pip
from tests.support.previous_release import previous_python

ENVIRONMENT: Final[Mapping[str, str]] = {
    name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
}
"""The environment of every side's processes: no setting of this process's Python reaches them."""
_CONSTRAINTS: Final = ROOT / "constraints.txt"


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """One side's environment."""

    name: str
    python: Path

    def kraft(self, *words: str | Path) -> list[str]:
        """Return the command line of `kraft words`.

        The script is an argument of its interpreter: its first line names the path where the environment was made.
        """
        return [str(self.python), "-P", str(self.python.with_name("kraft")), *map(str, words)]

    def packages(self) -> frozenset[str]:
        """Return name and version of each package but the project itself."""
        found = self.python.parents[1].glob("lib/python*/site-packages/*.dist-info")
        return frozenset(each.stem for each in found if not each.name.startswith("kraft_quorum-"))


def installations(work: Path) -> dict[str, Installation]:
    """Return the three sides; the tree's wheel is built below `work` from the checkout as it is now.

    Raises:
        subprocess.CalledProcessError: a wheel could not be built, or an environment not be made.
    """
    pythons = {BASE: previous_python(), CONTROL: previous_python("-control"), TREE: _tree_python(work)}
    return {name: Installation(name=name, python=python) for name, python in pythons.items()}


def _tree_python(work: Path) -> Path:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    dependencies: list[str] = project["project"]["dependencies"]
    ingredients = "\n".join([*dependencies, _CONSTRAINTS.read_text()]).encode()
    python = environment_python("gate-tree", ingredients, ("--constraint", _CONSTRAINTS, *dependencies))
    wheel = _built_wheel(work, project)
    pip(python, "install", "--no-deps", "--force-reinstall", wheel)
    return python


def _built_wheel(work: Path, project: Mapping[str, Any]) -> Path:
    """Return the wheel of the checkout, uncommitted changes included.

    It is built from a copy: setuptools leaves its own below `build/`, and would take stale modules from there.
    """
    needed: list[str] = project["build-system"]["requires"]
    python = environment_python("gate-builder", "\n".join(needed).encode(), tuple(needed))
    source, wheels = work / "source", work / "wheels"
    _copy_checkout(source)
    pip(python, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, source)
    (wheel,) = wheels.glob("*.whl")
    return wheel


def _copy_checkout(to: Path) -> None:
    """Copy every file of the checkout that git knows or would add, but for the tests."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ".", ":!tests"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():  # git still knows those that were removed
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
