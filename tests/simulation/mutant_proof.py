"""Shows what besides the simulator catches a planted bug.

`python -m tests.simulation.mutant_proof [NAME...]` runs mypy and the unit tests, and rewrites their cells in the table
of docs/simulation.md.

Decides: the unit tests of a module. They are all tests in the folder below tests/unit that mirrors the module's
package. Left out are suites about a whole replica or log: golden transcripts, crashes at each call or effect, and
random scenarios, which are small simulators. Each bug is written into a copy of the tree, so that child processes have
it.
"""

from __future__ import annotations

import itertools
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from tests.simulation.mutant_table import PASS, ROOT, Row, read_table, write_table
from tests.simulation.mutants import MUTANTS
from tests.simulation.planting import Mutant, mutated_source

SUITES: Final = "crash or cut_off or killed_process or persistence or raft_voters or random_scenarios or transcripts"
"""The excluded suites, by names of files and tests, in `pytest -k` form."""
_COPIED: Final = (
    "broker_agent",
    "metadata_log",
    "quorum",
    "kraft",
    "proto",
    "deploy",
    "docs",
    "tests",
    "pyproject.toml",
)
_NOTICED, _FAILED = 1, re.compile(r"^(?:FAILED|ERROR) \S*?([\w]+)\.py::(\w+)", re.MULTILINE)


def unit_tests(module: str) -> list[str]:
    """Return the files, relative to the project's root."""
    parts = module.removeprefix("quorum.").split(".")[:-1]
    folders = (Path("tests", "unit", *parts[:depth]) for depth in range(len(parts), 0, -1))
    files = (sorted((ROOT / folder).glob("test_*.py")) for folder in folders)
    return [str(file.relative_to(ROOT)) for file in next(filter(None, files))]


def against_types(mutants: Iterable[Mutant]) -> dict[str, str]:
    """Return, by bug name, mypy's error on the whole project with the bug; `PASS` if mypy finds no error."""
    of_module: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        of_module.setdefault(mutant.module, []).append(mutant)
    said = {}
    with tempfile.TemporaryDirectory() as place:
        if (ROOT / ".mypy_cache").exists():
            shutil.copytree(ROOT / ".mypy_cache", Path(place) / "cache")
        for column in itertools.zip_longest(*of_module.values()):
            group = [mutant for mutant in column if mutant is not None]
            together = _mypy(group, Path(place))
            for mutant in group:
                said[mutant.name] = together if together == PASS else _mypy([mutant], Path(place))
    return said


def _mypy(mutants: Sequence[Mutant], place: Path) -> str:
    """Return mypy's output for a tree with all of these bugs, at most one in each module."""
    words = [sys.executable, "-m", "mypy", "--cache-dir", str(place / "cache"), "--no-error-summary"]
    for number, (path, source) in enumerate(map(mutated_source, mutants)):
        (place / f"{number}.py").write_text(source, encoding="utf-8")
        words += ["--shadow-file", path, str(place / f"{number}.py")]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"mypy ended with {done.returncode}: {done.stdout}{done.stderr}")
    return PASS if done.returncode == 0 else done.stdout.strip().replace("\n", "; ").replace("|", "or")


class Copies:
    """Copies of the tree, each for one bug at a time."""

    def __init__(self, place: Path, count: int) -> None:
        self._free: Final[queue.Queue[Path]] = queue.Queue()
        for number in range(count):
            copy = place / str(number)
            for name in _COPIED:
                if (ROOT / name).is_dir():
                    shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(ROOT / name, copy / name)
            self._free.put(copy)

    def against(self, mutant: Mutant) -> str:
        """Return the first unit test that fails with the bug, or `PASS`."""
        with self._planted(mutant) as copy:
            return run_unit_tests(copy, mutant.module)

    @contextmanager
    def _planted(self, mutant: Mutant) -> Iterator[Path]:
        copy = self._free.get()
        path, source = mutated_source(mutant)
        planted = copy / Path(path).relative_to(ROOT)
        planted.write_text(source, encoding="utf-8")
        try:
            yield copy
        finally:
            shutil.copy(path, planted)
            self._free.put(copy)


def run_unit_tests(tree: Path, module: str) -> str:
    """Return the first of the module's unit tests that fails in a tree, or `PASS`.

    Raises:
        RuntimeError: pytest itself did not work.
    """
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider",
            "--hypothesis-seed=0", "-m", "not campaign", "-k", f"not ({SUITES})", *unit_tests(module),
        ],
        cwd=tree,
        env={
            **os.environ,
            "PYTHONPATH": str(tree),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HYPOTHESIS_STORAGE_DIRECTORY": f"{tree}/.hypothesis",
        },
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    if done.returncode == 0:
        return PASS
    failed = _FAILED.search(done.stdout)
    if done.returncode != _NOTICED or failed is None:
        raise RuntimeError(f"pytest ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return f"`{failed[1]}::{failed[2]}`"


def prove(mutants: Sequence[Mutant], workers: int) -> Iterator[tuple[Mutant, str, str]]:
    """Yield each bug with the verdicts of mypy and of the unit tests.

    Raises:
        RuntimeError: the unit tests fail without any bug in the tree.
    """
    types = against_types(mutants)
    with tempfile.TemporaryDirectory() as place:
        copies = Copies(Path(place), workers)
        for module in {tuple(unit_tests(mutant.module)): mutant.module for mutant in mutants}.values():
            said = run_unit_tests(Path(place) / "0", module)
            if said != PASS:
                raise RuntimeError(f"the code as it is fails {said}")
        with ThreadPoolExecutor(max_workers=workers) as pool:
            for mutant, said in zip(mutants, pool.map(copies.against, mutants), strict=True):
                yield mutant, types[mutant.name], said


def main(names: list[str]) -> int:
    """See the module."""
    named = {mutant.name: mutant for mutant in MUTANTS}
    chosen = [named[name] for name in names] or list(MUTANTS)
    all_sound = True
    for mutant, types, said in prove(chosen, os.cpu_count() or 1):
        print(f"{mutant.name}: mypy: {types}; unit tests: {said}", flush=True)
        row = read_table().get(mutant.name, Row())
        write_table({mutant.name: msgspec.structs.replace(row, types=types, unit_tests=said)})
        all_sound = all_sound and types == PASS
    return not all_sound


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
