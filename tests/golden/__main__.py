"""`python -m tests.golden [--write] [--only COMMAND]`: compare the goldens with what is printed now, or write them.

Ends with 1 if an output differs, and nothing is written.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

from tests.golden.applied_cases import ARCHIVE as APPLIED
from tests.golden.applied_cases import applied_texts
from tests.golden.archive import difference, read_archive, remedy, write_archive
from tests.golden.cases import Scene
from tests.golden.command import BUG
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
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes side by side")
    return parser


def _scenes(commands: set[str]) -> list[Scene]:
    """Return all scenes with the cases of these commands alone."""
    found = [replace(scene, cases=[case for case in scene.cases if case.command in commands]) for scene in all_scenes()]
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


def _compare(found: dict[str, dict[str, str]]) -> int:
    """Print how the texts differ from the goldens; return the exit status."""
    differing: list[str] = []
    for command, texts in found.items():
        goldens = read_archive(command)
        for name in sorted({*goldens, *texts}):
            shown = difference(command, name, goldens.get(name), texts.get(name))
            if shown is not None:
                print(shown, end="\n\n")
                differing.append(command)
    if differing:
        print(f"{len(differing)} of {sum(map(len, found.values()))} outputs differ. {remedy(differing)}")
    return int(bool(differing))


def _write(found: dict[str, dict[str, str]]) -> int:
    for command, texts in found.items():
        done = "written" if write_archive(command, texts) else "as it was"
        print(f"{command}: {len(texts)} cases, {done}")
        for name in (name for name, text in texts.items() if text.startswith(BUG)):
            print(f"  {name} ends with a traceback: {texts[name].splitlines()[0]}")
    return 0


def main() -> int:
    """Carry out this module's command line."""
    arguments = _parser().parse_args()
    known = {APPLIED, *(case.command for case in all_cases())}
    commands = set(arguments.only or known)
    if commands - known:
        print(f"no such archive: {', '.join(sorted(commands - known))}; there are {', '.join(sorted(known))}")
        return 2
    found: dict[str, dict[str, str]] = {command: {} for command in sorted(commands)}
    for command, name, text in _texts(_scenes(commands), arguments.workers):
        found[command][name] = text
    if APPLIED in commands:
        found[APPLIED] = applied_texts()
    return _write(found) if arguments.write else _compare(found)


if __name__ == "__main__":
    sys.exit(main())
