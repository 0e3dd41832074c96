"""The texts of scenes as they are now, and how they differ from the goldens."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.golden.archive import difference, read_archive, remedy
from tests.golden.cases import Case, Scene
from tests.golden.command import run_command
from tests.golden.rendering import renderer_of
from tests.golden.scenes import scenes_of

_MOST_SHOWN = 10


def texts_of(scene: Scene, clusters: Path) -> Iterator[tuple[Case, str]]:
    """Yield each case of a scene with its text now. `clusters`: all scenarios, unpacked; they are only read."""
    with tempfile.TemporaryDirectory(prefix="golden-") as place:
        directory, values = scene.prepare(clusters, Path(place))
        for case in scene.cases:
            words = case.words_for(values)
            renderer = renderer_of(words)
            options = {} if renderer is None else {"rendered": renderer}
            yield case, run_command(words, directory, case.unsteady, **options)


def differences(scene: Scene, clusters: Path) -> Iterator[str]:
    """Yield how the texts of a scene differ from the goldens."""
    for case, text in texts_of(scene, clusters):
        found = difference(case.command, case.name, read_archive(case.command).get(case.name), text)
        if found is not None:
            yield found


def compare(scene: Scene, clusters: Path) -> None:
    """Fail the test that calls it, with a diff for each of the first cases that differ."""
    found = list(differences(scene, clusters))
    if found:
        more = len(found) - _MOST_SHOWN
        shown = [*found[:_MOST_SHOWN], *([f"... and {more} more cases"] if more > 0 else [])]
        last = remedy(case.command for case in scene.cases)
        pytest.fail("\n\n".join([f"{len(found)} outputs are not as they were:", *shown, last]), pytrace=False)


def shares_of(part: str) -> Sequence[Scene]:
    """Return the scenes that `make test` compares, with the cases that it compares."""
    return [share for scene in scenes_of(part) if (share := scene.share).cases]
