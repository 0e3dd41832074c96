"""The logs that the toolkit is measured on: sound to every check, else its benchmark ends in the middle."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.toolkit_logs import LOG, no_op_log, topic_log
from metadata_log.tools.verify import verify_file
from metadata_log.tools.verify_depth import Depth


@pytest.mark.parametrize("make", [topic_log, no_op_log])
def test_nothing_is_found_in_them(make: Callable[[Path, int], None], tmp_path: Path) -> None:
    make(tmp_path / LOG, 300)
    report = verify_file(tmp_path / LOG, depth=Depth.REPLAY)
    assert (list(report.findings), report.records >= 300) == ([], True)
