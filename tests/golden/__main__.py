"""`python -m tests.golden [--write] [--only COMMAND] [--case COMMAND/NAME]`: compare goldens with today's output, or
write them.

Ends with 1 if an output differs, and nothing is written.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from fnmatch import fnmatchcase
from multiprocessing import get_context
from pathlib import Path

from tests.golden.applied_cases import ARCHIVE as APPLIED
from tests.golden.applied_cases import applied_texts
from tests.golden.archive import difference, read_archive, remedy, write_archive
from tests.golden.cases import Scene
from tests.golden.command import is_of_bug
from tests.golden.comparing import texts_of
from tests.golden.scenes import all_cases, all_scenes
from tests.support.clusters import unpack_clusters


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.golden", description="Compare golden outputs, or write them."
    )
    parser.add_argument(
        "--write", action="store_true", help="write the archives that differ, instead of printing diffs"
    )
    parser.add_argument("--only", action="append", metavar="COMMAND", help="this archive alone, check say; repeatable")
    parser.add_argument(
        "--case",
        action="append",
        metavar="COMMAND/NAME",
        help="these cases alone, as a difference names them; * and ? match any text; repeatable",
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes side by side")
    return parser


class Selection:
    """The cases of a run. `patterns`: of `COMMAND/NAME`; empty: all cases of `commands`."""

    def __init__(self, commands: Iterable[str], patterns: Sequence[str]) -> None:
        self.commands = frozenset(commands)
        self.patterns = tuple(patterns)

    def has(self, command: str, name: str) -> bool:
        """Return True if a case is one of these."""
        is_named = any(fnmatchcase(f"{command}/{name}", pattern) for pattern in self.patterns)
        return command in self.commands and (is_named or not self.patterns)

    def among(self, command: str, texts: Mapping[str, str]) -> dict[str, str]:
        """Return those of these texts that belong to the run."""
        return {name: text for name, text in texts.items() if self.has(command, name)}

    def put(self, command: str, texts: Mapping[str, str], goldens: Mapping[str, str]) -> dict[str, str]:
        """Return the goldens, of which the selected ones are replaced by `texts`."""
        return {**{name: text for name, text in goldens.items() if not self.has(command, name)}, **texts}


def _scenes(selected: Selection) -> list[Scene]:
    """Return all scenes with the selected cases alone."""
    found = [
        replace(scene, cases=[case for case in scene.cases if selected.has(case.command, case.name)])
        for scene in all_scenes()
    ]
    return [scene for scene in found if scene.cases]


def _texts(scenes: list[Scene], workers: int) -> Iterator[tuple[str, str, str]]:
    """Yield command, name and text of each case. Children are forked, and so know the scenes."""
    with tempfile.TemporaryDirectory(prefix="golden-clusters-") as place:
        clusters = unpack_clusters(Path(place))
        _Scenes.known, _Scenes.clusters = scenes, clusters
        with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
            for found in pool.map(_texts_at, range(len(scenes)), chunksize=4):
                yield from found


class _Scenes:
    """The scenes for the children of this process."""

    known: list[Scene]
    clusters: Path


def _texts_at(number: int) -> list[tuple[str, str, str]]:
    scene = _Scenes.known[number]
    return [(case.command, case.name, text) for case, text in texts_of(scene, _Scenes.clusters)]


def _compare(found: dict[str, dict[str, str]], selected: Selection) -> int:
    """Print how the texts differ from the goldens; return the exit status."""
    differing: list[str] = []
    for command, texts in found.items():
        goldens = selected.among(command, read_archive(command))
        for name in sorted({*goldens, *texts}):
            shown = difference(command, name, goldens.get(name), texts.get(name))
            if shown is not None:
                print(shown, end="\n\n")
                differing.append(command)
    if differing:
        print(f"{len(differing)} of {sum(map(len, found.values()))} outputs differ. {remedy(differing)}")
    return int(bool(differing))


def _write(found: dict[str, dict[str, str]], selected: Selection) -> int:
    """Write the texts into their archives, and keep the other goldens; return the exit status."""
    every = ((command, name, text) for command, texts in found.items() for name, text in texts.items())
    bugs = [one for one in every if is_of_bug(one[2])]
    if bugs:
        for command, name, text in bugs:
            print(f"{command} {name}: {text[:300]}")
        print(f"nothing is written: {len(bugs)} outputs are of a bug, or of a tree that was edited meanwhile")
        return 1
    for command, texts in found.items():
        done = "written" if write_archive(command, selected.put(command, texts, read_archive(command))) else "as it was"
        print(f"{command}: {len(texts)} cases, {done}")
    return 0


def main() -> int:
    """Carry out this module's command line."""
    arguments = _parser().parse_args()
    known = {APPLIED, *(case.command for case in all_cases())}
    patterns: list[str] = arguments.case or []
    commands = set(arguments.only or commands_of(patterns, known) or known)
    if commands - known:
        print(f"no such archive: {', '.join(sorted(commands - known))}; there are {', '.join(sorted(known))}")
        return 2
    selected = Selection(commands, patterns)
    found: dict[str, dict[str, str]] = {command: {} for command in sorted(commands)}
    for command, name, text in _texts(_scenes(selected), arguments.workers):
        found[command][name] = text
    if APPLIED in commands:
        found[APPLIED] = selected.among(APPLIED, applied_texts())
    unknown = [one for one in patterns if not is_known(one, found)]
    if unknown:
        print(f"no case is called {', '.join(unknown)}: give COMMAND/NAME as a difference has it")
        return 2
    return _write(found, selected) if arguments.write else _compare(found, selected)


def commands_of(patterns: Iterable[str], known: Iterable[str]) -> set[str]:
    """Return the archives that these patterns of `COMMAND/NAME` mean; a name that is no archive's stays as it is."""
    found: set[str] = set()
    for command in (pattern.partition("/")[0] for pattern in patterns):
        found |= {one for one in known if fnmatchcase(one, command)} or {command}
    return found


def is_known(pattern: str, found: Mapping[str, Mapping[str, str]]) -> bool:
    """Return True if a computed case, or a golden without a case, has a name of this pattern."""
    names = (f"{command}/{name}" for command, texts in found.items() for name in {*texts, *read_archive(command)})
    return any(fnmatchcase(name, pattern) for name in names)


if __name__ == "__main__":
    sys.exit(main())
