"""A node's role, and the upper bound of what was committed, are unknown where nothing says them."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.tools.check.check import check_paths
from quorum.cli.recover.show import role_of
from quorum.recovery.inspection import Inspection, inspect_copies
from tests.support.lost_end import NODE_2, lost_end_nodes
from tests.support.repairs import load_nodes
from tests.unit.recovery.evidence.test_hidden_repair import METADATA


def inspected(files: SimulatedFiles, *nodes: int) -> Inspection:
    """Return what inspect finds of these nodes."""
    return inspect_copies(files, [f"/n{node}" for node in nodes])


def roles(found: Inspection) -> list[str]:
    """Return the role of each copy, the best first."""
    return [role_of(found.evidence, copy) for copy in found.evidence.copies]


def without(files: SimulatedFiles, node: int, suffix: str) -> SimulatedFiles:
    """Remove the files of this suffix beside a node's log."""
    directory = f"/n{node}/{METADATA}"
    for name in files.listdir(directory):
        if name.endswith(suffix):
            files.unlink(f"{directory}/{name}")
    files.fsync_dir(directory)
    return files


def test_a_role_is_unknown_without_the_checkpoint_that_names_the_voters() -> None:
    assert roles(inspected(load_nodes("failovers", 1), 1)) == ["voter"]
    assert roles(inspected(without(load_nodes("failovers", 1), 1, ".checkpoint"), 1)) == ["unknown"]


def test_another_copy_tells_the_role() -> None:
    files = without(load_nodes("failovers", 1, 2, 11), 1, ".checkpoint")

    assert roles(inspected(files, 1, 2, 11)) == ["voter", "voter", "broker"]


@pytest.mark.parametrize("nodes", [(1, 2, 3), (1, 2, 3, 11, 12)])
def test_a_log_that_lost_its_end_does_not_say_that_it_reached_no_further(
    nodes: tuple[int, ...], tmp_path: Path
) -> None:
    """Its producer state proves an offset that it reached. It may have gone on from there."""
    place = lost_end_nodes(tmp_path)
    paths = [place / f"node-{node}" / "data" for node in nodes]
    bounds = inspect_copies(OsFiles(), [str(path) for path in paths]).evidence.bounds

    assert (bounds.lower, bounds.upper) == (NODE_2, None)
    checked = check_paths([path.parent for path in paths]).bounds
    assert (checked.lower, checked.upper) == (NODE_2, None)
