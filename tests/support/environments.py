"""Virtual environments that are made once and kept in the cache directory."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from tests.support.kafka.jars import cache_directory
from tests.support.made_once import made_once


def environment_python(name: str, ingredients: bytes, *installs: tuple[str | Path, ...]) -> Path:
    """Return the interpreter of the environment `name`; other ingredients or another Python make a new one.

    `installs`: the words of each `pip install`, in order.

    Raises:
        subprocess.CalledProcessError: the environment could not be created, or its packages not installed.
    """
    digest = hashlib.sha256(ingredients + sys.version.encode()).hexdigest()[:12]

    def make(directory: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", str(directory)], check=True)
        for words in installs:
            pip(directory / "bin" / "python", "install", *words)

    return made_once(cache_directory() / f"{name}-{digest}", make) / "bin" / "python"


def pip(python: Path, verb: str, *words: str | Path) -> None:
    """Run pip of an interpreter, without the settings of this process's Python.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [str(python), "-m", "pip", verb, "--quiet", "--disable-pip-version-check", *map(str, words)]
    subprocess.run(command, check=True, env=clean)
