"""`deploy/setup.sh`, by which `make demo` and `make test` set everything up: its words before it changes anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SETUP = Path(__file__).parents[3] / "deploy" / "setup.sh"


def test_the_size_is_said_before_anything_is_made(tmp_path: Path) -> None:
    """The first step fails here: a file is where the environment's parent is to be."""
    (tmp_path / "file").touch()
    venv = tmp_path / "file" / "venv"
    done = subprocess.run(
        ["bash", str(SETUP)],
        env={**os.environ, "PYTHON": sys.executable, "VENV": str(venv)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "no virtual environment could be made" in done.stderr
    size, making = done.stdout.splitlines()[:2]
    assert "620 MB are downloaded" in size
    assert f"{venv} takes 1.1 GB" in size
    assert making == f"setup: making {venv}"
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]
