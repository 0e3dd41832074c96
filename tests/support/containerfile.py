"""`deploy/Containerfile` as a list of instructions."""

from __future__ import annotations

from pathlib import Path
from typing import Final

CONTAINERFILE: Final = Path(__file__).resolve().parents[2] / "deploy" / "Containerfile"


def instructions() -> list[tuple[str, str]]:
    """Return each instruction and the rest of its line; continued lines are one."""
    lines = CONTAINERFILE.read_text().replace("\\\n", "").splitlines()
    parts = (line.partition(" ") for line in lines if line.strip() and not line.startswith("#"))
    return [(word, rest.strip()) for word, _, rest in parts]


def data_directory_command() -> str:
    """Return the shell command by which the image makes its data directory."""
    (command,) = [rest for word, rest in instructions() if word == "RUN" and "/var/lib/kraft" in rest]
    return command
