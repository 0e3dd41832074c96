"""`kraft analyze` where the disk of Spark's temporary files is full: one line that says so, and nothing left there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fixture_files import FIXTURES
from tests.support.mounts import ROOT_MOUNTS, mounted

pytestmark = [pytest.mark.campaign, ROOT_MOUNTS]


@pytest.mark.parametrize("files", [3, 8])
def test_it_says_where_there_is_no_space(files: int, tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    script = f'mount -t tmpfs -o size=8k,nr_inodes={files} tmpfs {full}; "$@" || status=$?; ls -A {full}; exit $status'
    found = subprocess.run(
        mounted(script, sys.executable, "-m", "quorum.cli.main", "analyze", str(FIXTURES / "basic")),
        capture_output=True, text=True, check=False, env={**os.environ, "TMPDIR": str(full)},
    )  # fmt: skip
    assert (found.returncode, found.stdout) == (2, ""), found.stdout + found.stderr
    said = [line for line in found.stderr.splitlines() if " ..." not in line]
    assert len(said) == 1, found.stderr
    assert "no space" in said[0].lower()
    assert str(full) in said[0]
