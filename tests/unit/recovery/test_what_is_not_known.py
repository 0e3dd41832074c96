"""What nothing here says is said as unknown: up to where records may have been committed."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.tools.check.check import check_paths
from quorum.recovery.inspection import inspect_copies
from tests.support.lost_end import NODE_2, lost_end_nodes


@pytest.mark.parametrize("nodes", [(1, 2, 3), (1, 2, 3, 11, 12)])
def test_a_log_that_lost_its_end_does_not_say_that_it_reached_no_further(
    nodes: tuple[int, ...], tmp_path: Path
) -> None:
    """Its producer state proves an offset that it reached. It may have gone on from there."""
    place = lost_end_nodes(tmp_path)
    paths = [place / f"node-{node}" / "data" for node in nodes]
    bounds = inspect_copies(OsFiles(), [str(path) for path in paths]).survey.bounds

    assert (bounds.lower, bounds.upper) == (NODE_2, None)
    checked = check_paths([path.parent for path in paths]).bounds
    assert (checked.lower, checked.upper) == (NODE_2, None)
