"""kill -9 of `kraft recover ... --apply` processes on real files, and real disks that are full: run again, it finishes.

Every moment is tried on simulated files, see `test_repair_interrupted`; here some, with LONG=1 all.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from quorum.recovery.advice.faults import fault_of
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.journal.repair_record import pending
from quorum.recovery.verification import verify_directories
from tests.support.fresh_seed import fresh_seed
from tests.support.killed_repair import KILLED, status_of
from tests.support.repair_cases import CASES, torn_survivor
from tests.support.repairs import Interruptible, leftovers, tree, written_out

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(600)]

MOMENTS = 1_000_000 if os.environ.get("LONG") else 5
"""At how many of its calls each repair is killed, at most."""

RANDOM_KILLS = 60 if os.environ.get("LONG") else 2
"""How often each repair is killed at a random moment; KILL_SEED chooses the moments."""

INTERRUPTED = 130

every_repair = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


class Disk:
    """The directories of a case, on a real disk."""

    def __init__(self, case: Interruptible, root: Path) -> None:
        self.case = case
        self.root = root
        self.log_dirs = [f"{root}{path}" for path in case.log_dirs]
        self.words = [f"{root}{word}" if word.startswith("/") else word for word in f"recover {case.words}".split()]
        if "--missing" in self.words:
            self.words += ["--timeout", "0.3"]
        self.words.append("--apply")
        self._kept = root.with_name(f"{root.name}-kept")
        if case.name == "undo":  # what is undone names its directory
            written_out(torn_survivor(), root)
            made = f"recover standalone --dir {root}/data --missing rest --timeout 0.3 --apply"
            assert status_of(made.split()) == 0
        else:
            written_out(case.make(), root)
        root.rename(self._kept)

    def reset(self) -> None:
        """Restore the first state."""
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self._kept, self.root)

    def trees(self) -> list[dict[str, bytes]]:
        """Return the files that a node sees in each directory."""
        return [tree(OsFiles(), path) for path in self.log_dirs]

    def check_done(self, old: list[dict[str, bytes]]) -> None:
        """All directories are new, and nothing is left behind."""
        found = self.trees()
        assert all(new != before for new, before in zip(found, old, strict=True))
        assert not [name for path in self.log_dirs for name in leftovers(OsFiles(), path)]
        if self.case.name in ("standalone", "from-broker", "voters", "static-voters"):
            assert verify_directories(OsFiles(), self.log_dirs).is_sound

    def check_between(self, old: list[dict[str, bytes]]) -> None:
        """Each directory that a node would start from is old, or new and whole."""
        for path, before, seen in zip(self.log_dirs, old, self.trees(), strict=True):
            if seen != before and "meta.properties" not in seen:
                assert pending(OsFiles(), path) is not None
            elif seen != before and "__cluster_metadata-0/quorum-state" in seen and self.case.name != "undo":
                assert fault_of(read_copy(OsFiles(), find_place(OsFiles(), path))) is None


@every_repair
def test_kill_9_at_any_call(case: Interruptible, tmp_path: Path) -> None:
    disk = Disk(case, tmp_path / "disk")
    disk.reset()
    old = disk.trees()
    step = -(-case.play().calls // MOMENTS)
    for moment in range(step, case.play().calls, step):
        status = status_of(disk.words, killed_at=moment)
        if status == 0:  # the simulated files count creations, too
            disk.reset()
            break
        assert status == KILLED
        disk.check_between(old)
        between = disk.trees()
        assert status_of(disk.words) in (0, 1)
        disk.check_done(old)
        if len(old) == 1 and between != old and "meta.properties" in between[0]:
            assert disk.trees() == between, "it was whole"
        disk.reset()
    assert status_of(disk.words) == 0
    disk.check_done(old)
    assert status_of(disk.words) == 1, "there is nothing to do"


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.name not in ("undo", "static-voters")], ids=lambda case: case.name
)
def test_undo_after_kill_9_at_any_call(case: Interruptible, tmp_path: Path) -> None:
    """Before the repair was decided there is nothing to undo, only files to remove.

    Cases that begin with another repair are left out. A new directory counts once it holds a log.
    """
    disk = Disk(case, tmp_path / "disk")
    disk.reset()
    old = disk.trees()
    step = -(-case.play().calls // MOMENTS)
    for moment in range(step, case.play().calls, step):
        if status_of(disk.words, killed_at=moment) == 0:  # as above
            break
        kept = ("__cluster_metadata-0", "meta.properties")
        named = [path for path in disk.log_dirs if any(os.path.exists(f"{path}/{name}") for name in kept)]
        left = [path for path in named if leftovers(OsFiles(), path) or list(Path(f"{path}.recovery").glob("*"))]
        done = [path for path in named if status_of(["recover", "undo", "--dir", path, "--apply"]) == 0]
        assert disk.trees() == old, moment
        assert not [name for path in disk.log_dirs for name in leftovers(OsFiles(), path)], moment
        assert done == left, moment
        disk.reset()


@every_repair
def test_kill_9_from_outside_at_a_random_moment(case: Interruptible, tmp_path: Path) -> None:
    """The kill comes at any moment, also in the middle of a system call."""
    disk = Disk(case, tmp_path / "disk")
    disk.reset()
    old = disk.trees()
    begun = time.monotonic()
    assert status_of(disk.words) == 0
    whole_s = time.monotonic() - begun
    disk.check_done(old)
    draw = random.Random(fresh_seed("KILL_SEED"))
    for _ in range(RANDOM_KILLS):
        disk.reset()
        after_s = draw.uniform(0, whole_s)
        status = status_of(disk.words, killed_after_s=after_s)
        assert status in (0, KILLED), after_s
        disk.check_between(old)
        if status == KILLED:
            assert status_of(disk.words) in (0, 1), after_s
        disk.check_done(old)


@every_repair
def test_a_file_that_may_grow_no_further(case: Interruptible, tmp_path: Path) -> None:
    """The kernel writes what fits and refuses the rest, as a full disk does."""
    disk = Disk(case, tmp_path / "disk")
    disk.reset()
    old = disk.trees()
    for most_bytes in (0, 100, 1000, 5000):
        if status_of(disk.words, most_bytes=most_bytes) == 0:
            break
        disk.check_between(old)
        assert status_of(disk.words) in (0, 1)
        disk.check_done(old)
        disk.reset()
    else:
        assert status_of(disk.words) == 0
    disk.check_done(old)


def test_ctrl_c_at_any_call(tmp_path: Path) -> None:
    case = CASES[0]
    disk = Disk(case, tmp_path / "disk")
    calls = case.play().calls
    for moment in range(3, calls, calls // MOMENTS + 1):
        disk.reset()
        old = disk.trees()
        status = status_of(disk.words, killed_at=moment, by=signal.SIGINT)
        if status == 0:  # as above
            break
        assert status == INTERRUPTED
        disk.check_between(old)
        assert status_of(disk.words) in (0, 1)
        disk.check_done(old)
