"""The wheel and the source distribution of the checkout, and bare virtual environments to install the wheel in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Final

import msgspec

from tests.support.environments import environment_python, pip

ROOT: Final = Path(__file__).resolve().parents[2]
CONSTRAINTS: Final = ROOT / "constraints.txt"
_BUILD: Final = "import sys; from setuptools import build_meta; print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """The distributions; `wheel` was built from the unpacked `sdist`."""

    sdist: Path
    wheel: Path
    checkout_wheel: Path


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """A virtual environment that holds the wheel and what pip brought for it."""

    directory: Path
    extra: str

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.directory / "bin" / "python"

    def run(self, *words: str | Path, cwd: Path, program: str = "kraft") -> subprocess.CompletedProcess[str]:
        """Run an installed program as a user does: without the settings of the tests and of this Python."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KRAFT", "COV"))}
        return subprocess.run(
            [str(self.directory / "bin" / program), *map(str, words)],
            cwd=cwd,
            env={**clean, "COLUMNS": "100"},
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )


def build(work: Path) -> Built:
    """Build both distributions below `work` from the files that git knows, uncommitted changes included.

    Raises:
        subprocess.CalledProcessError: a distribution cannot be built.
    """
    source, unpacked = work / "source", work / "unpacked"
    _copy_checkout(source)
    sdist = _built("build_sdist", source, work / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    (root,) = unpacked.iterdir()
    return Built(
        sdist=sdist,
        wheel=_built("build_wheel", root, work / "wheel"),
        checkout_wheel=_built("build_wheel", source, work / "checkout-wheel"),
    )


def install(wheel: Path, directory: Path, extra: str = "") -> Environment:
    """Install the wheel, with an extra, in a new virtual environment.

    Raises:
        subprocess.CalledProcessError: the environment could not be created, or a package not installed.
    """
    subprocess.run([sys.executable, "-m", "venv", str(directory)], check=True)
    environment = Environment(directory=directory, extra=extra)
    what = f"{wheel}[{extra}]" if extra else str(wheel)
    pip(environment.python, "install", "--constraint", CONSTRAINTS, what)
    return environment


def _built(hook: str, source: Path, to: Path) -> Path:
    """Build one distribution as pip would: by the hook of the project's build backend (PEP 517)."""
    needed: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    python = environment_python("gate-builder", "\n".join(needed).encode(), tuple(needed))
    to.mkdir()
    subprocess.run([str(python), "-c", _BUILD, hook, str(to)], cwd=source, check=True, capture_output=True)
    (built,) = to.iterdir()
    return built


def _copy_checkout(to: Path) -> None:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():  # git still knows those that were removed
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
