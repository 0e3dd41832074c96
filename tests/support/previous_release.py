"""The previous release, installed in a virtual environment with the packages that it was published with.

`tests/fixtures/previous-release` holds the wheel that was built from commit d572b3a, and the versions of its packages.
A roll between releases and `make bench-gate` run it beside the tree.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.support.kafka.jars import cache_directory
from tests.support.made_once import made_once

COMMIT: Final = "d572b3a"
"""The commit that the wheel was built from."""

DIRECTORY: Final = Path(__file__).resolve().parents[1] / "fixtures" / "previous-release"
WHEEL: Final = DIRECTORY / "kraft_quorum-0.1.0-py3-none-any.whl"
CONSTRAINTS: Final = DIRECTORY / "constraints.txt"


def previous_python(instance: str = "") -> Path:
    """Return the interpreter that imports the previous release, and nothing of this checkout.

    The first call creates the environment in the cache directory, one for each `instance`. Call the interpreter with
    `-P`, or in another working directory: `-m` would import the checkout's packages.

    Raises:
        subprocess.CalledProcessError: the environment could not be created, or its packages not installed.
    """
    digest = hashlib.sha256(WHEEL.read_bytes() + CONSTRAINTS.read_bytes()).hexdigest()[:12]
    name = f"previous-release{instance}-{digest}-{sys.version_info.major}.{sys.version_info.minor}"
    return made_once(cache_directory() / name, _install) / "bin" / "python"


def _install(environment: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    python = str(environment / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--constraint", str(CONSTRAINTS), str(WHEEL)], check=True)
