"""The disk whose syncs fail keeps what was synced before; otherwise a restarted node would suffer an impossible
fault."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos import enter
from tests.chaos.disks import LoopDisk

ROOT = Path(__file__).resolve().parents[2]
PAGE = 4096
PIECES = range(1, 16)
"""The numbers of pieces of the files; the pieces of a file are apart on the disk."""

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]


def _append(path: Path, data: bytes) -> None:
    with path.open("ab", buffering=0) as file:
        file.write(data)
        os.fdatasync(file.fileno())


def keep_what_was_synced(place: Path) -> None:
    """Run in private mounts. Print the number of failed syncs, and the files that lost bytes."""
    disk = LoopDisk(place / "disk")
    files = {count: disk.path / str(count) for count in PIECES}
    for piece in range(max(PIECES)):
        for count, file in files.items():
            if piece < count:
                _append(file, bytes([65 + piece]) * PAGE)
    written = {file: file.read_bytes() for file in files.values()}
    disk.fail()
    failed = 0
    for file in files.values():
        try:
            _append(file, b"lost" * PAGE)
        except OSError:
            failed += 1
    disk.mend()
    lost = [file.name for file, data in written.items() if not file.read_bytes().startswith(data)]
    print(failed, lost)


def test_what_was_synced_before_a_sync_failed_is_there_after_it(tmp_path: Path) -> None:
    code = "import sys, pathlib, tests.chaos.test_disks as t; t.keep_what_was_synced(pathlib.Path(sys.argv[1]))"
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", code, str(tmp_path)], cwd=ROOT,
        env=enter.environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.split(maxsplit=1) == [str(len(PIECES)), "[]\n"], done.stdout + done.stderr
