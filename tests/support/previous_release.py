"""The previous release, installed in a virtual environment with the packages that it was published with.

`tests/fixtures/previous-release` holds the wheel that was built from commit d572b3a, and the versions of its packages.
A roll between releases and `make bench-gate` run it beside the tree.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.support.environments import environment_python

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
    ingredients = WHEEL.read_bytes() + CONSTRAINTS.read_bytes()
    return environment_python(f"previous-release{instance}", ingredients, ("--constraint", CONSTRAINTS, WHEEL))
