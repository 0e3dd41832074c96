"""`kraft analyze` where the disk of Spark's temporary files is full: one line that says so, and nothing left there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fixture_files import FIXTURES

pytestmark = [
    pytest.mark.campaign,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("unshare") is None, reason="only root mounts, in a namespace of its own"
    ),
]


@pytest.mark.parametrize("room", ["8k", "40k", "100k"])
def test_it_says_where_there_is_no_space(room: str, tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    script = f'set -e; mount -t tmpfs -o size={room} tmpfs {full}; "$@" || status=$?; ls -A {full}; exit $status'
    found = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh",
         sys.executable, "-m", "quorum.cli.main", "analyze", str(FIXTURES / "basic")],
        capture_output=True, text=True, check=False, env={**os.environ, "TMPDIR": str(full)},
    )  # fmt: skip
    assert (found.returncode, found.stdout) == (2, ""), found.stdout + found.stderr
    said = [line for line in found.stderr.splitlines() if " ..." not in line]
    assert len(said) == 1, found.stderr
    assert "no space" in said[0].lower()
    assert str(full) in said[0]
