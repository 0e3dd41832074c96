"""Outputs over logs of a later release: a share in `make test`, all in the campaign."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.cases import Scene
from tests.golden.comparing import compare, shares_of
from tests.golden.scenes import scenes_of

_PART = "newer"


@pytest.mark.parametrize("scene", shares_of(_PART), ids=lambda scene: scene.name)
def test_a_share_of_outputs_is_as_it_was(scene: Scene, clusters: Path) -> None:
    compare(scene, clusters)


@pytest.mark.campaign
@pytest.mark.parametrize("scene", scenes_of(_PART), ids=lambda scene: scene.name)
def test_every_output_is_as_it_was(scene: Scene, clusters: Path) -> None:
    compare(scene, clusters)
