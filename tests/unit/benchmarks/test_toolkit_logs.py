"""The logs that the toolkit is measured on: sound to every check, else its benchmark ends in the middle."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.toolkit_logs import LOG, no_op_log, node_directory, topic_log
from metadata_log.tools.verify.depth import Depth
from metadata_log.tools.verify.verify_log import verify_file
from quorum.cli.main import run


@pytest.mark.parametrize("make", [topic_log, no_op_log])
def test_nothing_is_found_in_them(make: Callable[[Path, int], None], tmp_path: Path) -> None:
    make(tmp_path / LOG, 300)
    report = verify_file(tmp_path / LOG, depth=Depth.REPLAY)
    assert (list(report.findings), report.records >= 300) == ([], True)


def test_check_finds_nothing_in_a_made_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(node_directory(tmp_path / "node", 300))]) == 0
    assert "Nothing is wrong with 1 node; all before offset 301 is committed." in capsys.readouterr().out
