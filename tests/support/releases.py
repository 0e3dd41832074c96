"""The tree and the previous release, side by side: how each is started, and how a running process is recognised."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from quorum.cli.demo.cluster import Node
from tests.support import release_child
from tests.support.previous_release import COMMIT, previous_python


@dataclass(frozen=True)
class Release:
    """One release of the product.

    Attributes:
        packages: the directories that its processes import the product from.
    """

    name: str
    python: str
    packages: tuple[str, ...]

    @property
    def launcher(self) -> tuple[str, ...]:
        """The start of a node's command line, before the parent's pid. `-P` hides the checkout from its imports."""
        return (self.python, "-P", release_child.__file__)

    @property
    def kraft(self) -> tuple[str, ...]:
        """The start of any other command line of `kraft`."""
        return (self.python, "-P", "-m", "quorum.cli.main")

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `kraft words` of this release, and return its status and output."""
        return subprocess.run([*self.kraft, *words], capture_output=True, text=True, check=False)

    def __str__(self) -> str:
        return self.name


@functools.cache
def tree() -> Release:
    """Return the release that these tests import."""
    return Release(name="tree", python=sys.executable, packages=tuple(release_child.packages()))


@functools.cache
def previous() -> Release:
    """Return the previous release; the first call may install it."""
    python = previous_python()
    site = python.parents[1] / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    packages = tuple(str(site / Path(path).name) for path in tree().packages)
    return Release(name=COMMIT, python=str(python), packages=packages)


def imported_by(node: Node) -> tuple[str, ...]:
    """Return the directories that the running process of `node` printed: where it imports the product from."""
    for line in node.log_file.read_text().splitlines():
        if line.startswith('{"pid": '):
            printed = json.loads(line)
            if printed["pid"] == node.pid:
                return tuple(printed["packages"])
    return ()
