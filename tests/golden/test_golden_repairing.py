"""Outputs of applied repairs and of their undo: a share in `make test`, all in the campaign."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.archive import read_archive
from tests.golden.cases import APPLIED_COMMAND, Scene
from tests.golden.comparing import compare, shares_of
from tests.golden.scenes import scenes_of

_PART = "repairing"


@pytest.mark.parametrize("scene", shares_of(_PART), ids=lambda scene: scene.name)
def test_a_share_of_outputs_is_as_it_was(scene: Scene, clusters: Path) -> None:
    compare(scene, clusters)


@pytest.mark.campaign
@pytest.mark.parametrize("scene", scenes_of(_PART), ids=lambda scene: scene.name)
def test_every_output_is_as_it_was(scene: Scene, clusters: Path) -> None:
    compare(scene, clusters)


def test_every_repair_was_done_and_undone_somewhere() -> None:
    texts = read_archive(APPLIED_COMMAND)
    done = {name.partition("/")[0] for name, text in texts.items() if ".repair" in name and "\nDone: " in text}
    undone = {name.partition("/")[0] for name, text in texts.items() if ".undo-" in name and "\nDone: " in text}

    assert done == undone == {name.partition("/")[0] for name in texts}
