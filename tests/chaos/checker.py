"""Porcupine's verdict on a history: builds the program in `linearizable/` with Go, and runs it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

import msgspec

_ROOT: Final = Path(__file__).resolve().parents[2]
_SOURCE: Final = Path(__file__).parent / "linearizable"
_DECIDED: Final = (0, 1, 3)


class CannotBuildError(RuntimeError):
    """Go cannot build the program; with Go's output."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The program's verdict. `open`: operations of unknown outcome; `undecided`: names for which the time was too
    short."""

    names: int
    operations: int
    open: int
    illegal: list[str]
    undecided: list[str]


def build() -> Path:
    """Return the program; Go itself decides whether to build it again.

    Raises:
        CannotBuildError: Go cannot build it, or cannot fetch Porcupine.
    """
    program = _ROOT / "build" / "chaos" / "linearizable"
    _run(["go", "build", "-buildvcs=false", "-o", str(program), "."])
    return program


def check(history: Path, *, pictures: Path, timeout: str = "60s") -> Verdict:
    """Return the verdict; a page with the picture of each name that is not linearizable goes to `pictures`.

    Raises:
        RuntimeError: the history could not be read.
    """
    done = subprocess.run(
        [str(build()), "-timeout", timeout, "-pictures", str(pictures), str(history)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode not in _DECIDED:
        raise RuntimeError(f"linearizable {history} ended with {done.returncode}: {done.stderr}")
    return msgspec.json.decode(done.stdout, type=Verdict)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, cwd=_SOURCE, env=os.environ, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotBuildError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
